/* SPDX-License-Identifier: MIT */
/* Calls and lines that a program counts: the sums in blocks of its threads, and the samples that
 * they become. Thread-safety: one thread per object. */
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
    COUNTED_VALUES = 2, /* how often, and the time in it */
    DRAIN_SUM_KINDS = ANNOT_WIRE_SUM_CALLEES + 1,
};

/* A sum, as it is in the recording. */
struct drain_sum {
    uint32_t stack; /* 0: it makes no sense */
    uint16_t depth; /* of it */
    uint16_t set;   /* 0: it is not told */
    uint64_t count, own_ns;
    int64_t begin_ns; /* of what is new */
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

/* What a recording that is continued has of a sum; all of these, by thread, stack and kind. */
struct counted {
    uint64_t count, own_ns;
    int64_t end_ns;
};

struct counted_sums {
    struct map64 by_key;
    VEC(struct counted) items;
};

/* What kind of sum (enum annot_wire_sum_kind) samples of a set are; 0: of none. */
unsigned counted_kind(const struct sample_set *set);

/* Of a sample of the recording, in its order. 0 or -ENOMEM. */
int counted_note(struct counted_sums *sums, const struct sample *sample, unsigned kind);
void counted_fini(struct counted_sums *sums);

/* Hands on what sums have more than at the last look, if that was a second ago or this is the last
 * one. 0 or -errno of the sink, -ENOMEM. */
int drain_sums(struct drain *drain, bool is_last);
void drain_forget_sums(struct drain *drain);

#endif
