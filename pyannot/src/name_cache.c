/* SPDX-License-Identifier: MIT */
/* Filling and emptying the cache of plain annotations. */
#include "name_cache.h"

void name_cache_add(struct name_cache *cache, struct annotation *annotation)
{
    struct annotation **slot = name_cache_slot(cache, annotation->name);
    struct annotation *old = __atomic_load_n(slot, __ATOMIC_RELAXED);
    /* A subclass of str may run code when it dies, and a long text is not worth keeping. */
    if (!PyUnicode_CheckExact(annotation->name) ||
        PyUnicode_GET_LENGTH(annotation->name) > NAME_CACHE_TEXT_MAX)
        return;
    if (PYANNOT_FREE_THREADED && (old != NULL || !PyUnicode_CHECK_INTERNED(annotation->name)))
        return;
    Py_INCREF(annotation);
    /* Release: partner of the acquire in name_cache_find. */
    if (!__atomic_compare_exchange_n(slot, &old, annotation, 0, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED)) {
        Py_DECREF(annotation);
        return;
    }
    Py_XDECREF(old);
}

void name_cache_clear(struct name_cache *cache)
{
    for (int i = 0; i < NAME_CACHE_SIZE; i++)
        Py_CLEAR(cache->slots[i]);
}
