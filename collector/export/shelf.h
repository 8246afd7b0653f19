/* SPDX-License-Identifier: MIT */
/* Puts ranges that may overlap onto shelves on which they don't.
 *
 * Each range takes the lowest shelf whose last range has ended by its start. Ranges may come in any
 * order; the more they come by end, the fewer shelves. A tree of the shelves' ends finds the shelf
 * in O(log n). Thread-safety: none. `{0}` is empty. */
#ifndef ANNOT_SHELF_H
#define ANNOT_SHELF_H

#include <stdint.h>

struct shelves {
    int64_t *ends;     /* a binary tree from [1]: each node the earliest end below it */
    uint32_t capacity; /* leaves, a power of two; shelf i is ends[capacity + i] */
};

/* The shelf, or -ENOMEM. A range whose end is not known yet keeps it with `end_ns` INT64_MAX until
 * shelves_set_end. */
int64_t shelves_take(struct shelves *shelves, int64_t start_ns, int64_t end_ns);
void shelves_set_end(struct shelves *shelves, uint32_t shelf, int64_t end_ns);
void shelves_fini(struct shelves *shelves);

#endif
