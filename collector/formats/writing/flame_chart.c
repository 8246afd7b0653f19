/* SPDX-License-Identifier: MIT */
/* Each thread keeps the open functions, from the root. Those open after a wait are known with the
 * next sample only; until then, those of the wait stay open. */
#include "flame_chart.h"

#include "call_label.h"
#include "export.h"
#include "stacks.h"
#include "thread_states.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH_MAX = 2048, GAP_PERIODS = 2 };

struct flame_thread {
    VEC(uint32_t) open; /* labels */
    int64_t last_ns;    /* up to which its stack is known */
    int64_t period_ns;
    bool seen, waited; /* waited: `open` is the stack of a wait, which ended at last_ns */
    bool gone;         /* it has ended */
};

/* Labels from the root. */
struct functions {
    uint32_t labels[DEPTH_MAX];
    uint32_t count;
};

int flame_chart_init(struct flame_chart *chart, const struct export_job *job,
                     const struct flame_chart_sink *sink)
{
    const struct trace *trace = job->source->trace;
    *chart = (struct flame_chart){.trace = trace, .sink = *sink, .to_ns = job->selection->to_ns};
    chart->waits = trace_sampling_get(trace)->off_cpu && !thread_in_pieces(job->selection);
    chart->thread_count = trace_thread_count(trace);
    chart->threads = calloc(chart->thread_count + 1u, sizeof(*chart->threads));
    int error = chosen_frames_init(&chart->frames, trace, export_frames(job->options));
    return chart->threads ? error : -ENOMEM;
}

void flame_chart_fini(struct flame_chart *chart)
{
    for (uint32_t i = 0; chart->threads && i < chart->thread_count; i++)
        vec_free(&chart->threads[i].open);
    free(chart->threads);
    chosen_frames_fini(&chart->frames);
    *chart = (struct flame_chart){0};
}

size_t flame_chart_label(const struct trace *trace, uint32_t label, const char *prefixes,
                         char *buffer, size_t size)
{
    if (label == FLAME_CHART_NO_STACK)
        return (size_t)snprintf(buffer, size, "[no stack]");
    return call_label(trace, label, prefixes, buffer, size);
}

/* ---- Open functions -------------------------------------------------------------------------- */

static int end_down_to(struct flame_chart *chart, uint32_t thread, size_t depth, int64_t time_ns)
{
    struct flame_thread *state = &chart->threads[thread];
    int error = 0;
    while (!error && state->open.count > depth) {
        uint32_t label = state->open.items[--state->open.count];
        const struct flame_chart_event event = {thread, label, time_ns};
        error = chart->sink.end(chart->sink.context, &event);
    }
    return error;
}

static void find_functions(struct flame_chart *chart, uint32_t stack, struct functions *functions)
{
    const struct stacks *stacks = trace_stacks_get(chart->trace);
    uint32_t *labels = functions->labels;
    uint32_t count = chosen_frames_get(&chart->frames, stack, labels, DEPTH_MAX);
    for (uint32_t i = 0; i < count; i++)
        labels[i] = stacks_get_frame(stacks, labels[i])->label;
    if (count == 0)
        labels[count++] = FLAME_CHART_NO_STACK;
    functions->count = count;
}

static uint32_t count_same(const struct flame_thread *state, const struct functions *functions)
{
    uint32_t same = 0;
    while (same < functions->count && same < state->open.count &&
           state->open.items[same] == functions->labels[same])
        same++;
    return same;
}

