/* SPDX-License-Identifier: MIT */
/* The processed profile of the Firefox Profiler, version 60 of its format: a thread for each thread
 * and each line of tracks, CPU samples as samples, ranges, marks and waits as markers, counters.
 *
 * All threads share one table of stacks and of names. Tables are written column by column, which
 * the recording does not have in one piece, so they go through a spool. Times are milliseconds
 * since the recording began. Memory: 8 bytes a distinct stack. Thread-safety: none. */
#include "export_facts.h"
#include "firefox_parts.h"
#include "shelves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct state {
    struct firefox fx;
    uint32_t *of_thread; /* thread of the profile + 1; 0: none yet */
    uint32_t thread_count;
    struct track_groups groups;
    uint32_t *of_group; /* the same */
};

/* ---- Threads --------------------------------------------------------------------------------- */

static int64_t profile_thread(struct state *s, uint32_t thread)
{
    char label[EXPORT_LABEL_SIZE];
    if (thread >= s->thread_count)
        return -ENOENT;
    if (s->of_thread[thread])
        return s->of_thread[thread] - INT64_C(1);
    uint32_t process = trace_thread_get(s->fx.trace, thread)->process;
    export_thread_label(&s->fx.ids, s->fx.trace, thread, label);
    const struct firefox_thread like = {.process = process,
                                        .tid = s->fx.ids.tids[thread],
                                        .is_main = s->fx.ids.thread_rank[thread] == 0};
    int64_t number = firefox_add_thread(&s->fx, &like, label);
    s->of_thread[thread] = number < 0 ? 0 : (uint32_t)number + 1;
    return number;
}

/* A line of tracks is a thread of its process. */
static int64_t track_thread(struct state *s, uint32_t lane)
{
    uint32_t group = track_groups_find(&s->groups, lane);
    if (s->of_group[group])
        return s->of_group[group] - INT64_C(1);
    const struct firefox_thread like = {.process = s->groups.groups.items[group].process,
                                        .tid = s->fx.ids.next_synthetic++};
    int64_t number = firefox_add_thread(&s->fx, &like, track_group_label(&s->groups, group).bytes);
    s->of_group[group] = number < 0 ? 0 : (uint32_t)number + 1;
    return number;
}

static bool has_lane(const struct item *item)
{
    return item->lane == LANE_TRACK || item->lane == LANE_QUEUE;
}

static int64_t thread_of(struct state *s, const struct item *item)
{
    return has_lane(item) ? track_thread(s, item->event->lane)
                          : profile_thread(s, item->event->thread);
}

/* ---- Items ----------------------------------------------------------------------------------- */

static int take_marker(struct state *s, const struct item *item)
{
    bool range = item->kind == ITEM_SPAN;
    int64_t thread = thread_of(s, item);
    int64_t name = profile_frames_range(&s->fx.frames, item->event);
    if (thread == -ENOENT)
        return 0;
    if (thread < 0 || name < 0)
        return -ENOMEM;
    const struct firefox_marker marker = {.name = (uint32_t)name,
                                          .category = FIREFOX_RANGES,
                                          .begin_ns = item->event->time_ns,
                                          .end_ns = range ? item->end_ns : item->event->time_ns,
                                          .instant = !range,
                                          .event = item->event,
                                          .args = &item->args,
                                          .stack = -1};
    firefox_put_marker(&s->fx, (uint32_t)thread, &marker);
    return 0;
}

static int take_wait(struct state *s, uint32_t thread, const struct sample *sample, int64_t stack)
{
    const struct profile_frame reason = {PROFILE_REASON, sample->reason, 0};
    int64_t name = profile_frames_add(&s->fx.frames, &reason);
    if (name < 0)
        return (int)name;
    const struct firefox_marker marker = {.name = (uint32_t)name,
                                          .category = FIREFOX_WAITS,
                                          .begin_ns = sample->time_ns,
                                          .end_ns = sample->end_ns,
                                          .stack = stack};
    firefox_put_marker(&s->fx, thread, &marker);
    return 0;
}

static int take_sample(struct state *s, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(s->fx.trace);
    enum sample_role role = sample_role(sets, sample);
    if (role != SAMPLE_ROLE_CPU && role != SAMPLE_ROLE_OFF_CPU)
        return 0;
    int64_t thread = profile_thread(s, sample->thread);
    int64_t stack = thread < 0 ? thread : firefox_stack(&s->fx, sample->stack);
    if (thread == -ENOENT)
        return 0;
    if (stack < 0)
        return (int)stack;
    if (role == SAMPLE_ROLE_OFF_CPU)
        return take_wait(s, (uint32_t)thread, sample, stack);
    firefox_put_sample(&s->fx, (uint32_t)thread, sample, (uint32_t)stack);
    return 0;
}

/* A counter is shown beside a thread of its process. */
static int take_value(struct state *s, const struct event *event)
{
    int64_t thread = profile_thread(s, event->thread);
    return thread == -ENOENT ? 0 : thread < 0 ? (int)thread : firefox_put_value(&s->fx, event);
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int error = 0;
    if (item->kind == ITEM_SAMPLE)
        error = take_sample(s, item->sample);
    else if (item->kind == ITEM_SPAN || item->kind == ITEM_INSTANT)
        error = take_marker(s, item);
    else if (item->kind == ITEM_COUNTER)
        error = take_value(s, item->event);
    return error ? error : s->fx.spool.error;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct trace *trace = job->source->trace;
    s->thread_count = trace_thread_count(trace);
    s->of_thread = calloc(s->thread_count + 1u, sizeof(*s->of_thread));
    int error = firefox_init(&s->fx, job);
    if (!error)
        error = track_groups_init(&s->groups, trace);
    s->of_group = calloc(s->groups.groups.count + 1u, sizeof(*s->of_group));
    return !error && s->of_thread && s->of_group ? 0 : -ENOMEM;
}

static int end(void *state)
{
    struct state *s = state;
    int error = firefox_finish_values(&s->fx);
    return error ? error : firefox_write(&s->fx);
}

static void destroy(void *state)
{
    struct state *s = state;
    firefox_fini(&s->fx);
    track_groups_fini(&s->groups);
    free(s->of_thread);
    free(s->of_group);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_NATIVE,
    EXPORT_OPTION_STRIP(NULL),
    {0},
};

extern const struct exporter export_firefox;
const struct exporter export_firefox = {
    .name = "firefox",
    .extension = ".firefox.json",
    .summary = "samples, ranges, marks, waits and counters, for the Firefox Profiler",
    .carries = "ranges, calls, marks, counters, samples, waits",
    .viewer = "at profiler.firefox.com",
    .lacks = EXPORT_LACKS_FLOWS | EXPORT_LACKS_OTHER_SAMPLES | EXPORT_LACKS_NO_NUMBERS,
    .options = options,
    .wants = WANT_EVENTS | WANT_SAMPLES,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
