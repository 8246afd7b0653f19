/* SPDX-License-Identifier: MIT */
/* What every export tells about the recording as a whole: where and how it was made, what was
 * lost and why, which processes could not take part. Thread-safety: reads the trace only. */
#ifndef ANNOT_SESSION_FACTS_H
#define ANNOT_SESSION_FACTS_H

#include "trace.h"

struct fact {
    const char *name; /* "lost: buffer full" */
    enum value_kind kind;
    union value value;
    const char *text; /* VALUE_STRING: the text itself */
};

typedef void fact_visitor(void *context, const struct fact *fact);

/* In a fixed order; what is unknown or zero is left out. A fact is valid during its call. */
void session_facts(const struct trace *trace, fact_visitor *visit, void *context);

/* What people call the recording: the command it recorded, else its host. Never empty. */
const char *session_title(const struct trace *trace);

/* The end of the session; of the last event if the collector died before. CLOCK_MONOTONIC. */
int64_t session_end_ns(const struct trace *trace);

#endif
