/* SPDX-License-Identifier: MIT */
/* Functions and static probes that are ranges: what is asked for, what there is of it, and what
 * calls were entered with. Thread-safety: one thread per object. */
#ifndef ANNOT_PROBES_H
#define ANNOT_PROBES_H

#include "event.h"
#include "hash_map.h"
#include "sampler_abi.h"
#include "vec.h"

#include <stdbool.h>

struct trace;

/* ---- Arguments: probe_args.c ----
 *
 * They are told where a function begins, its range where it ends: until then they are kept. Calls
 * that never end are forgotten with what is open of their thread, or once there are too many. */

struct entered_calls {
    struct map64 by_call; /* index in the items */
    VEC(struct sampler_probed_args) items;
    VEC(uint32_t) free; /* of the items */
    uint32_t texts;     /* that are in the trace */
    uint64_t lost, cut; /* calls whose arguments are not known; texts that are not there */
};

/* "1,2=str,3=long": which of the first six integer arguments of the System V ABI, and what they are
 * (int if it is not said). False: it is none. */
bool probe_args_parse(const char *text, struct sampler_args *ret_args);

/* What that adds to a call, in ns. */
uint64_t probe_args_ns(const struct sampler_args *args);

/* Keeps what a call was entered with. 0 or -ENOMEM. */
int probe_args_take(struct entered_calls *entered, const struct sampler_probed_args *record);
/* The key-values of a call that has ended, behind `args`: their number, 0 if nothing is known of
 * it; or -ENOMEM. */
int probe_args_end(struct entered_calls *entered, const struct sampler_probed *call,
                   const struct sampler_args *kinds, struct trace *trace, struct arg *args);
void entered_calls_fini(struct entered_calls *entered);

/* ---- What there is ---- */

struct probe {
    uint32_t name, scope;     /* in the trace */
    uint64_t calls;           /* when it was looked at last */
    double rate;              /* calls a second until then */
    uint64_t call_ns;         /* what one takes; 0: not measured */
    bool off;                 /* it was taken away */
    struct sampler_args args; /* what is told of its entry */
};

/* What is met of a call: its entry and its return, the return by a return probe; or one place. */
enum probe_cost { PROBE_COST_EXITS, PROBE_COST_RETURNED, PROBE_COST_PLACE, PROBE_COSTS };

struct probe_wish {
    char *text, *file;
    char *provider;        /* of static probes; NULL: */
    char *function, *last; /* or a probe, and the one that ends what it begins; NULL: none does */
    uint32_t count;        /* functions, probes */
    struct sampler_args args;
};

struct probe_file {
    uint64_t device, inode;
    uint32_t wish;
};

struct probes {
    VEC(struct probe) all;
    VEC(struct probe_wish) wishes;
    VEC(struct probe_file) files;
    VEC(struct event) events; /* to be handed on */
    VEC(struct arg) args;
    bool measured;
    uint64_t visit_ns[PROBE_COSTS]; /* what each costs here; 0: not known */
    uint64_t since_ns;              /* of the counts */
    uint64_t told, left;
    struct entered_calls entered;
    uint32_t off;
    int error; /* the last that kept a file's functions from being probed */
};

#endif
