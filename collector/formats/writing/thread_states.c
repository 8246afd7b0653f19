/* SPDX-License-Identifier: MIT */
/* See thread_states.h. Each thread keeps the time from which it runs, and the last known time. */
#include "thread_states.h"

#include "export_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND INT64_C(1000000000)

struct thread_life {
    int64_t run_ns;  /* since when it runs, if it runs */
    int64_t last_ns; /* last known time */
    bool seen, runs;
};

const char *thread_stretch_name(const struct thread_stretch *stretch)
{
    switch ((enum thread_doing)stretch->state) {
    case THREAD_RUNNING:
        return "running";
    case THREAD_RUNNABLE:
        return "runnable";
    case THREAD_WAITING:
    default:
        return wait_reason_name((enum wait_reason)stretch->wait->reason);
    }
}

bool thread_in_pieces(const struct pass_selection *selection)
{
    return selection->range || selection->flags;
}

int thread_states_init(struct thread_states *states, const struct trace *trace,
                       const struct pass_selection *selection,
                       const struct thread_states_sink *sink)
{
    *states = (struct thread_states){.trace = trace,
                                     .sink = *sink,
                                     .to_ns = selection->to_ns,
                                     .pieces = thread_in_pieces(selection)};
    states->thread_count = trace_thread_count(trace);
    states->threads = calloc(states->thread_count + 1u, sizeof(*states->threads));
    return states->threads ? 0 : -ENOMEM;
}

void thread_states_fini(struct thread_states *states)
{
    free(states->threads);
    *states = (struct thread_states){0};
}

/* ---- When threads end ------------------------------------------------------------------------ */

/* A running thread is sampled regularly: after its last sample and event it is taken to have
 * ended. */
int64_t thread_gone_ns(const struct trace *trace, uint32_t thread, int64_t last_ns, bool runs)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_process *process = trace_process_get(trace, entry->process);
    uint32_t frequency = sampling_slowest_hz(trace_sampling_get(trace));
    int64_t period_ns = NS_PER_SECOND / (frequency ? frequency : 1);
    int64_t end_ns = process && process->end != PROCESS_RUNNING ? process->end_ns : 0;
    int64_t limit_ns = end_ns > 0 ? end_ns : session_end_ns(trace);
    bool sampled = entry->serial == 0 && entry->last_ns > entry->first_ns; /* has no annotations */
    int64_t seen_ns = sampled ? entry->last_ns : last_ns + 2 * period_ns;
    if (entry->last_ns > seen_ns)
        seen_ns = entry->last_ns;
    bool silent = runs && seen_ns + period_ns < limit_ns;
    return (sampled && seen_ns < limit_ns) || silent ? seen_ns : end_ns;
}

int64_t thread_last_ns(const struct trace *trace, uint32_t thread, int64_t last_ns, int64_t to_ns)
{
    int64_t gone_ns = thread_gone_ns(trace, thread, last_ns, true);
    int64_t end_ns = gone_ns > 0 ? gone_ns : session_end_ns(trace);
    end_ns = end_ns < to_ns ? end_ns : to_ns;
    return end_ns > last_ns ? end_ns : last_ns;
}

/* ---- Stretches ------------------------------------------------------------------------------- */

static int put(struct thread_states *states, const struct thread_stretch *stretch)
{
    return stretch->begin_ns < stretch->end_ns ? states->sink.take(states->sink.context, stretch)
                                               : 0;
}

static int put_run(struct thread_states *states, uint32_t thread, int64_t end_ns)
{
    const struct thread_life *life = &states->threads[thread];
    const struct thread_stretch run = {thread, THREAD_RUNNING, life->run_ns, end_ns, NULL};
    return life->seen && life->runs && !states->pieces ? put(states, &run) : 0;
}

