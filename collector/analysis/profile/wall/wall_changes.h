/* SPDX-License-Identifier: MIT */
/* The waits of all threads, and their changes of state in order of time: threads begin, wait,
 * become ready, run again and end. Only for the wall time (wall.h). Thread-safety: as the wall
 * time. */
#ifndef ANNOT_WALL_CHANGES_H
#define ANNOT_WALL_CHANGES_H

#include "pass.h"
#include "trace.h"
#include "vec.h"

/* A stretch off the CPU: blocked until `wake_ns`, then ready. */
struct stretch {
    int64_t begin_ns, wake_ns, end_ns;
    uint32_t thread, stack;
    uint8_t reason;
};

/* Short waits between two instants, at unknown places: the thread ran for a constant part of the
 * time. */
struct interval {
    int64_t begin_ns, end_ns;
    uint64_t blocked_ns, ready_ns;
    uint32_t thread;
    double part; /* part of the time outside of its stretches in which it ran */
};

enum state { ABSENT = 0, RUNNING, BLOCKED, READY, PART_BEGINS, PART_ENDS };

/* A thread enters a state. At equal times, the smaller `order` is first. */
struct change {
    int64_t time_ns;
    uint32_t thread;
    uint32_t stretch; /* BLOCKED: 1 + index; PART_BEGINS: of an interval */
    uint8_t state, order;
};

struct life {
    int64_t begin_ns, end_ns; /* first and last sign of it */
};

/* The threads, and their waits. */
struct wall_threads {
    const struct trace *trace;
    const struct pass_selection *selection;
    int64_t begin_ns, end_ns; /* of the wall time */
    struct life *lives;       /* by thread */
    uint32_t count;
    VEC(struct stretch) stretches;
    VEC(struct interval) intervals;
    VEC(struct change) changes;
};

/* Lists all changes, in order of time. 0 or -ENOMEM. */
int wall_changes_list(struct wall_threads *threads);

/* Extends the life of a thread by a time at which it was seen. */
static inline void wall_see(struct life *life, int64_t begin_ns, int64_t end_ns)
{
    if (life->begin_ns == 0 || begin_ns < life->begin_ns)
        life->begin_ns = begin_ns;
    if (end_ns > life->end_ns)
        life->end_ns = end_ns;
}

static inline bool wall_is_main(const struct trace *trace, const struct trace_thread *thread)
{
    return thread->tid == trace_process_get(trace, thread->process)->ns_pid;
}

#endif
