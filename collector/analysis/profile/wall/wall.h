/* SPDX-License-Identifier: MIT */
/* How the wall time of a program was spent: at each moment some of its threads ran, or some were
 * ready and none had a processor, or all waited.
 *
 * While all wait, the moment counts for one of them: the first process's main thread, as a rule.
 * Where that only waits for the others of the program (a lock, a pipe, a child), it counts for one
 * that waits for something outside of it, in own code, if there is one.
 *
 * Known if waits were recorded. Memory: 40 bytes a wait, up to WALL_WAITS_MAX; then the shortest
 * are left out, as if the thread had run. Thread-safety: none. */
#ifndef ANNOT_WALL_H
#define ANNOT_WALL_H

#include "own_time.h"
#include "pass.h"

enum { WALL_WAITS_MAX = 1 << 20 };

struct wall_totals {
    int64_t begin_ns, end_ns;
    uint64_t wall_ns; /* these add up to it: */
    uint64_t running_ns, ready_ns, waiting_ns;
    uint64_t short_ns;     /* waiting, each time too short to have been recorded with its place */
    uint64_t absent_ns;    /* no thread was there yet, or any more */
    uint64_t full_ns;      /* of running: on all processors of all hosts, at least */
    uint64_t single_ns;    /* one thread ran or was ready, */
    uint64_t alone_ns;     /* and ran; */
    uint32_t single;       /* most of that time this one */
    uint64_t parallel_ns;  /* several were, */
    uint64_t contended_ns; /* some were ready, and it was not for a crowd (struct wall_host) */
    uint64_t starved_ns;   /* on some host threads were ready, and none of it ran */
    uint64_t busy_ns;      /* all threads together: running */
    uint64_t shortest_ns;  /* shorter waits were left out */
    uint32_t processors;   /* of all hosts; 0: not known */
};

/* What the threads of one host did with its processors. */
struct wall_host {
    uint32_t host;       /* ordinal */
    uint32_t processors; /* 0: not known */
    uint64_t busy_ns;    /* its threads together: running */
    uint64_t ready_ns;   /* and ready */
    uint64_t crowded_ns; /* more of them were able to run than there are processors, all of which
                            they had, or twice as many */
};

/* For what the program waited while nothing of it ran: a cause in one place. */
struct wall_wait {
    uint32_t label; /* as struct own_row */
    uint8_t purpose;
    uint8_t reason; /* enum wait_reason */
    uint8_t kind;   /* enum wait_kind */
    int32_t line;
    uint64_t time_ns;
};

struct wall;

/* What the arguments point to outlives it. NULL: out of memory. destroy accepts NULL. */
struct wall *wall_create(const struct trace *trace, const struct pass_selection *selection);
void wall_destroy(struct wall *wall);

/* Samples in any order; then once finish, of what is from `begin_ns` to `end_ns`. 0 or -ENOMEM. */
int wall_add(struct wall *wall, const struct sample *sample);
int wall_finish(struct wall *wall, const struct own_time *own, int64_t begin_ns, int64_t end_ns);

const struct wall_totals *wall_totals(const struct wall *wall);
/* The busiest first: one, or those of a merge. Returns how many. */
uint32_t wall_hosts(const struct wall *wall, const struct wall_host **ret_hosts);
/* The longest first. Returns how many. */
uint32_t wall_waits(const struct wall *wall, const struct wall_wait **ret_waits);

#endif
