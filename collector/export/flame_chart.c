/* SPDX-License-Identifier: MIT */
/* Each thread keeps the functions that are open, from the root. */
#include "flame_chart.h"

#include "call_label.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>

enum { DEPTH_MAX = 2048, GAP_PERIODS = 2 };

struct flame_thread {
    VEC(uint32_t) open; /* labels */
    int64_t last_ns;    /* of the last sample */
    int64_t period_ns;
};

int flame_chart_init(struct flame_chart *chart, const struct trace *trace,
                     const struct flame_chart_sink *sink)
{
    *chart = (struct flame_chart){.trace = trace, .sink = *sink};
    chart->thread_count = trace_thread_count(trace);
    chart->threads = calloc(chart->thread_count + 1u, sizeof(*chart->threads));
    return chart->threads ? 0 : -ENOMEM;
}

void flame_chart_fini(struct flame_chart *chart)
{
    for (uint32_t i = 0; chart->threads && i < chart->thread_count; i++)
        vec_free(&chart->threads[i].open);
    free(chart->threads);
    *chart = (struct flame_chart){0};
}

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

/* When what is open ends if nothing is known before `until_ns`. */
static int64_t end_of_known(const struct flame_thread *state, int64_t until_ns)
{
    int64_t end_ns = state->last_ns + state->period_ns;
    return end_ns < until_ns ? end_ns : until_ns;
}

static int add_running(struct flame_chart *chart, const struct sample *sample)
{
    const struct stacks *stacks = trace_stacks_get(chart->trace);
    struct flame_thread *state = &chart->threads[sample->thread];
    uint32_t frames[DEPTH_MAX];
    uint32_t count = stacks_frames(stacks, sample->stack, frames, DEPTH_MAX);
    int64_t now = sample->time_ns;
    if (chart->python)
        count = call_python_frames(stacks, frames, count);
    int error = 0;
    if (state->open.count > 0 && now < state->last_ns)
        return 0; /* not in order: nothing to draw it between */
    if (now - state->last_ns > GAP_PERIODS * state->period_ns)
        error = end_down_to(chart, sample->thread, 0, end_of_known(state, now));
    uint32_t same = 0;
    while (same < count && same < state->open.count &&
           state->open.items[same] == stacks_get_frame(stacks, frames[same])->label)
        same++;
    if (!error)
        error = end_down_to(chart, sample->thread, same, now);
    for (uint32_t i = same; !error && i < count; i++) {
        uint32_t label = stacks_get_frame(stacks, frames[i])->label;
        error = vec_push(&state->open, label);
        const struct flame_chart_event event = {sample->thread, label, now};
        if (!error)
            error = chart->sink.begin(chart->sink.context, &event);
    }
    state->last_ns = now;
    state->period_ns = (int64_t)sample_cpu_ns(trace_sets_get(chart->trace), sample);
    return error;
}

int flame_chart_add(struct flame_chart *chart, const struct sample *sample)
{
    if (sample->thread >= chart->thread_count)
        return 0;
    enum sample_role role = sample_role(trace_sets_get(chart->trace), sample);
    if (role == SAMPLE_ROLE_CPU)
        return add_running(chart, sample);
    struct flame_thread *state = &chart->threads[sample->thread];
    if (role != SAMPLE_ROLE_OFF_CPU || sample->time_ns < state->last_ns)
        return 0;
    bool near = sample->time_ns - state->last_ns <= GAP_PERIODS * state->period_ns;
    return end_down_to(chart, sample->thread, 0,
                       near ? sample->time_ns : end_of_known(state, sample->time_ns));
}

int flame_chart_finish(struct flame_chart *chart)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < chart->thread_count; i++)
        error = end_down_to(chart, i, 0, end_of_known(&chart->threads[i], INT64_MAX));
    return error;
}
