/* SPDX-License-Identifier: MIT */
/* Hash maps to a 64-bit value: from one number (map64), or from several (wide_map).
 *
 * `{0}` is empty. Open addressing; removal moves later entries back, so it leaves no tombstones
 * and a long run of put/take pairs keeps its size. Thread-safety: none. */
#ifndef ANNOT_HASH_MAP_H
#define ANNOT_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- From one number ------------------------------------------------------------------------- */

/* An entry with a nonzero key. */

struct map64_entry {
    uint64_t key; /* 0 = free */
    uint64_t value;
};

struct map64 {
    struct map64_entry *entries;
    size_t count, capacity; /* capacity: 0 or a power of two */
};

/* Sets or replaces; replacing needs no memory. 0 or -ENOMEM. `key` is not 0. */
int map64_put(struct map64 *map, uint64_t key, uint64_t value);

/* NULL if absent. Valid until the next put or remove. */
uint64_t *map64_find(const struct map64 *map, uint64_t key);

/* Removes the key. Returns true if it existed, with its value in *ret_value. */
bool map64_take(struct map64 *map, uint64_t key, uint64_t *ret_value);

void map64_free(struct map64 *map);

/* ---- From several ---------------------------------------------------------------------------- */

/* For keys that do not fit one number. The whole key is kept and compared, so keys never
 * collide. */

enum { WIDE_KEY_WORDS = 4 };

struct wide_key {
    uint64_t words[WIDE_KEY_WORDS]; /* unused ones are 0 */
};

#define WIDE_KEY(...) (&(const struct wide_key){.words = {__VA_ARGS__}})

struct wide_entry {
    uint64_t mark; /* 0 = free */
    uint64_t value;
    struct wide_key key;
};

struct wide_map {
    struct wide_entry *entries;
    size_t count, capacity; /* capacity: 0 or a power of two */
};

/* Sets or replaces; replacing needs no memory. 0 or -ENOMEM. */
int wide_map_put(struct wide_map *map, const struct wide_key *key, uint64_t value);

/* NULL if absent. Valid until the next put or remove. */
uint64_t *wide_map_find(const struct wide_map *map, const struct wide_key *key);

/* Removes the key. Returns true if it existed, with its value in *ret_value. */
bool wide_map_take(struct wide_map *map, const struct wide_key *key, uint64_t *ret_value);

void wide_map_free(struct wide_map *map);

#endif
