/* SPDX-License-Identifier: MIT */
/* From the identity of a str to its plain annotation, so that annotate("load") costs no
 * allocation, hash or comparison. An entry holds its str, so that the address stays taken.
 * Threads: under the GIL a new name replaces an old one in its slot. Free-threaded, a slot is
 * written once and kept, so that readers need no lock, and only for literals, which are interned
 * there: made-up names cannot fill it. */
#ifndef PYANNOT_NAME_CACHE_H
#define PYANNOT_NAME_CACHE_H

#include "annotation.h" /* Python.h comes before the system's headers */

#include <stdint.h>

enum { NAME_CACHE_BITS = 9, NAME_CACHE_SIZE = 1 << NAME_CACHE_BITS, NAME_CACHE_TEXT_MAX = 1024 };

struct name_cache {
    struct annotation *slots[NAME_CACHE_SIZE];
};

static inline struct annotation **name_cache_slot(struct name_cache *cache, const PyObject *name)
{
    uint64_t hash = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15);
    return &cache->slots[hash >> (64 - NAME_CACHE_BITS)];
}

/* New reference, or NULL without an exception. */
static inline struct annotation *name_cache_find(struct name_cache *cache, const PyObject *name)
{
    /* Acquire: partner of the release in name_cache_add. */
    struct annotation *found = __atomic_load_n(name_cache_slot(cache, name), __ATOMIC_ACQUIRE);
    if (found == NULL || found->name != name)
        return NULL;
    Py_INCREF(found);
    return found;
}

void name_cache_add(struct name_cache *cache, struct annotation *annotation);
void name_cache_clear(struct name_cache *cache);

#endif
