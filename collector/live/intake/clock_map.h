/* SPDX-License-Identifier: MIT */
/* Converts timestamps of programs to CLOCK_MONOTONIC nanoseconds.
 *
 * Anchors are pairs (timestamp, ns) of one instant. Conversion is linear between neighbours, so it
 * is continuous and rises; a few anchors a second keep the error at the noise of one anchor (some
 * tens of ns) however the kernel slews its clock. A timestamp of the last seconds always converts
 * to the same time: records of one instant from several sources (a launch in its stack, its spans
 * and its thread's ranges) get equal times and stay in order with all others. */
#ifndef ANNOT_CLOCK_MAP_H
#define ANNOT_CLOCK_MAP_H

#include "vec.h"

#include <stdint.h>

struct clock_anchor {
    uint64_t raw;
    int64_t ns;
};

/* One linear piece: ns + (raw - begin) * mult / 2^32. */
struct clock_line {
    uint64_t begin, end; /* raw; begin >= end: empty */
    int64_t ns;
    uint64_t mult;
};

struct clock_map {
    VEC(struct clock_anchor) anchors; /* rising in raw and ns */
    struct clock_line line;           /* the line used last */
    double ns_per_tick; /* used before the first anchor, and while there is only one */
};

/* The timestamp counter of this machine now; 0 if it has no usable one. */
uint64_t clock_now_raw(void);

/* Timestamp and CLOCK_MONOTONIC at one instant, the best of a few tries. */
struct clock_anchor clock_anchor_now(void);

/* 0 or -ENOMEM. Measures the rate of the counter for about a millisecond. */
int clock_map_init(struct clock_map *map);
void clock_map_fini(struct clock_map *map);

/* Takes an anchor if the last one is old enough. Call it now and then: later conversions
 * interpolate between these anchors. Detects a counter that was reset. 0 or -ENOMEM. */
int clock_map_advance(struct clock_map *map);

/* Adds an anchor from another source if it is plausible: within 1 ms + 1/1000 of the measured rate.
 * For segments of dead collectors. 0, -EBADMSG or -ENOMEM. */
int clock_map_offer(struct clock_map *map, struct clock_anchor anchor);

/* Converts outside the current line; takes an anchor for times later than all anchors. Never fails:
 * times outside the anchors are clamped to a day around them. */
int64_t clock_map_ns_anywhere(struct clock_map *map, uint64_t raw);

static inline int64_t clock_map_ns(struct clock_map *map, uint64_t raw)
{
    const struct clock_line *line = &map->line;
    if (__builtin_expect(raw < line->begin || raw >= line->end, 0))
        return clock_map_ns_anywhere(map, raw);
    return line->ns + (int64_t)((unsigned __int128)(raw - line->begin) * line->mult >> 32);
}

#endif
