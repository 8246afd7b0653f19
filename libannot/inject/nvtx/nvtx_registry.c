/* SPDX-License-Identifier: MIT */
/* See nvtx_registry.h. A table entry is claimed by one swap; objects are complete before. */
#include "nvtx_registry.h"

#include "nvtx_extension.h"

#include <annot/observers.h>
#include <annot_barrier.h>
#include <string.h>

enum { MEMORY_SIZE = 4 << 20, PLACES = 32768, OBJECTS = PLACES / 2, TEXT_MAX = 255 };

static _Alignas(16) char memory[MEMORY_SIZE];
static size_t memory_used; /* W: all, atomic; may exceed the size */
static struct nvtx_object *places[PLACES];
static uint32_t object_count;

void *nvtx_registry_memory(size_t size)
{
    if (size > MEMORY_SIZE || annot_load_relaxed(&memory_used) > MEMORY_SIZE - size)
        return NULL;
    size = (size + 15) / 16 * 16;
    size_t at = annot_fetch_add_relaxed(&memory_used, size);
    return at <= MEMORY_SIZE - size ? memory + at : NULL;
}

const char *nvtx_registry_text(const char *text)
{
    size_t length = text ? strnlen(text, TEXT_MAX) : 0;
    char *copy = length ? nvtx_registry_memory(length + 1) : NULL;
    return copy ? memcpy(copy, text, length) : "";
}

/* ---- Hashes ---------------------------------------------------------------------------------- */

uint64_t nvtx_hash_text(uint64_t hash, const char *text)
{
    for (size_t i = 0; text && text[i] && i < TEXT_MAX; i++)
        hash = nvtx_hash(hash, (unsigned char)text[i]);
    return nvtx_hash(hash, 0x100);
}

/* ---- The table ------------------------------------------------------------------------------- */

static struct nvtx_object **place_at(uint64_t key, uint32_t probe)
{
    return &places[(nvtx_hash(key, 1) + probe) % PLACES];
}

/* Ids that we issue are hashes of the contents, including the domain. */
#define ID_OURS (UINT64_C(1) << 62)

static annot_domain domain_of(annot_domain domain, uint64_t id)
{
    return id & ID_OURS ? 0 : domain;
}

static uint64_t key_of(uint32_t kind, annot_domain domain, uint64_t id)
{
    return nvtx_hash(id, (uint64_t)kind << 16 | domain_of(domain, id));
}

static int is_it(const struct nvtx_object *object, const struct nvtx_object *wanted)
{
    return object->id == wanted->id && object->kind == wanted->kind &&
           domain_of(object->domain, object->id) == domain_of(wanted->domain, wanted->id);
}

/* Returns NULL if not found, or the table is full. */
static struct nvtx_object *find_or_add(struct nvtx_object *wanted, int may_add)
{
    uint64_t key = key_of(wanted->kind, wanted->domain, wanted->id);
    for (uint32_t i = 0; i < PLACES; i++) {
        struct nvtx_object **place = place_at(key, i);
        struct nvtx_object *found = annot_load_acquire(place); /* partner: the swap */
        if (!found && (!may_add || annot_cas_acq_rel(place, &found, wanted)))
            return may_add ? wanted : NULL; /* partner: itself, and find */
        if (is_it(found, wanted))
            return found;
    }
    return NULL;
}

void *nvtx_registry_find(enum nvtx_object_kind kind, annot_domain domain, uint64_t id)
{
    struct nvtx_object wanted = {.id = id, .kind = (uint8_t)kind, .domain = domain};
    return id >= NVTX_ID_STATIC ? find_or_add(&wanted, 0) : NULL;
}

int nvtx_registry_begin(struct nvtx_object *wanted, uint64_t theirs, uint64_t given)
{
    uint64_t contents = nvtx_hash(wanted->hash, (uint64_t)wanted->kind << 16 | wanted->domain);
    wanted->id = theirs ? theirs : given ? given : ID_OURS | (contents & (ID_OURS - 1));
    if (wanted->id < NVTX_ID_STATIC || (!theirs && given >= NVTX_ID_DYNAMIC))
        return 0;
    const struct nvtx_object *found = find_or_add(wanted, 0);
    if (found)
        return found->hash == wanted->hash ? 2 : 0;
    return 1;
}

uint64_t nvtx_registry_enter(struct nvtx_object *object)
{
    if (annot_load_relaxed(&object_count) >= OBJECTS)
        return 0;
    object->number = annot_fetch_add_relaxed(&object_count, 1) + 1;
    const struct nvtx_object *entered = find_or_add(object, 1);
    return entered && entered->hash == object->hash ? object->id : 0;
}

void nvtx_registry_clear(void)
{
    memset(memory, 0, memory_used < MEMORY_SIZE ? memory_used : MEMORY_SIZE);
    memset(places, 0, sizeof(places));
    memory_used = 0;
    object_count = 0;
}

/* ---- Reports of unsupported data ------------------------------------------------------------- */

void nvtx_emit(annot_domain domain, const char *name, const char *what)
{
    const struct annot_value value = annot_value_string("name", name ? name : "");
    const struct annot_event event = {
        .text = what,
        .domain = domain,
        .category = annot_category_observed(domain, "nvtx", ANNOT_OBSERVER_NVTX, 0),
        .values = &value,
        .value_count = 1};
    annot_mark_event(&event);
}

void nvtx_emit_once(struct nvtx_object *object, const char *name, const char *what)
{
    if (!annot_enabled() || annot_load_relaxed(&object->is_reported))
        return;
    annot_store_relaxed(&object->is_reported, (uint8_t)1);
    nvtx_emit(object->domain, name, what);
}
