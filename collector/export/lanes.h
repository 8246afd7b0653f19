/* SPDX-License-Identifier: MIT */
/* Puts ranges that may overlap onto lanes on which they don't.
 *
 * Each range takes the lowest lane whose last range has ended by its start. Ranges may come in any
 * order; the more they come by end, the fewer lanes. A tree of the lanes' ends finds the lane in
 * O(log n). Thread-safety: none. `{0}` is empty. */
#ifndef ANNOT_LANES_H
#define ANNOT_LANES_H

#include <stdint.h>

struct lanes {
    int64_t *ends;     /* a binary tree from [1]: each node the earliest end below it */
    uint32_t capacity; /* leaves, a power of two; lane i is ends[capacity + i] */
};

/* The lane, or -ENOMEM. A range whose end is not known yet keeps it with `end_ns` INT64_MAX until
 * lanes_set_end. */
int64_t lanes_take(struct lanes *lanes, int64_t start_ns, int64_t end_ns);
void lanes_set_end(struct lanes *lanes, uint32_t lane, int64_t end_ns);
void lanes_fini(struct lanes *lanes);

#endif
