/* SPDX-License-Identifier: MIT */
/* Lines from a recording. Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_READER_H
#define ANNOT_LINE_READER_H

#include "line.h"
#include "pass.h"

#include <stdbool.h>
#include <stdint.h>

struct line_reader;

/* Receives the lines. */
struct line_sink {
    const struct trace *trace;
    bool complete; /* ranges as one line at their end; no begins, no ends without a begin */
    /* A nonzero result ends the pass and is returned. */
    int (*put)(void *context, const struct line *line);
    void *context;
};

struct line_reader_options {
    struct pass_source source; /* without next_samples to skip samples */
    struct pass_selection selection;
    struct line_sink sink; /* with the trace of the source */
};

/* The objects in the options must outlive the reader. 0 or -ENOMEM: destroy it in either case; it
 * may be NULL. */
int line_reader_create(const struct line_reader_options *options, struct line_reader **ret_reader);
void line_reader_destroy(struct line_reader *reader);

/* Live: puts all lines before `settled_ns`, before which no event is missing. 0, -errno, or the
 * result of `put`. */
int line_reader_run(struct line_reader *reader, int64_t settled_ns);

/* The recording has ended: puts all remaining lines. */
int line_reader_finish(struct line_reader *reader);

/* Number of late lines: too many events were in flight, or, live, they arrived after `settled_ns`,
 * as the ends of threads do. */
uint64_t line_reader_late_count(const struct line_reader *reader);

#endif
