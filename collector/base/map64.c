/* SPDX-License-Identifier: MIT */
/* Linear probing behind map64.h. Invariant: at most 3/4 full, so every probe ends at a free entry.
 * Thread-safety: none. */
#include "map64.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

static size_t probe(const struct map64 *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t at = hash_u64(key) & mask;
    while (map->entries[at].key != 0 && map->entries[at].key != key)
        at = (at + 1) & mask;
    return at;
}

static int grow(struct map64 *map)
{
    struct map64 grown = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
                          .count = map->count};
    grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
    if (!grown.entries)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key != 0)
            grown.entries[probe(&grown, map->entries[i].key)] = map->entries[i];
    free(map->entries);
    *map = grown;
    return 0;
}

int map64_put(struct map64 *map, uint64_t key, uint64_t value)
{
    uint64_t *found = map64_find(map, key);
    if (found) {
        *found = value;
        return 0;
    }
    if ((map->count + 1) * 4 > map->capacity * 3) {
        int error = grow(map);
        if (error)
            return error;
    }
    struct map64_entry *entry = &map->entries[probe(map, key)];
    map->count += entry->key == 0;
    *entry = (struct map64_entry){key, value};
    return 0;
}

uint64_t *map64_find(const struct map64 *map, uint64_t key)
{
    if (map->count == 0)
        return NULL;
    struct map64_entry *entry = &map->entries[probe(map, key)];
    return entry->key != 0 ? &entry->value : NULL;
}

/* Moves the entries behind a hole back, so that none is cut off from its home. */
static void close_hole(struct map64 *map, size_t hole)
{
    size_t mask = map->capacity - 1;
    for (size_t at = (hole + 1) & mask; map->entries[at].key != 0; at = (at + 1) & mask) {
        size_t home = hash_u64(map->entries[at].key) & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        map->entries[hole] = map->entries[at];
        hole = at;
    }
    map->entries[hole].key = 0;
}

bool map64_take(struct map64 *map, uint64_t key, uint64_t *ret_value)
{
    if (map->count == 0)
        return false;
    size_t at = probe(map, key);
    if (map->entries[at].key == 0)
        return false;
    *ret_value = map->entries[at].value;
    map->count--;
    close_hole(map, at);
    return true;
}

void map64_free(struct map64 *map)
{
    free(map->entries);
    *map = (struct map64){0};
}
