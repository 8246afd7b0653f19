/* SPDX-License-Identifier: MIT */
/* Counters for viewers: series of one group together, and units.
 *
 * The series of a group are recorded at one instant, as consecutive counters "GROUP/SERIES". A
 * slash alone makes no group: "requests/s" is a counter. Thread-safety: one thread per object. */
#ifndef ANNOT_COUNTER_GROUPS_H
#define ANNOT_COUNTER_GROUPS_H

#include "hash_map.h"
#include "strtab.h"
#include "trace.h"
#include "vec.h"

enum { COUNTER_SERIES_MAX = 64 }; /* of one instant; further ones start another run */

/* Values of one instant that belong together: one, or several of a group. */
struct counter_run {
    const struct event *events;
    uint32_t count;
    size_t group_length; /* of the names up to the slash; 0: a single counter */
};

typedef int counter_run_fn(void *context, const struct counter_run *run);

struct counter_groups {
    const struct trace *trace;
    counter_run_fn *put;
    void *context;
    struct event held[COUNTER_SERIES_MAX];
    uint32_t held_count;
    struct wide_map units; /* by counter and domain: string, 0 = without unit */
    struct wide_map known; /* domain and name of groups seen with several series at one instant */
    struct strtab names;   /* of groups */
};

/* Each value goes to `put`, at once or when the next one ends its run; the last at finish. 0 or
 * -ENOMEM; then fini all the same. */
int counter_groups_init(struct counter_groups *groups, const struct trace *trace);
int counter_groups_add(struct counter_groups *groups, const struct event *event);
int counter_groups_finish(struct counter_groups *groups);
void counter_groups_fini(struct counter_groups *groups);

/* The unit of a counter (string, 0 = without unit); a series may have that of its group. */
uint32_t counter_unit(struct counter_groups *groups, const struct event *event);

#endif
