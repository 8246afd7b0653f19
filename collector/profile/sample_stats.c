/* SPDX-License-Identifier: MIT */
/* Sums behind sample_stats.h. Thread-safety: none. */
#include "sample_stats.h"

#include <errno.h>
#include <stdlib.h>

int sample_stats_init(struct sample_stats *stats, const struct trace *trace)
{
    *stats = (struct sample_stats){.sets = trace_sets_get(trace),
                                   .thread_count = trace_thread_count(trace)};
    stats->threads = calloc((size_t)stats->thread_count + 1, sizeof(*stats->threads));
    return stats->threads ? 0 : -ENOMEM;
}

void sample_stats_fini(struct sample_stats *stats)
{
    free(stats->threads);
    *stats = (struct sample_stats){0};
}

static void add_share(struct thread_share *share, const struct thread_share *more)
{
    share->cpu_ns += more->cpu_ns;
    share->sample_count += more->sample_count;
    share->runnable_ns += more->runnable_ns;
    share->blocked_ns += more->blocked_ns;
    share->gc_ns += more->gc_ns;
    share->gil_ns += more->gil_ns;
}

static unsigned known_end(unsigned end)
{
    return end < STACK_END_COUNT ? end : STACK_NOT_WALKED;
}

/* A thread that the interpreter does not know runs no Python: nothing of it is missing. */
static bool is_whole(const struct sample *sample, unsigned native, unsigned python)
{
    return (native == STACK_COMPLETE || native == STACK_NOT_WALKED) &&
           (python == STACK_COMPLETE || python == STACK_NOT_WALKED || python == STACK_NO_THREAD) &&
           sample->stack != 0;
}

static void add_walk(struct sample_stats *stats, const struct sample *sample)
{
    unsigned native = known_end(sample->native_end), python = known_end(sample->python_end);
    stats->ends[0][native]++;
    stats->ends[1][python]++;
    stats->walk_count++;
    stats->complete_count += is_whole(sample, native, python);
}

static void add_wait(struct wait_share *wait, uint64_t time_ns)
{
    wait->count += time_ns > 0;
    wait->total_ns += time_ns;
    if (time_ns > wait->max_ns)
        wait->max_ns = time_ns;
}

static struct thread_share share_of_stretch(struct sample_stats *stats, const struct sample *sample)
{
    struct off_share off = sample_off_share(stats->sets, sample);
    struct thread_share share = {.runnable_ns = off.runnable_ns, .blocked_ns = off.blocked_ns};
    unsigned reason = sample->reason < WAIT_REASON_COUNT ? sample->reason : WAIT_UNKNOWN;
    add_wait(&stats->waits[reason], share.blocked_ns);
    add_wait(&stats->runnable, share.runnable_ns);
    stats->stretch_count++;
    return share;
}

void sample_stats_add(struct sample_stats *stats, const struct sample *sample)
{
    struct thread_share share;
    enum sample_role role = sample_role(stats->sets, sample);
    if (role == SAMPLE_ROLE_OTHER)
        return;
    if (role == SAMPLE_ROLE_OFF_CPU) {
        share = share_of_stretch(stats, sample);
    } else {
        uint64_t cpu_ns = sample_cpu_ns(stats->sets, sample);
        share = (struct thread_share){.cpu_ns = cpu_ns, .sample_count = 1};
        share.gc_ns = sample->flags & SAMPLE_GC ? cpu_ns : 0;
        share.gil_ns = sample->flags & SAMPLE_HOLDS_GIL ? cpu_ns : 0;
        add_walk(stats, sample);
    }
    add_share(&stats->all, &share);
    if (sample->thread < stats->thread_count)
        add_share(&stats->threads[sample->thread], &share);
}
