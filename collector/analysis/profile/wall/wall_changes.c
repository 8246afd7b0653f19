/* SPDX-License-Identifier: MIT */
/* Lists the changes of threads. See wall_changes.h. */
#include "wall_changes.h"

#include <stdlib.h>

/* ---- Lives ----------------------------------------------------------------------------------- */

/* A main thread lives as long as its process, other threads from the first to the last sign of
 * them. */
static struct life life_of(const struct wall_threads *threads, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(threads->trace, ordinal);
    const struct trace_process *process = trace_process_get(threads->trace, thread->process);
    struct life life = threads->lives[ordinal];
    bool wanted = pass_selects_thread(threads->selection, ordinal);
    if (thread->first_ns)
        wall_see(&life, thread->first_ns, thread->last_ns);
    if (wall_is_main(threads->trace, thread)) {
        int64_t begin_ns = process->start_ns ? process->start_ns : threads->begin_ns;
        int64_t end_ns =
            process->end != PROCESS_RUNNING && process->end_ns ? process->end_ns : threads->end_ns;
        wall_see(&life, begin_ns, end_ns);
    }
    life.begin_ns = life.begin_ns > threads->begin_ns ? life.begin_ns : threads->begin_ns;
    life.end_ns = life.end_ns < threads->end_ns ? life.end_ns : threads->end_ns;
    return wanted ? life : (struct life){0};
}

/* ---- Changes --------------------------------------------------------------------------------- */

static int add_change(struct wall_threads *threads, int64_t time_ns, uint32_t thread,
                      enum state state, size_t stretch)
{
    /* Order at equal times: a thread runs between a wait and the next one; its start is first, its
     * end last. */
    static const uint8_t orders[] = {[ABSENT] = 6, [RUNNING] = 3,   [BLOCKED] = 4,
                                     [READY] = 5,  [PART_ENDS] = 1, [PART_BEGINS] = 2};
    struct change change = {.time_ns = time_ns,
                            .thread = thread,
                            .stretch = (uint32_t)stretch,
                            .state = (uint8_t)state,
                            .order = orders[state]};
    return vec_push(&threads->changes, change);
}

/* Adds start and end; if only one range was recorded, its times in that process. */
static int add_life(struct wall_threads *threads, uint32_t thread)
{
    const struct life life = threads->lives[thread];
    const struct trace_capture all = {
        .process = trace_thread_get(threads->trace, thread)->process, INT64_MIN, INT64_MAX};
    const struct trace_capture *capture = &all;
    size_t count = 1;
    int error = 0;
    if (trace_captures(threads->trace) == CAPTURES_KNOWN)
        capture = trace_captures_from(threads->trace, all.process, life.begin_ns, &count);
    for (; count > 0 && capture->process == all.process && !error; capture++, count--) {
        int64_t from_ns = capture->from_ns > life.begin_ns ? capture->from_ns : life.begin_ns;
        int64_t to_ns = capture->to_ns < life.end_ns ? capture->to_ns : life.end_ns;
        if (from_ns >= to_ns)
            break;
        error = add_change(threads, from_ns, thread, RUNNING, 0);
        if (!error)
            error = add_change(threads, to_ns, thread, ABSENT, 0);
    }
    return error;
}

static int add_lives(struct wall_threads *threads)
{
    int error = 0;
    for (uint32_t i = 0; i < threads->count && !error; i++) {
        threads->lives[i] = life_of(threads, i);
        if (threads->lives[i].end_ns > threads->lives[i].begin_ns)
            error = add_life(threads, i);
    }
    return error;
}

static int add_stretches(struct wall_threads *threads)
{
    int error = 0;
    for (size_t i = 0; i < threads->stretches.count && !error; i++) {
        const struct stretch *stretch = &threads->stretches.items[i];
        uint32_t thread = stretch->thread;
        if (threads->lives[thread].end_ns <= threads->lives[thread].begin_ns)
            continue;
        if (stretch->wake_ns > stretch->begin_ns)
            error = add_change(threads, stretch->begin_ns, thread, BLOCKED, i + 1);
        if (!error && stretch->end_ns > stretch->wake_ns)
            error = add_change(threads, stretch->wake_ns, thread, READY, 0);
        if (!error && stretch->end_ns < threads->lives[thread].end_ns)
            error = add_change(threads, stretch->end_ns, thread, RUNNING, 0);
    }
    return error;
}

static int by_thread(uint32_t a, uint32_t b, int64_t a_ns, int64_t b_ns)
{
    if (a != b)
        return a < b ? -1 : 1;
    return a_ns < b_ns ? -1 : a_ns > b_ns;
}

static int stretches_by_thread(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    return by_thread(a->thread, b->thread, a->begin_ns, b->begin_ns);
}

static int intervals_by_thread(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    return by_thread(a->thread, b->thread, a->begin_ns, b->begin_ns);
}

/* Returns the time of the interval in which its thread was outside of the stretches from `*at`
 * on. */
static uint64_t outside_of_stretches(const struct wall_threads *threads,
                                     const struct interval *interval, size_t *at)
{
    const struct stretch *items = threads->stretches.items;
    uint64_t outside_ns = (uint64_t)interval->end_ns - (uint64_t)interval->begin_ns;
    while (*at < threads->stretches.count && by_thread(items[*at].thread, interval->thread,
                                                       items[*at].end_ns, interval->begin_ns) <= 0)
        ++*at;
    for (size_t i = *at; i < threads->stretches.count && items[i].thread == interval->thread &&
                         items[i].begin_ns < interval->end_ns;
         i++) {
        int64_t from_ns = items[i].begin_ns, to_ns = items[i].end_ns;
        from_ns = from_ns > interval->begin_ns ? from_ns : interval->begin_ns;
        to_ns = to_ns < interval->end_ns ? to_ns : interval->end_ns;
        uint64_t inside_ns = to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;
        outside_ns = inside_ns < outside_ns ? outside_ns - inside_ns : 0;
    }
    return outside_ns;
}

static int add_intervals(struct wall_threads *threads)
{
    size_t at = 0;
    int error = 0;
    if (threads->intervals.count == 0)
        return 0;
    if (threads->stretches.count > 0)
        qsort(threads->stretches.items, threads->stretches.count, sizeof(struct stretch),
              stretches_by_thread);
    qsort(threads->intervals.items, threads->intervals.count, sizeof(struct interval),
          intervals_by_thread);
    for (size_t i = 0; i < threads->intervals.count && !error; i++) {
        struct interval *interval = &threads->intervals.items[i];
        double outside = (double)outside_of_stretches(threads, interval, &at);
        double waits = (double)interval->blocked_ns + (double)interval->ready_ns;
        interval->part = waits < outside ? 1 - waits / outside : 0;
        error = add_change(threads, interval->begin_ns, interval->thread, PART_BEGINS, i + 1);
        if (!error)
            error = add_change(threads, interval->end_ns, interval->thread, PART_ENDS, i + 1);
    }
    return error;
}

static int in_time(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (int)a->order - (int)b->order;
}

int wall_changes_list(struct wall_threads *threads)
{
    int error = add_lives(threads);
    if (!error)
        error = add_intervals(threads);
    if (!error)
        error = add_stretches(threads);
    if (!error && threads->changes.count > 0)
        qsort(threads->changes.items, threads->changes.count, sizeof(*threads->changes.items),
              in_time);
    return error;
}
