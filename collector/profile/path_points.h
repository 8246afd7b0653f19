/* SPDX-License-Identifier: MIT */
/* Which ranges were open at given instants of given threads, by the threads' events.
 *
 * Points are noted in any order, then all events are fed, then each point has its path. Memory: 24
 * bytes a point, 8 an open range. Thread-safety: none. */
#ifndef ANNOT_PATH_POINTS_H
#define ANNOT_PATH_POINTS_H

#include "event.h"
#include "trace.h"
#include "vec.h"

enum { PATH_POINTS_MAX = 8 << 20 };

struct path_point {
    int64_t time_ns;
    uint32_t thread;
    uint32_t index; /* in order of noting */
};

struct open_path {
    uint64_t level; /* open ranges below it, as the producer counts */
    uint32_t path;
};

/* Of a thread that has points. */
struct path_lane {
    VEC(struct open_path) open;
    uint64_t depth;
    uint32_t next, end; /* of its points */
};

/* `{0}` is empty. */
struct path_points {
    VEC(struct path_point) points;
    VEC(uint32_t) paths;     /* by index */
    struct path_lane *lanes; /* by thread */
    uint32_t lane_count;
    uint64_t refused; /* beyond PATH_POINTS_MAX */
};

/* 0 or -ENOMEM. fini accepts a zeroed object. */
int path_points_note(struct path_points *points, uint32_t thread, int64_t time_ns);
int path_points_start(struct path_points *points, const struct trace *trace);
int path_points_feed(struct path_points *points, struct trace *trace,
                     const struct event_batch *batch);
void path_points_finish(struct path_points *points);
void path_points_fini(struct path_points *points);

#endif
