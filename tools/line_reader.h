/* SPDX-License-Identifier: MIT */
/* From a recording to lines, in order of time: events of all threads, finished ranges, begins and
 * ends of processes and threads, samples.
 *
 * A pass of read/pass.h does the work; what the trace alone knows is put in between. An end that no
 * event tells (the process was killed, recording stopped) is a line as well, flagged; those of
 * overlapping ranges and ranges on tracks come at the end, with the time that they have.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_READER_H
#define ANNOT_LINE_READER_H

#include "line_sink.h"

struct line_reader_options {
    struct pass_source source; /* without next_samples if none are wanted */
    struct pass_selection selection;
    struct line_sink sink; /* its trace is the source's */
};

struct line_reader;

/* What the options point to outlives the object. 0, or -ENOMEM: destroy it all the same, also if it
 * is NULL. */
int line_reader_create(const struct line_reader_options *options, struct line_reader **ret_reader);
void line_reader_destroy(struct line_reader *reader);

/* Live: all lines before this, as nothing earlier will come. 0, -errno, or what `put` returned. */
int line_reader_run(struct line_reader *reader, int64_t settled_ns);

/* No more will come: all lines, or the rest of them. */
int line_reader_finish(struct line_reader *reader);

/* Lines that stand behind later ones, because too much was under way. */
uint64_t line_reader_late_count(const struct line_reader *reader);

#endif
