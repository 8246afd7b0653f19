/* SPDX-License-Identifier: MIT */
/* Sorting and pairing of flow_arrows.h. A run is all points of one flow in order of time; a stretch
 * of it goes from one begin to the next. */
#include "flow_arrows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct flow_point *one = a, *other = b;
    if (one->flow != other->flow)
        return one->flow < other->flow ? -1 : 1;
    if (one->time_ns != other->time_ns)
        return one->time_ns < other->time_ns ? -1 : 1;
    return (int)one->kind - (int)other->kind; /* begins first */
}

static size_t stretch_length(const struct flow_point *points, size_t count)
{
    size_t end = 1;
    while (end < count && points[end].kind != EVENT_FLOW_BEGIN)
        end++;
    return end;
}

static uint32_t name_of(const struct flow_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (points[i].name)
            return points[i].name;
    }
    return 0;
}

/* Number of points after `points[0]` that its arrows reach: the ends, and the first step. */
static size_t reach(const struct flow_point *points, size_t count)
{
    size_t end = 1;
    if (points[0].kind == EVENT_FLOW_END)
        return 0;
    while (end < count && points[end].kind == EVENT_FLOW_END)
        end++;
    return end < count ? end : end - 1;
}

static int place_stretch(struct flow_arrows *arrows, const struct flow_point *points, size_t count)
{
    uint64_t arriving = 0, arriving_end = 0; /* numbers of arrows for the next points */
    uint32_t name = name_of(points, count);
    int status = 0;
    for (size_t i = 0; !status && i < count; i++) {
        struct flow_place place = {.point = &points[i], .name = name};
        size_t ends = reach(points + i, count - i);
        if (arriving < arriving_end)
            place.arrives = arriving++;
        if (ends > FLOW_ENDS_MAX) {
            arrows->cut_count++;
            ends = FLOW_ENDS_MAX;
        }
        if (ends) {
            place.leaves = arriving = arrows->arrow_count + 1;
            place.leave_count = (uint32_t)ends;
            arrows->arrow_count += ends;
            arriving_end = arrows->arrow_count + 1;
        }
        status = arrows->place(arrows->context, &place);
    }
    return status;
}

static int place_run(struct flow_arrows *arrows, const struct flow_point *points, size_t count)
{
    int status = 0;
    for (size_t i = 0; !status && i < count;) {
        size_t length = stretch_length(points + i, count - i);
        status = place_stretch(arrows, points + i, length);
        i += length;
    }
    return status;
}

static bool is_whole(const struct flow_point *points, size_t count)
{
    return points[0].kind == EVENT_FLOW_BEGIN && points[count - 1].kind == EVENT_FLOW_END;
}

/* Places all flows; incomplete ones are kept, up to `keep_max` points. */
static int settle(struct flow_arrows *arrows, size_t keep_max)
{
    struct flow_point *points = arrows->points.items;
    size_t count = arrows->points.count, kept = 0, length;
    int status = 0;
    if (count > 1)
        qsort(points, count, sizeof(*points), compare);
    for (size_t i = 0; !status && i < count; i += length) {
        for (length = 1; i + length < count && points[i + length].flow == points[i].flow;)
            length++;
        bool whole = is_whole(points + i, length);
        if (!whole && kept + length <= keep_max) {
            memmove(points + kept, points + i, length * sizeof(*points));
            kept += length;
            continue;
        }
        arrows->cut_count += !whole && keep_max;
        status = place_run(arrows, points + i, length);
    }
    arrows->points.count = kept;
    return status;
}

struct fact flow_fact(const struct flow_point *point, struct flow_text *text)
{
    snprintf(text->hex, sizeof(text->hex), "0x%" PRIx64, point->flow);
    return (struct fact){.name = "flow", .kind = VALUE_STRING, .text = text->hex};
}

int flow_arrows_add(struct flow_arrows *arrows, const struct event *event)
{
    size_t points_max = arrows->points_max ? arrows->points_max : FLOW_POINTS_MAX;
    struct flow_point point = {
        .time_ns = event->time_ns,
        .flow = event->id,
        .thread = event->thread,
        .name = event->name,
        .scope = event->scope,
        .kind = event->kind,
    };
    if (vec_push(&arrows->points, point) != 0)
        return -ENOMEM;
    return arrows->points.count < points_max ? 0 : settle(arrows, points_max / 2);
}

int flow_arrows_finish(struct flow_arrows *arrows)
{
    return settle(arrows, 0);
}

void flow_arrows_fini(struct flow_arrows *arrows)
{
    vec_free(&arrows->points);
}
