/* SPDX-License-Identifier: MIT */
/* What a recording says it does not have, and the calls that did not do what they say: for every
 * output, in one order and in the same words.
 *
 * Thread-safety: reads the trace only. */
#ifndef ANNOT_MODEL_MISSING_H
#define ANNOT_MODEL_MISSING_H

#include "trace.h"

enum missing_kind {
    MISSING_RECORDS,   /* lost records, by cause */
    MISSING_SAMPLED,   /* what the sampler lost: facts of kind FACT_LOSS */
    MISSING_QUEUED,    /* what queues did, and nobody knows, or not when: by enum queued */
    MISSING_PROCESSES, /* those that could not take part */
    MISSING_CALLS,     /* remarkable calls, by enum misuse */
    MISSING_KINDS,
};

struct missing {
    enum missing_kind kind;
    const char *what; /* "buffer full", "names left out (the name table is full)" */
    uint64_t count;   /* never 0 */
};

typedef void missing_visitor(void *context, const struct missing *missing);

/* Each once, by kind. An entry is valid during its call. `lost`: LOSS_COUNT sums by cause, where
 * the caller knows more than what processes counted; or NULL. */
void missing_each(const struct trace *trace, const uint64_t *lost, missing_visitor *visit,
                  void *context);

enum { MISSING_LABEL_SIZE = 256 };

/* What it is without the rest of its table: "lost: buffer full". Returns the length. */
size_t missing_label(const struct missing *missing, char label[MISSING_LABEL_SIZE]);

/* "by eBPF", "by remote reads", "not": for sentences. */
const char *sampling_rung_text(unsigned rung);

/* What a call did, and in parentheses what became of it. Static text. */
const char *misuse_name(enum misuse misuse);

/* All processes together: of enum queued, and in place of QUEUED_TOLD what was launched and never
 * told, by process. */
void queued_sums(const struct trace *trace, uint64_t ret_counts[QUEUED_COUNT]);

/* Whether anything of that is not 0 but what was launched. */
bool queued_any(const struct trace *trace);

/* All processes together. Returns how many calls lost something: a name, a part of a name, values;
 * the others lost nothing that was there. */
uint64_t misuse_sums(const struct trace *trace, uint64_t ret_counts[MISUSE_COUNT]);

#endif
