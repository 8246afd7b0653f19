/* SPDX-License-Identifier: MIT */
/* Linear probing for hash_map.h. Invariant: at most 3/4 full, so every probe ends at a free entry.
 * Thread-safety: none. */
#include "hash_map.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

/* ---- From one number ------------------------------------------------------------------------- */

static size_t map64_probe(const struct map64 *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t at = hash_u64(key) & mask;
    while (map->entries[at].key != 0 && map->entries[at].key != key)
        at = (at + 1) & mask;
    return at;
}

static int map64_grow(struct map64 *map)
{
    struct map64 grown = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
                          .count = map->count};
    grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
    if (!grown.entries)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key != 0)
            grown.entries[map64_probe(&grown, map->entries[i].key)] = map->entries[i];
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
        int error = map64_grow(map);
        if (error)
            return error;
    }
    struct map64_entry *entry = &map->entries[map64_probe(map, key)];
    map->count += entry->key == 0;
    *entry = (struct map64_entry){key, value};
    return 0;
}

uint64_t *map64_find(const struct map64 *map, uint64_t key)
{
    if (map->count == 0)
        return NULL;
    struct map64_entry *entry = &map->entries[map64_probe(map, key)];
    return entry->key != 0 ? &entry->value : NULL;
}

/* Moves the entries after a hole back, so that all stay reachable from their home. */
static void map64_close_hole(struct map64 *map, size_t hole)
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
    size_t at = map64_probe(map, key);
    if (map->entries[at].key == 0)
        return false;
    *ret_value = map->entries[at].value;
    map->count--;
    map64_close_hole(map, at);
    return true;
}

void map64_free(struct map64 *map)
{
    free(map->entries);
    *map = (struct map64){0};
}

/* ---- From several ---------------------------------------------------------------------------- */

/* Never 0. Only a hash: the keys are compared as well. */
static uint64_t mark_of(const struct wide_key *key)
{
    static const uint64_t odd[WIDE_KEY_WORDS] = {
        UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f), UINT64_C(0x165667b19e3779f9),
        UINT64_C(0xd6e8feb86659fd93)};
    uint64_t sum = 0;
    for (int i = 0; i < WIDE_KEY_WORDS; i++)
        sum += key->words[i] * odd[i];
    return hash_u64(sum) | UINT64_C(1) << 63;
}

static bool is_same(const struct wide_key *a, const struct wide_key *b)
{
    return memcmp(a->words, b->words, sizeof(a->words)) == 0;
}

static struct wide_entry *wide_probe(const struct wide_map *map, uint64_t mark,
                                     const struct wide_key *key)
{
    size_t mask = map->capacity - 1;
    for (size_t at = mark & mask;; at = (at + 1) & mask) {
        struct wide_entry *entry = &map->entries[at];
        if (entry->mark == 0 || (entry->mark == mark && is_same(&entry->key, key)))
            return entry;
    }
}

static int wide_grow(struct wide_map *map)
{
    struct wide_map grown = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
                             .count = map->count};
    grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
    if (!grown.entries)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        const struct wide_entry *entry = &map->entries[i];
        if (entry->mark != 0)
            *wide_probe(&grown, entry->mark, &entry->key) = *entry;
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
    if ((map->count + 1) * 4 > map->capacity * 3 && wide_grow(map) != 0)
        return -ENOMEM;
    *wide_probe(map, mark, key) = (struct wide_entry){mark, value, *key};
    map->count++;
    return 0;
}

uint64_t *wide_map_find(const struct wide_map *map, const struct wide_key *key)
{
    if (map->count == 0)
        return NULL;
    struct wide_entry *entry = wide_probe(map, mark_of(key), key);
    return entry->mark != 0 ? &entry->value : NULL;
}

/* Moves the entries after a hole back, so that all stay reachable from their home. */
static void wide_close_hole(struct wide_map *map, size_t hole)
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
    struct wide_entry *entry = wide_probe(map, mark_of(key), key);
    if (entry->mark == 0)
        return false;
    *ret_value = entry->value;
    map->count--;
    wide_close_hole(map, (size_t)(entry - map->entries));
    return true;
}

void wide_map_free(struct wide_map *map)
{
    free(map->entries);
    *map = (struct wide_map){0};
}
