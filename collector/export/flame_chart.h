/* SPDX-License-Identifier: MIT */
/* Spans made of consecutive samples of a thread: what was on the stack, as far as samples tell.
 *
 * A function is open from the first sample that has it at its place in the stack to the first that
 * has not. Where the next sample is more than two periods away, and where the thread left the CPU,
 * everything ends. Thread-safety: none. */
#ifndef ANNOT_FLAME_CHART_H
#define ANNOT_FLAME_CHART_H

#include "sample.h"
#include "stacks.h"
#include "trace.h"

struct flame_chart_event {
    uint32_t thread;
    uint32_t label;
    int64_t time_ns;
};

/* Inner slices end before outer ones; times of a thread never go back. 0 or -errno. */
struct flame_chart_sink {
    int (*begin)(void *context, const struct flame_chart_event *event);
    int (*end)(void *context, const struct flame_chart_event *event);
    void *context;
};

struct flame_chart {
    const struct trace *trace;
    struct flame_chart_sink sink;
    struct flame_thread *threads;
    bool python; /* Python functions only (call_python_frames); false after init */
    uint32_t thread_count;
};

/* `trace` outlives the chart. 0 or -ENOMEM; then call fini all the same. */
int flame_chart_init(struct flame_chart *chart, const struct trace *trace,
                     const struct flame_chart_sink *sink);
void flame_chart_fini(struct flame_chart *chart);

/* Samples of a thread in order of their time; then once finish. 0 or -errno. */
int flame_chart_add(struct flame_chart *chart, const struct sample *sample);
int flame_chart_finish(struct flame_chart *chart);

#endif
