/* SPDX-License-Identifier: MIT */
/* Which stretches of a range of numbers are in use: slots of a map, rows of a segment.
 * First fit; neighbours that are free are joined. Thread-safety: none. */
#ifndef ANNOT_EXTENTS_H
#define ANNOT_EXTENTS_H

#include "vec.h"

#include <stdint.h>

struct extent {
    uint32_t first, count;
};

struct extents {
    VEC(struct extent) free; /* sorted, never touching */
};

/* [0, count) is free. 0 or -ENOMEM. */
int extents_init(struct extents *extents, uint32_t count);
void extents_fini(struct extents *extents);

/* The first of `count` numbers; -ENOSPC. */
int64_t extents_take(struct extents *extents, uint32_t count);
/* 0, or -ENOMEM: then they stay in use. */
int extents_give(struct extents *extents, uint32_t first, uint32_t count);

#endif
