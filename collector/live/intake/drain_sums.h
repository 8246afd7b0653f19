/* SPDX-License-Identifier: MIT */
/* Calls and lines that a program counts: the sums in blocks of its threads, and the samples made of
 * them. Thread-safety: one thread per object. */
#ifndef ANNOT_DRAIN_SUMS_H
#define ANNOT_DRAIN_SUMS_H

#include "annot_wire.h"
#include "hash_map.h"
#include "sample.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct drain;

enum {
    COUNTED_VALUES = 2, /* the count, and the time */
    DRAIN_SUM_KINDS = ANNOT_WIRE_SUM_CALLEES + 1,
};

/* A sum, as recorded. */
struct drain_sum {
    uint32_t stack; /* 0: invalid */
    uint16_t depth; /* of the stack */
    uint16_t set;   /* 0: not recorded */
    uint64_t count, own_ns;
    int64_t begin_ns; /* of the next increase */
};

/* A block of sums. */
struct drain_sums {
    uint32_t index, serial;
    uint64_t claim_time;
    int64_t begin_ns;
    uint32_t thread; /* ordinal */
    bool is_met, is_done;
    VEC(struct drain_sum) items;
};

/* The totals of a sum in a continued recording; all of them, by thread, stack and kind. */
struct counted {
    uint64_t count, own_ns;
    int64_t end_ns;
};

struct counted_sums {
    struct map64 by_key;
    VEC(struct counted) items;
};

/* The kind of sum (enum annot_wire_sum_kind) of a sample set; 0: not a sum. */
unsigned counted_kind(const struct sample_set *set);

/* Adds a sample of the recording, in its order. 0 or -ENOMEM. */
int counted_note(struct counted_sums *sums, const struct sample *sample, unsigned kind);
void counted_fini(struct counted_sums *sums);

/* Passes on the increase of each sum since the last look, if that was a second ago or this is the
 * last one. 0 or -errno of the sink, -ENOMEM. */
int drain_sums(struct drain *drain, bool is_last);
void drain_forget_sums(struct drain *drain);

#endif
