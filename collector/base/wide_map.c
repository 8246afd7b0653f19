/* SPDX-License-Identifier: MIT */
/* Linear probing behind wide_map.h. Invariant: at most 3/4 full, so every probe ends at a free
 * entry. Thread-safety: none. */
#include "wide_map.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

/* Never 0. Only where to look: what lies there is compared. */
static uint64_t mark_of(const struct wide_key *key)
{
    return hash_bytes(key->words, sizeof(key->words)) | UINT64_C(1) << 63;
}

static bool is_same(const struct wide_key *a, const struct wide_key *b)
{
    return memcmp(a->words, b->words, sizeof(a->words)) == 0;
}

static struct wide_entry *probe(const struct wide_map *map, uint64_t mark,
                                const struct wide_key *key)
{
    size_t mask = map->capacity - 1;
    for (size_t at = mark & mask;; at = (at + 1) & mask) {
        struct wide_entry *entry = &map->entries[at];
        if (entry->mark == 0 || (entry->mark == mark && is_same(&entry->key, key)))
            return entry;
    }
}

static int grow(struct wide_map *map)
{
    struct wide_map grown = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
                             .count = map->count};
    grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
    if (!grown.entries)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        const struct wide_entry *entry = &map->entries[i];
        if (entry->mark != 0)
            *probe(&grown, entry->mark, &entry->key) = *entry;
    }
    free(map->entries);
    *map = grown;
    return 0;
}

int wide_map_put(struct wide_map *map, const struct wide_key *key, uint64_t value)
{
    uint64_t *found = wide_map_find(map, key), mark = mark_of(key);
    if (found) {
        *found = value;
        return 0;
    }
    if ((map->count + 1) * 4 > map->capacity * 3 && grow(map) != 0)
        return -ENOMEM;
    *probe(map, mark, key) = (struct wide_entry){mark, value, *key};
    map->count++;
    return 0;
}

uint64_t *wide_map_find(const struct wide_map *map, const struct wide_key *key)
{
    if (map->count == 0)
        return NULL;
    struct wide_entry *entry = probe(map, mark_of(key), key);
    return entry->mark != 0 ? &entry->value : NULL;
}

/* Moves the entries behind a hole back, so that none is cut off from its home. */
static void close_hole(struct wide_map *map, size_t hole)
{
    size_t mask = map->capacity - 1;
    for (size_t at = (hole + 1) & mask; map->entries[at].mark != 0; at = (at + 1) & mask) {
        size_t home = map->entries[at].mark & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        map->entries[hole] = map->entries[at];
        hole = at;
    }
    map->entries[hole].mark = 0;
}

bool wide_map_take(struct wide_map *map, const struct wide_key *key, uint64_t *ret_value)
{
    if (map->count == 0)
        return false;
    struct wide_entry *entry = probe(map, mark_of(key), key);
    if (entry->mark == 0)
        return false;
    *ret_value = entry->value;
    map->count--;
    close_hole(map, (size_t)(entry - map->entries));
    return true;
}

void wide_map_free(struct wide_map *map)
{
    free(map->entries);
    *map = (struct wide_map){0};
}
