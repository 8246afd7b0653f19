/* SPDX-License-Identifier: MIT */
/* Named stretches of memory; later ones hide earlier ones where they overlap, as when a JIT
 * compiler reuses the place of older code.
 *
 * Kept as sorted runs without overlaps, each at least twice as long as the next newer one: adding n
 * stretches costs O(n log n) in total, for any batch sizes, finding O(log^2 n). Thread-safety:
 * none. */
#ifndef ANNOT_CODE_RUNS_H
#define ANNOT_CODE_RUNS_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_stretch {
    uint64_t begin, end; /* begin < end */
    uint32_t name;
};

struct code_run { /* a VEC with a name */
    struct code_stretch *items;
    size_t count, capacity;
};

/* `{0}` is empty. */
struct code_runs {
    VEC(struct code_run) runs; /* oldest and longest first */
};

/* Adds stretches in order of age. 0 or -ENOMEM: none was added. */
int code_runs_add(struct code_runs *runs, const struct code_stretch *stretches, size_t count);
bool code_runs_find(const struct code_runs *runs, uint64_t address, uint32_t *ret_name);
size_t code_runs_count(const struct code_runs *runs);
void code_runs_free(struct code_runs *runs);

#endif
