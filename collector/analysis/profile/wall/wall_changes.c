/* SPDX-License-Identifier: MIT */
/* Lists the times at which threads begin, wait, become ready, run again and end. */
#include "wall_changes.h"

#include "trace.h"

#include <stdlib.h>

/* ---- Lives ----------------------------------------------------------------------------------- */

/* A main thread lives as long as its process, other threads from the first to the last sign of
 * them. */
static struct life life_of(const struct wall *wall, uint32_t ordinal)
{
    const struct wall_totals *totals = &wall->totals;
    const struct trace_thread *thread = trace_thread_get(wall->trace, ordinal);
    const struct trace_process *process = trace_process_get(wall->trace, thread->process);
    struct life life = wall->lives[ordinal];
    bool wanted = pass_selects_thread(wall->selection, ordinal);
    if (thread->first_ns)
        wall_see(&life, thread->first_ns, thread->last_ns);
    if (wall_is_main(wall->trace, thread)) {
        int64_t begin_ns = process->start_ns ? process->start_ns : totals->begin_ns;
        int64_t end_ns =
            process->end != PROCESS_RUNNING && process->end_ns ? process->end_ns : totals->end_ns;
        wall_see(&life, begin_ns, end_ns);
    }
    life.begin_ns = life.begin_ns > totals->begin_ns ? life.begin_ns : totals->begin_ns;
    life.end_ns = life.end_ns < totals->end_ns ? life.end_ns : totals->end_ns;
    return wanted ? life : (struct life){0};
}

/* ---- Changes --------------------------------------------------------------------------------- */

static int add_change(struct wall *wall, int64_t time_ns, uint32_t thread, enum state state,
                      size_t stretch)
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
    return vec_push(&wall->changes, change);
}

/* Adds start and end; if only one range was recorded, its times in that process. */
static int add_life(struct wall *wall, uint32_t thread)
{
    const struct life life = wall->lives[thread];
    const struct trace_capture all = {
        .process = trace_thread_get(wall->trace, thread)->process, INT64_MIN, INT64_MAX};
    const struct trace_capture *capture = &all;
    size_t count = 1;
    int error = 0;
    if (trace_captures(wall->trace) == CAPTURES_KNOWN)
        capture = trace_captures_from(wall->trace, all.process, life.begin_ns, &count);
    for (; count > 0 && capture->process == all.process && !error; capture++, count--) {
        int64_t from_ns = capture->from_ns > life.begin_ns ? capture->from_ns : life.begin_ns;
        int64_t to_ns = capture->to_ns < life.end_ns ? capture->to_ns : life.end_ns;
        if (from_ns >= to_ns)
            break;
        error = add_change(wall, from_ns, thread, RUNNING, 0);
        if (!error)
            error = add_change(wall, to_ns, thread, ABSENT, 0);
    }
    return error;
}

static int add_lives(struct wall *wall)
{
    int error = 0;
    for (uint32_t i = 0; i < wall->thread_count && !error; i++) {
        wall->lives[i] = life_of(wall, i);
        if (wall->lives[i].end_ns > wall->lives[i].begin_ns)
            error = add_life(wall, i);
    }
    return error;
}

static int add_stretches(struct wall *wall)
{
    int error = 0;
    for (size_t i = 0; i < wall->stretches.count && !error; i++) {
        const struct stretch *stretch = &wall->stretches.items[i];
        uint32_t thread = stretch->thread;
        if (wall->lives[thread].end_ns <= wall->lives[thread].begin_ns)
            continue;
        if (stretch->wake_ns > stretch->begin_ns)
            error = add_change(wall, stretch->begin_ns, thread, BLOCKED, i + 1);
        if (!error && stretch->end_ns > stretch->wake_ns)
            error = add_change(wall, stretch->wake_ns, thread, READY, 0);
        if (!error && stretch->end_ns < wall->lives[thread].end_ns)
            error = add_change(wall, stretch->end_ns, thread, RUNNING, 0);
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
static uint64_t outside_of_stretches(const struct wall *wall, const struct interval *interval,
                                     size_t *at)
{
    const struct stretch *items = wall->stretches.items;
    uint64_t outside_ns = (uint64_t)interval->end_ns - (uint64_t)interval->begin_ns;
    while (*at < wall->stretches.count && by_thread(items[*at].thread, interval->thread,
                                                    items[*at].end_ns, interval->begin_ns) <= 0)
        ++*at;
    for (size_t i = *at; i < wall->stretches.count && items[i].thread == interval->thread &&
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

static int add_intervals(struct wall *wall)
{
    size_t at = 0;
    int error = 0;
    if (wall->intervals.count == 0)
        return 0;
    if (wall->stretches.count > 0)
        qsort(wall->stretches.items, wall->stretches.count, sizeof(struct stretch),
              stretches_by_thread);
    qsort(wall->intervals.items, wall->intervals.count, sizeof(struct interval),
          intervals_by_thread);
    for (size_t i = 0; i < wall->intervals.count && !error; i++) {
        struct interval *interval = &wall->intervals.items[i];
        double outside = (double)outside_of_stretches(wall, interval, &at);
        double waits = (double)interval->blocked_ns + (double)interval->ready_ns;
        interval->part = waits < outside ? 1 - waits / outside : 0;
        error = add_change(wall, interval->begin_ns, interval->thread, PART_BEGINS, i + 1);
        if (!error)
            error = add_change(wall, interval->end_ns, interval->thread, PART_ENDS, i + 1);
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

int wall_list_changes(struct wall *wall)
{
    int error = add_lives(wall);
    if (!error)
        error = add_intervals(wall);
    if (!error)
        error = add_stretches(wall);
    if (!error && wall->changes.count > 0)
        qsort(wall->changes.items, wall->changes.count, sizeof(*wall->changes.items), in_time);
    return error;
}
