/* SPDX-License-Identifier: MIT */
/* A hash map from a key of several numbers to a 64-bit value, for keys that one number cannot hold
 * (map64.h). The whole key is kept and compared, so two keys never meet.
 *
 * `{0}` is empty. Open addressing; removal moves later entries back. Thread-safety: none. */
#ifndef ANNOT_WIDE_MAP_H
#define ANNOT_WIDE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIDE_KEY_WORDS = 4 };

struct wide_key {
    uint64_t words[WIDE_KEY_WORDS]; /* those that are not used are 0 */
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

/* Whether it was there; its value in *ret_value. */
bool wide_map_take(struct wide_map *map, const struct wide_key *key, uint64_t *ret_value);

void wide_map_free(struct wide_map *map);

#endif
