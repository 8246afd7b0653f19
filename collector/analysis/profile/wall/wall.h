/* SPDX-License-Identifier: MIT */
/* Wall time of a program: at each moment some of its threads ran, or some were ready but had no
 * processor, or all waited.
 *
 * While all wait, the moment counts for one of them: the first process's main thread, as a rule. If
 * that only waits for other threads of the program (a lock, a pipe, a child), it counts for one
 * that waits for something outside of it, in own code, if there is one.
 *
 * Requires recorded waits. Memory: 40 bytes a wait, up to WALL_WAITS_MAX; then the shortest are
 * dropped, as if the thread had run. Thread-safety: none. */
#ifndef ANNOT_WALL_H
#define ANNOT_WALL_H

#include "own_time.h"
#include "pass.h"

enum { WALL_WAITS_MAX = 1 << 20 };

struct wall_totals {
    int64_t begin_ns, end_ns;
    uint64_t wall_ns; /* sum of the following: */
    uint64_t running_ns, runnable_ns, blocked_ns;
    uint64_t short_ns;     /* waiting, in waits too short to be recorded with their place */
    uint64_t absent_ns;    /* before the first thread, or after the last */
    uint64_t full_ns;      /* part of running: on all processors of all hosts, a lower bound */
    uint64_t single_ns;    /* one thread ran or was ready: */
    uint64_t alone_ns;     /* part of single_ns: it ran */
    uint32_t single;       /* the thread with most of that time */
    uint64_t parallel_ns;  /* several threads ran or were ready */
    uint64_t contended_ns; /* some were ready, and no crowd explains it (struct wall_host) */
    uint64_t starved_ns;   /* on some host threads were ready, but the program did not run there */
    uint64_t busy_ns;      /* sum over all threads: running */
    uint64_t shortest_ns;  /* shorter waits were dropped */
    uint32_t processors;   /* of all hosts; 0: unknown */
};

/* Use of one host's processors by its threads. */
struct wall_host {
    uint32_t host;        /* ordinal */
    uint32_t processors;  /* 0: unknown */
    uint64_t busy_ns;     /* sum over its threads: running */
    uint64_t runnable_ns; /* sum over its threads: ready */
    uint64_t crowded_ns;  /* more threads able to run than processors, and all of these in use by
                             them, or twice as many threads */
};

/* A wait that held up the program while no thread ran: a cause in one place. */
struct wall_wait {
    uint32_t label; /* as struct own_row */
    uint8_t purpose;
    uint8_t reason; /* enum wait_reason */
    uint8_t kind;   /* enum wait_kind */
    int32_t line;
    uint64_t time_ns;
};

struct wall;

/* The arguments' pointees outlive it. NULL: out of memory. destroy accepts NULL. */
struct wall *wall_create(const struct trace *trace, const struct pass_selection *selection);
void wall_destroy(struct wall *wall);

/* Add samples in any order; then call finish once, with the time from `begin_ns` to `end_ns`. 0 or
 * -ENOMEM. */
int wall_add(struct wall *wall, const struct sample *sample);
int wall_finish(struct wall *wall, const struct own_time *own, int64_t begin_ns, int64_t end_ns);

const struct wall_totals *wall_totals(const struct wall *wall);
/* Returns the number of hosts, busiest first: one, or those of a merge. */
uint32_t wall_hosts(const struct wall *wall, const struct wall_host **ret_hosts);
/* Returns the number of waits, longest first. */
uint32_t wall_waits(const struct wall *wall, const struct wall_wait **ret_waits);

#endif
