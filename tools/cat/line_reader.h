/* SPDX-License-Identifier: MIT */
/* Lines from a recording. Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_READER_H
#define ANNOT_LINE_READER_H

#include "line.h"
#include "pass.h"

#include <stdbool.h>
#include <stdint.h>

struct line_reader;

/* Where they go. */
struct line_sink {
    const struct trace *trace;
    bool complete; /* ranges as one line at their end; no begins, no ends without a begin */
    /* A nonzero result ends the pass and is returned. */
    int (*put)(void *context, const struct line *line);
    void *context;
};

struct line_reader_options {
    struct pass_source source; /* without next_samples if none are wanted */
    struct pass_selection selection;
    struct line_sink sink; /* its trace is the source's */
};

/* What the options point to outlives the object. 0, or -ENOMEM: destroy it all the same, also if it
 * is NULL. */
int line_reader_create(const struct line_reader_options *options, struct line_reader **ret_reader);
void line_reader_destroy(struct line_reader *reader);

/* Live: all lines before this, as nothing earlier will come. 0, -errno, or what `put` returned. */
int line_reader_run(struct line_reader *reader, int64_t settled_ns);

/* No more will come: all lines, or the rest of them. */
int line_reader_finish(struct line_reader *reader);

/* Lines that are late: too much was under way, or, live, they came after `settled_ns` said that
 * nothing earlier would, as the ends of threads do. */
uint64_t line_reader_late_count(const struct line_reader *reader);

#endif
