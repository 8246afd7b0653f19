/* SPDX-License-Identifier: MIT */
/* A stack of open ranges per thread, and its points in time order: before an event changes the
 * stack, it is compared with the points that are near enough. Thread-safety: none. */
#include "path_points.h"

#include "stacks.h"

#include <errno.h>
#include <stdlib.h>

int path_points_note(struct path_points *points, const struct path_point *point)
{
    if (points->points.count >= PATH_POINTS_MAX) {
        points->refused++;
        return 0;
    }
    struct path_point noted = *point;
    noted.index = (uint32_t)points->points.count;
    return vec_push(&points->points, noted);
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
    static const struct path_answer none;
    size_t count = points->points.count;
    points->trace = trace;
    points->lane_count = trace_thread_count(trace);
    points->lanes = calloc((size_t)points->lane_count + 1, sizeof(*points->lanes));
    if (!points->lanes || vec_reserve(&points->answers, count + 1) != 0)
        return -ENOMEM;
    for (points->answers.count = 0; points->answers.count < count;)
        points->answers.items[points->answers.count++] = none;
    if (count > 0)
        qsort(points->points.items, count, sizeof(*points->points.items), by_thread_and_time);
    for (uint32_t i = 0; i < count; i++) {
        struct path_lane *lane = &points->lanes[points->points.items[i].thread];
        if (lane->end == 0)
            lane->next = i;
        lane->end = i + 1;
        lane->since_ns = INT64_MIN;
    }
    return 0;
}

static int64_t edge_before(int64_t time_ns)
{
    return time_ns < INT64_MIN + PATH_EDGE_NS ? INT64_MIN : time_ns - PATH_EDGE_NS;
}

static int64_t edge_after(int64_t time_ns)
{
    return time_ns > INT64_MAX - PATH_EDGE_NS ? INT64_MAX : time_ns + PATH_EDGE_NS;
}

static uint32_t path_of(const struct path_lane *lane)
{
    return lane->open.count ? lane->open.items[lane->open.count - 1].path : 0;
}

/* Whether the thread's own ranges that were read are those that the events tell. A name that found
 * no room in the program's table is any. */
static bool agrees(const struct stacks *stacks, const struct path_point *point, uint32_t told)
{
    const struct range_path *node;
    for (uint32_t at = point->read; at != 0; at = node->parent) {
        node = stacks_get_path(stacks, at);
        if (node->kind != RANGE_PATH_THREAD)
            continue;
        const struct range_path *own = stacks_get_path(stacks, told);
        if (told == 0 || (node->name != 0 && node->name != own->name))
            return false;
        told = own->parent;
    }
    return told == 0 || point->cut;
}

/* Compares a point with what is open from the lane's since_ns until that time. */
static void compare(struct path_points *points, const struct path_lane *lane,
                    const struct path_point *point, int64_t until_ns)
{
    struct path_answer *answer = &points->answers.items[point->index];
    uint32_t path = path_of(lane);
    bool inside = point->time_ns >= lane->since_ns && point->time_ns < until_ns;
    bool more = until_ns != INT64_MAX || trace_session_get(points->trace)->end_ns != 0;
    if (inside) {
        answer->told = path;
        answer->verdict |= lane->lossy || !more ? PATH_UNSURE : 0;
    }
    if (!point->known || edge_after(point->time_ns) < lane->since_ns ||
        (answer->verdict & PATH_AGREES) || ((answer->verdict & PATH_AT_EDGE) && !inside) ||
        !agrees(trace_stacks_get(points->trace), point, path))
        return;
    answer->agreed = path;
    answer->verdict |= inside ? PATH_AGREES : PATH_AT_EDGE;
}

/* What is open stays so until that time. */
static void settle(struct path_points *points, struct path_lane *lane, int64_t until_ns)
{
    for (uint32_t i = lane->next; i < lane->end; i++) {
        const struct path_point *point = &points->points.items[i];
        if (edge_before(point->time_ns) >= until_ns)
            break;
        compare(points, lane, point, until_ns);
        if (edge_after(point->time_ns) < until_ns && i == lane->next)
            lane->next++;
    }
    lane->since_ns = until_ns;
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
    bool lost = event->kind == EVENT_LOST;
    if (event->kind != EVENT_PUSH && depth == lane->depth && event->kind != EVENT_POP && !lost)
        return 0;
    settle(points, lane, event->time_ns);
    lane->lossy = lane->lossy || lost;
    if (event->kind == EVENT_PUSH) {
        const struct range_path node = {
            .parent = path_of(lane), .name = event->name, .domain = event->domain};
        int64_t path = stacks_path_add(trace_stacks(trace), &node);
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
    vec_free(&points->answers);
}
