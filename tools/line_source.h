/* SPDX-License-Identifier: MIT */
/* From a recording to lines, in order of time: events of all threads, finished ranges, begins and
 * ends of processes and threads, samples.
 *
 * Begins and ends are paired by model/slices, as in every other output. An end that no event tells
 * (the process was killed, recording stopped) is a line as well, flagged; those of overlapping
 * ranges and ranges on tracks come at the end, with the time that they have. Streams: memory is
 * that of event_order and sample_order. Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_SOURCE_H
#define ANNOT_LINE_SOURCE_H

#include "event_select.h"
#include "line.h"
#include "sample_order.h"

struct line_source_options {
    const struct trace *trace;
    struct event_order_source events;
    struct sample_order_source samples; /* next NULL: none are wanted */
    const struct event_selection *selection;
    bool complete; /* ranges as one line at their end, no begins */
    bool live;     /* more may come: line_source_settle */
    /* A nonzero result ends the reading and is returned. */
    int (*put)(void *context, const struct line *line);
    void *context;
};

struct line_source;

/* What the options point to outlives the object. 0, or -ENOMEM: destroy it all the same, also if it
 * is NULL. */
int line_source_create(const struct line_source_options *options, struct line_source **ret_source);
void line_source_destroy(struct line_source *source);

/* Live: nothing before this will come. */
void line_source_settle(struct line_source *source, int64_t settled_ns);

/* All lines there are; of a live source those that are settled. 0, -errno, or what `put` returned.
 */
int line_source_run(struct line_source *source);

/* No more will come: the rest of the lines. */
int line_source_finish(struct line_source *source);

/* Lines that stand behind later ones, because too much was under way. */
uint64_t line_source_late_count(const struct line_source *source);

#endif
