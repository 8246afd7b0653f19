/* SPDX-License-Identifier: MIT */
/* Which ranges were open at given instants of given threads, by the threads' events, and whether
 * that agrees with what was read from the thread at that instant.
 *
 * Points are noted in any order, then all events are fed, then each point has its answer. A time
 * stamp is taken a moment before the range is to be seen, and clocks differ by a little: what was
 * open at most PATH_EDGE_NS before or after the instant agrees too. Memory: 44 bytes a point, 8 an
 * open range. Thread-safety: none. */
#ifndef ANNOT_PATH_POINTS_H
#define ANNOT_PATH_POINTS_H

#include "event.h"
#include "trace.h"
#include "vec.h"

#include <stdbool.h>

enum { PATH_POINTS_MAX = 8 << 20, PATH_EDGE_NS = 2000 };

struct path_point {
    int64_t time_ns;
    uint32_t thread;
    uint32_t read;  /* the path that was read */
    uint32_t index; /* in order of noting */
    bool known;     /* it was read */
    bool cut;       /* of it the outermost ranges are missing */
};

enum path_verdict {
    PATH_AGREES = 1,  /* with what was open at the instant */
    PATH_AT_EDGE = 2, /* with what was open a moment before or after */
    PATH_UNSURE = 4,  /* events of the thread are missing before, or none follow */
};

struct path_answer {
    uint32_t told;   /* open at the instant, by the events */
    uint32_t agreed; /* the one that agrees with what was read, if one does */
    uint8_t verdict; /* enum path_verdict; without the first two they contradict each other */
};

struct open_path {
    uint64_t level; /* open ranges below it, as the producer counts */
    uint32_t path;
};

/* Of a thread that has points. */
struct path_lane {
    VEC(struct open_path) open;
    uint64_t depth;
    int64_t since_ns;   /* when the last range began or ended */
    uint32_t next, end; /* of its points */
    bool lossy;         /* events are missing */
};

/* `{0}` is empty. */
struct path_points {
    VEC(struct path_point) points;
    VEC(struct path_answer) answers; /* by index */
    struct path_lane *lanes;         /* by thread */
    const struct trace *trace;
    uint32_t lane_count;
    uint64_t refused; /* beyond PATH_POINTS_MAX */
};

/* `point`: all but its index. 0 or -ENOMEM. fini accepts a zeroed object. */
int path_points_note(struct path_points *points, const struct path_point *point);
int path_points_start(struct path_points *points, const struct trace *trace);
int path_points_feed(struct path_points *points, struct trace *trace,
                     const struct event_batch *batch);
void path_points_finish(struct path_points *points);
void path_points_fini(struct path_points *points);

#endif
