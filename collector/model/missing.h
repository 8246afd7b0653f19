/* SPDX-License-Identifier: MIT */
/* What a recording lost, and API calls that had no or only part of their effect: for every output,
 * in one order and wording.
 *
 * Thread-safety: reads the trace only. */
#ifndef ANNOT_MODEL_MISSING_H
#define ANNOT_MODEL_MISSING_H

#include "trace.h"

enum missing_kind {
    MISSING_RECORDS,   /* lost records, by cause */
    MISSING_SAMPLED,   /* losses of the sampler: facts of kind FACT_LOSS */
    MISSING_QUEUED,    /* queued work without a span, or without its times: by enum queued */
    MISSING_PROCESSES, /* processes that could not take part */
    MISSING_CALLS,     /* remarkable calls, by enum misuse */
    MISSING_KINDS,
};

struct missing {
    enum missing_kind kind;
    const char *what; /* "buffer full", "names left out (the name table is full)" */
    uint64_t count;   /* never 0 */
};

typedef void missing_visitor(void *context, const struct missing *missing);

/* Visits each entry once, by kind. An entry is valid during its call. `lost`: LOSS_COUNT sums by
 * cause, if the caller has more than the counts of the processes; or NULL. */
void missing_each(const struct trace *trace, const uint64_t *lost, missing_visitor *visit,
                  void *context);

enum { MISSING_LABEL_SIZE = 256 };

/* Label that needs no context of a table: "lost: buffer full". Returns the length. */
size_t missing_label(const struct missing *missing, char label[MISSING_LABEL_SIZE]);

/* "by eBPF", "by remote reads", "not": for sentences. */
const char *sampling_rung_text(unsigned rung);

/* The call, and its consequence in parentheses. Static text. */
const char *misuse_name(enum misuse misuse);

/* Sums over all processes, by enum queued. The entry QUEUED_REPORTED holds the work launched but
 * never reported, added up by process. */
void queued_sums(const struct trace *trace, uint64_t ret_counts[QUEUED_COUNT]);

/* True if an entry other than QUEUED_LAUNCHED is not 0. */
bool queued_any(const struct trace *trace);

/* Sums over all processes. Returns the number of calls that lost a name, a part of a name or
 * values; the other calls had no data to lose. */
uint64_t misuse_sums(const struct trace *trace, uint64_t ret_counts[MISUSE_COUNT]);

#endif