/* Makes exactly these functions open from then on. */
static int change_to(struct flame_chart *chart, uint32_t thread, const struct functions *functions,
                     int64_t time_ns)
{
    struct flame_thread *state = &chart->threads[thread];
    uint32_t same = count_same(state, functions);
    int error = end_down_to(chart, thread, same, time_ns);
    for (uint32_t i = same; !error && i < functions->count; i++) {
        const struct flame_chart_event event = {thread, functions->labels[i], time_ns};
        error = vec_push(&state->open, event.label);
        if (!error)
            error = chart->sink.begin(chart->sink.context, &event);
    }
    return error;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* End of the open functions without a sample before `until_ns`. */
static int64_t end_of_known(const struct flame_thread *state, int64_t until_ns)
{
    int64_t end_ns = state->last_ns + state->period_ns;
    return end_ns < until_ns ? end_ns : until_ns;
}

/* `next` is the next known stack. */
static int end_wait(struct flame_chart *chart, uint32_t thread, const struct functions *next)
{
    struct flame_thread *state = &chart->threads[thread];
    uint32_t same = count_same(state, next);
    if (!state->waited)
        return 0;
    state->waited = false;
    return end_down_to(chart, thread, same ? same : 1, state->last_ns);
}

/* `period_ns` of the current sample: the rate may fall during a recording. */
static int end_gap(struct flame_chart *chart, uint32_t thread, int64_t now_ns, int64_t period_ns)
{
    const struct flame_thread *state = &chart->threads[thread];
    int64_t longer_ns = period_ns > state->period_ns ? period_ns : state->period_ns;
    bool near = now_ns - state->last_ns <= GAP_PERIODS * longer_ns;
    return chart->waits || near ? 0 : end_down_to(chart, thread, 0, end_of_known(state, now_ns));
}

static int add_running(struct flame_chart *chart, const struct sample *sample)
{
    struct flame_thread *state = &chart->threads[sample->thread];
    struct functions functions;
    int64_t now_ns = sample->time_ns;
    if (state->seen && now_ns < state->last_ns)
        return 0; /* out of order: there is no place to draw it */
    find_functions(chart, sample->stack, &functions);
    int64_t period_ns = (int64_t)sample_cpu_ns(trace_sets_get(chart->trace), sample);
    int error = end_gap(chart, sample->thread, now_ns, period_ns);
    if (!error)
        error = end_wait(chart, sample->thread, &functions);
    if (!error)
        error = change_to(chart, sample->thread, &functions, now_ns);
    state->seen = true;
    state->gone = false;
    state->last_ns = now_ns;
    state->period_ns = period_ns;
    return error;
}

static int add_wait(struct flame_chart *chart, const struct sample *sample)
{
    struct flame_thread *state = &chart->threads[sample->thread];
    struct functions functions;
    int64_t begin_ns = sample->time_ns;
    if (state->seen && begin_ns < state->last_ns)
        begin_ns = state->last_ns;
    if (sample->end_ns <= begin_ns)
        return 0;
    find_functions(chart, sample->stack, &functions);
    int error = end_wait(chart, sample->thread, &functions);
    if (!error)
        error = change_to(chart, sample->thread, &functions, begin_ns);
    state->seen = state->waited = true;
    state->gone = sample->flags & SAMPLE_UNFINISHED;
    state->last_ns = sample->end_ns;
    return error;
}

int flame_chart_add(struct flame_chart *chart, const struct sample *sample)
{
    if (sample->thread >= chart->thread_count)
        return 0;
    enum sample_role role = sample_role(trace_sets_get(chart->trace), sample);
    if (role == SAMPLE_ROLE_CPU)
        return add_running(chart, sample);
    return role == SAMPLE_ROLE_OFF_CPU ? add_wait(chart, sample) : 0;
}

static int finish_thread(struct flame_chart *chart, uint32_t thread)
{
    const struct flame_thread *state = &chart->threads[thread];
    static const struct functions no_functions;
    if (!chart->waits && !state->waited)
        return end_down_to(chart, thread, 0, end_of_known(state, INT64_MAX));
    if (!chart->waits || state->gone)
        return end_down_to(chart, thread, 0, state->last_ns);
    int error = end_wait(chart, thread, &no_functions);
    if (error || !state->seen)
        return error;
    int64_t end_ns = thread_last_ns(chart->trace, thread, state->last_ns, chart->to_ns);
    return end_down_to(chart, thread, 0, end_ns);
}

int flame_chart_finish(struct flame_chart *chart)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < chart->thread_count; i++)
        error = finish_thread(chart, i);
    return error;
}
