/* SPDX-License-Identifier: MIT */
/* Internals of the wall time: facts about threads, and their changes of state. */
#ifndef ANNOT_WALL_PARTS_H
#define ANNOT_WALL_PARTS_H

#include "hash_map.h"
#include "vec.h"
#include "wall.h"

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

/* State of a thread during the walk. */
struct now {
    uint8_t state, reason, kind;
    uint32_t interval; /* 1 + index; 0: runs all the time */
    uint32_t row;      /* BLOCKED: as own_time_row_of() */
    int32_t line;
    uint32_t next, before; /* 1 + thread, among those that wait for something outside; 0: end */
    uint64_t single_ns;    /* time as the only thread able to run */
};

/* State of a host during the walk: its threads, as `struct wall` for all. */
struct host_now {
    struct wall_host known;
    int64_t since_ns; /* time of the latest change */
    uint32_t running, ready, partly;
    double partly_sum;
};

struct wall {
    const struct trace *trace;
    const struct pass_selection *selection;
    const struct own_time *own;
    struct life *lives; /* by thread */
    uint32_t thread_count;
    VEC(struct stretch) stretches;
    VEC(struct interval) intervals;
    VEC(struct change) changes;
    VEC(struct wall_wait) waits;
    struct map64 wait_by_key;
    struct now *now;
    struct host_now *hosts;       /* by ordinal */
    struct wall_host *told_hosts; /* busiest first */
    uint32_t host_count;
    uint32_t contended_hosts; /* hosts with a ready thread that no crowd explains */
    uint32_t starved_hosts;   /* hosts with a ready thread but no running one */
    uint32_t outside;         /* 1 + the first thread that waits for something outside; 0: empty */
    uint32_t running, ready, present;
    uint64_t able_sum; /* sum of the ordinals of threads that run or are ready; of a single one, its
                          ordinal */
    uint32_t partly;   /* part of running: in an interval with short waits */
    /* Over these: log of the part of the time in which all wait, sum of the parts in which they
     * run, and sum of the ready parts of their short waits. */
    double partly_log, partly_sum, partly_ready;
    struct wall_totals totals;
};

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