static int put_wait(struct thread_states *states, const struct sample *sample)
{
    struct thread_life *life = &states->threads[sample->thread];
    int64_t begin_ns = sample->time_ns, end_ns = sample->end_ns;
    if (life->seen && begin_ns < life->run_ns)
        begin_ns = life->run_ns;
    if (end_ns <= begin_ns)
        return 0;
    const struct sample_sets *sets = trace_sets_get(states->trace);
    int64_t ready_ns = sample->time_ns + (int64_t)sample_off_share(sets, sample).blocked_ns;
    ready_ns = ready_ns < begin_ns ? begin_ns : ready_ns > end_ns ? end_ns : ready_ns;
    int error = put_run(states, sample->thread, begin_ns);
    const struct thread_stretch parts[] = {
        {sample->thread, THREAD_WAITING, begin_ns, ready_ns, sample},
        {sample->thread, THREAD_RUNNABLE, ready_ns, end_ns, sample}};
    for (int i = 0; !error && i < 2; i++)
        error = put(states, &parts[i]);
    life->run_ns = end_ns;
    life->last_ns = end_ns > life->last_ns ? end_ns : life->last_ns;
    life->seen = true;
    life->runs = !(sample->flags & SAMPLE_UNFINISHED);
    return error;
}

int thread_states_add(struct thread_states *states, const struct sample *sample)
{
    if (sample->thread >= states->thread_count)
        return 0;
    enum sample_role role = sample_role(trace_sets_get(states->trace), sample);
    if (role == SAMPLE_ROLE_OFF_CPU)
        return put_wait(states, sample);
    struct thread_life *life = &states->threads[sample->thread];
    if (role != SAMPLE_ROLE_CPU)
        return 0;
    if (!life->seen)
        *life = (struct thread_life){sample->time_ns, sample->time_ns, true, true};
    if (sample->time_ns > life->last_ns)
        life->last_ns = sample->time_ns;
    return 0;
}

int thread_states_finish(struct thread_states *states)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < states->thread_count; i++) {
        const struct thread_life *life = &states->threads[i];
        if (life->seen && life->runs)
            error =
                put_run(states, i, thread_last_ns(states->trace, i, life->last_ns, states->to_ns));
    }
    return error;
}

/* ---- Order of samples ------------------------------------------------------------------------ */

/* Holding one sample is enough: late ones are tens of microseconds old. */

struct held_sample {
    struct sample sample;
    int64_t values[SAMPLE_VALUES_MAX];
    bool held;
};

int sample_order_init(struct sample_order *order, const struct trace *trace,
                      int (*take)(void *context, const struct sample *sample), void *context)
{
    *order = (struct sample_order){.sets = trace_sets_get(trace),
                                   .thread_count = trace_thread_count(trace),
                                   .take = take,
                                   .context = context};
    order->threads = calloc(order->thread_count + 1u, sizeof(*order->threads));
    return order->threads ? 0 : -ENOMEM;
}

void sample_order_fini(struct sample_order *order)
{
    free(order->threads);
    *order = (struct sample_order){0};
}

static int let_go(struct sample_order *order, struct held_sample *held)
{
    if (!held->held)
        return 0;
    held->held = false;
    return order->take(order->context, &held->sample);
}

static void hold(const struct sample_order *order, struct held_sample *held,
                 const struct sample *sample)
{
    uint8_t count = sample_set_get(order->sets, sample->set)->count;
    *held = (struct held_sample){.sample = *sample, .held = true};
    if (sample->values && count)
        memcpy(held->values, sample->values, count * sizeof(held->values[0]));
    held->sample.values = sample->values ? held->values : NULL;
}

int sample_order_add(struct sample_order *order, const struct sample *sample)
{
    if (sample->thread >= order->thread_count)
        return 0;
    struct held_sample *held = &order->threads[sample->thread];
    enum sample_role role = sample_role(order->sets, sample);
    bool goes_first =
        role == SAMPLE_ROLE_OFF_CPU && held->held && sample->end_ns <= held->sample.time_ns;
    int error = goes_first ? 0 : let_go(order, held);
    if (error)
        return error;
    if (role != SAMPLE_ROLE_CPU)
        return order->take(order->context, sample);
    hold(order, held, sample);
    return 0;
}

int sample_order_finish(struct sample_order *order)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < order->thread_count; i++)
        error = let_go(order, &order->threads[i]);
    return error;
}
