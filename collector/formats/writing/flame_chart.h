/* SPDX-License-Identifier: MIT */
/* Spans made of the samples of a thread: its stack over time, as far as sampled.
 *
 * A function is open from the first sample that has it at its place in the stack to the first that
 * lacks it. While the thread waits, the functions that wait stay open. From the end of a wait to
 * the next sample, the functions on both stacks are open, or the outermost of the wait. A thread is
 * shown without a break until its end, so the outermost functions add up to the time that it ran,
 * waited and could have run (thread_states.h). If a recording has no waits, and the next sample is
 * more than two periods away, all functions end. Thread-safety: one thread per object. */
#ifndef ANNOT_FLAME_CHART_H
#define ANNOT_FLAME_CHART_H

#include "chosen_frames.h"
#include "export.h"
#include "sample.h"
#include "stacks.h"
#include "trace.h"

/* The label of samples without a stack. */
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
    bool waits; /* the recording has all waits */
    uint32_t thread_count;
    int64_t to_ns; /* end of the known time */
};

/* At most size - 1 bytes and NUL: call_label, or "[no stack]". Returns the length. */
size_t flame_chart_label(const struct trace *trace, uint32_t label, const char *prefixes,
                         char *buffer, size_t size);

/* The pointers of the job must outlive the chart. 0 or -ENOMEM; then call fini all the same. */
int flame_chart_init(struct flame_chart *chart, const struct export_job *job,
                     const struct flame_chart_sink *sink);
void flame_chart_fini(struct flame_chart *chart);

/* Samples of a thread in order of their time; then once finish. 0 or -errno. */
int flame_chart_add(struct flame_chart *chart, const struct sample *sample);
int flame_chart_finish(struct flame_chart *chart);

#endif
