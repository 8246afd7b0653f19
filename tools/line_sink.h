/* SPDX-License-Identifier: MIT */
/* From the items of a pass to lines. Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_SINK_H
#define ANNOT_LINE_SINK_H

#include "line.h"

struct line_sink {
    const struct trace *trace;
    bool complete; /* ranges as one line at their end; no begins, no ends without a begin */
    /* A nonzero result ends the pass and is returned. */
    int (*put)(void *context, const struct line *line);
    void *context;
};

/* What the pass is to be asked for; `samples`: those too. */
struct sink line_sink_of(struct line_sink *sink, bool samples);

#endif
