/* SPDX-License-Identifier: MIT */
/* A hash map from a nonzero 64-bit key to a 64-bit value.
 *
 * `{0}` is empty. Open addressing; removal moves later entries back, so it leaves no tombstones
 * and a long run of put/take pairs keeps its size. Thread-safety: none. */
#ifndef ANNOT_MAP64_H
#define ANNOT_MAP64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Whether it was there; its value in *ret_value. */
bool map64_take(struct map64 *map, uint64_t key, uint64_t *ret_value);

void map64_free(struct map64 *map);

#endif
