/* SPDX-License-Identifier: MIT */
/* A stack of open ranges per thread, and its points in time order: before an event changes the
 * stack, the points before it get the path that is open. Thread-safety: none. */
#include "path_points.h"

#include "stacks.h"

#include <errno.h>
#include <stdlib.h>

int path_points_note(struct path_points *points, uint32_t thread, int64_t time_ns)
{
    if (points->points.count >= PATH_POINTS_MAX) {
        points->refused++;
        return 0;
    }
    struct path_point point = {time_ns, thread, (uint32_t)points->points.count};
    return vec_push(&points->points, point);
}

static int by_thread_and_time(const void *left, const void *right)
{
    const struct path_point *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

int path_points_start(struct path_points *points, const struct trace *trace)
{
    size_t count = points->points.count;
    points->lane_count = trace_thread_count(trace);
    points->lanes = calloc((size_t)points->lane_count + 1, sizeof(*points->lanes));
    if (!points->lanes || vec_reserve(&points->paths, count + 1) != 0)
        return -ENOMEM;
    for (points->paths.count = 0; points->paths.count < count;)
        points->paths.items[points->paths.count++] = 0;
    if (count > 0)
        qsort(points->points.items, count, sizeof(*points->points.items), by_thread_and_time);
    for (uint32_t i = 0; i < count; i++) {
        struct path_lane *lane = &points->lanes[points->points.items[i].thread];
        if (lane->end == 0)
            lane->next = i;
        lane->end = i + 1;
    }
    return 0;
}

static uint32_t path_of(const struct path_lane *lane)
{
    return lane->open.count ? lane->open.items[lane->open.count - 1].path : 0;
}

/* Points before the time get the path that is open. */
static void settle(struct path_points *points, struct path_lane *lane, int64_t time_ns)
{
    for (; lane->next < lane->end && points->points.items[lane->next].time_ns < time_ns;
         lane->next++)
        points->paths.items[points->points.items[lane->next].index] = path_of(lane);
}

static void close_from(struct path_lane *lane, uint64_t level)
{
    while (lane->open.count && lane->open.items[lane->open.count - 1].level >= level)
        lane->open.count--;
}

static int take_event(struct path_points *points, struct trace *trace, struct path_lane *lane,
                      const struct event *event)
{
    uint64_t depth = event_depth_after(event, lane->depth);
    if (event->kind != EVENT_PUSH && depth == lane->depth && event->kind != EVENT_POP)
        return 0;
    settle(points, lane, event->time_ns);
    if (event->kind == EVENT_PUSH) {
        int64_t path = stacks_path(trace_stacks(trace), path_of(lane), event->name);
        struct open_path open = {lane->depth, (uint32_t)path};
        if (path < 0 || vec_push(&lane->open, open) != 0)
            return -ENOMEM;
    } else {
        close_from(lane, depth);
    }
    lane->depth = depth;
    return 0;
}

int path_points_feed(struct path_points *points, struct trace *trace,
                     const struct event_batch *batch)
{
    struct path_lane *lane =
        batch->thread < points->lane_count ? &points->lanes[batch->thread] : NULL;
    int error = 0;
    if (!lane || lane->next == lane->end)
        return 0;
    for (uint32_t i = 0; i < batch->count && !error; i++)
        error = take_event(points, trace, lane, &batch->events[i]);
    return error;
}

void path_points_finish(struct path_points *points)
{
    for (uint32_t i = 0; i < points->lane_count; i++) {
        settle(points, &points->lanes[i], INT64_MAX);
        vec_free(&points->lanes[i].open);
    }
}

void path_points_fini(struct path_points *points)
{
    for (uint32_t i = 0; points->lanes && i < points->lane_count; i++)
        vec_free(&points->lanes[i].open);
    free(points->lanes);
    vec_free(&points->points);
    vec_free(&points->paths);
}
