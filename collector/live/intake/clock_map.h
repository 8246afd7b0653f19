/* SPDX-License-Identifier: MIT */
/* From the timestamps of programs to CLOCK_MONOTONIC nanoseconds.
 *
 * Anchors are pairs (timestamp, ns) of one instant. Between two neighbours time runs straight, so
 * conversion is continuous and rises; a few anchors a second keep the error at the noise of one
 * anchor (some tens of ns) however the kernel slews its clock. A timestamp of the last seconds has
 * one time, also if it is asked for again: what is told of an instant by several (a launch by its
 * stack, its spans and its thread's ranges) is at one, and in order with all others. */
#ifndef ANNOT_CLOCK_MAP_H
#define ANNOT_CLOCK_MAP_H

#include "vec.h"

#include <stdint.h>

struct clock_anchor {
    uint64_t raw;
    int64_t ns;
};

/* One straight piece: ns + (raw - begin) * mult / 2^32. */
struct clock_line {
    uint64_t begin, end; /* raw; begin >= end: none */
    int64_t ns;
    uint64_t mult;
};

struct clock_map {
    VEC(struct clock_anchor) anchors; /* rising in raw and ns */
    struct clock_line line;           /* the one that was used last */
    double ns_per_tick;               /* before the first anchor and with only one */
};

/* The timestamp counter of this machine now; 0 where there is none. */
uint64_t clock_now_raw(void);

/* Timestamp and CLOCK_MONOTONIC at one instant, the best of a few tries. */
struct clock_anchor clock_anchor_now(void);

/* 0 or -ENOMEM. Measures the rate of the counter for about a millisecond. */
int clock_map_init(struct clock_map *map);
void clock_map_fini(struct clock_map *map);

/* Takes an anchor if the last one is long ago; call it now and then, as times that are converted
 * later lie between them. Notices that the counter was set back. 0 or -ENOMEM. */
int clock_map_advance(struct clock_map *map);

/* Adds an anchor that somebody else took, if it is believable: within 1 ms + 1/1000 of what the
 * rate tells. For segments whose collector died. 0, -EBADMSG or -ENOMEM. */
int clock_map_offer(struct clock_map *map, struct clock_anchor anchor);

/* Takes an anchor for what is later than all. Never fails: times outside of the anchors are cut to
 * a day around them. */
int64_t clock_map_ns_anywhere(struct clock_map *map, uint64_t raw);

static inline int64_t clock_map_ns(struct clock_map *map, uint64_t raw)
{
    const struct clock_line *line = &map->line;
    if (__builtin_expect(raw < line->begin || raw >= line->end, 0))
        return clock_map_ns_anywhere(map, raw);
    return line->ns + (int64_t)((unsigned __int128)(raw - line->begin) * line->mult >> 32);
}

#endif
