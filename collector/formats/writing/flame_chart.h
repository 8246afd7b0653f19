/* SPDX-License-Identifier: MIT */
/* Spans made of the samples of a thread: what was on its stack, as far as samples tell.
 *
 * A function is open from the first sample that has it at its place in the stack to the first that
 * has not. While the thread waits, the functions that wait stay open. From the end of a wait to
 * whatever is known next, those are open that are on both stacks, or the outermost of the wait. A
 * thread is shown without a break until its end, so the outermost functions add up to what it ran,
 * waited and could have run (thread_states.h). Where a recording has no waits, and the next sample
 * is more than two periods away, everything ends. Thread-safety: none. */
#ifndef ANNOT_FLAME_CHART_H
#define ANNOT_FLAME_CHART_H

#include "chosen_frames.h"
#include "export.h"
#include "sample.h"
#include "stacks.h"
#include "trace.h"

/* The label of samples that have no stack. */
enum { FLAME_CHART_NO_STACK = 0 };

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
    struct chosen_frames frames;
    bool waits; /* the recording has all of them */
    uint32_t thread_count;
    int64_t to_ns; /* what comes afterwards is not known */
};

/* At most size - 1 bytes and NUL: call_label, or "[no stack]". Returns the length. */
size_t flame_chart_label(const struct trace *trace, uint32_t label, const char *prefixes,
                         char *buffer, size_t size);

/* What the job points to outlives the chart. 0 or -ENOMEM; then call fini all the same. */
int flame_chart_init(struct flame_chart *chart, const struct export_job *job,
                     const struct flame_chart_sink *sink);
void flame_chart_fini(struct flame_chart *chart);

/* Samples of a thread in order of their time; then once finish. 0 or -errno. */
int flame_chart_add(struct flame_chart *chart, const struct sample *sample);
int flame_chart_finish(struct flame_chart *chart);

#endif
