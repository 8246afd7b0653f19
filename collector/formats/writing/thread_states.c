/* SPDX-License-Identifier: MIT */
/* See thread_states.h. Each thread keeps the time from which it runs, and the last known time. */
#include "thread_states.h"

#include "export_facts.h"

#include <errno.h>
#include <stdlib.h>

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
    bool told = entry->serial == 0 && entry->last_ns > entry->first_ns; /* has no annotations */
    int64_t seen_ns = told ? entry->last_ns : last_ns + 2 * period_ns;
    if (entry->last_ns > seen_ns)
        seen_ns = entry->last_ns;
    bool silent = runs && seen_ns + period_ns < limit_ns;
    return (told && seen_ns < limit_ns) || silent ? seen_ns : end_ns;
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
