/* SPDX-License-Identifier: MIT */
/* Which ranges are drawn: the longest ones. What is shorter counts for its lane. */
#include "page_parts.h"

#include "awaits.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 256 };

int page_spans_init(struct page_spans *spans, const struct trace *trace,
                    const struct page_span *span, struct page_names *names)
{
    *spans = (struct page_spans){.trace = trace, .span = *span, .names = names};
    spans->drawn.limit = PAGE_SPANS_MAX;
    spans->tasks.limit = spans->requests.limit = PAGE_TASKS_MAX;
    return 0;
}

void page_spans_fini(struct page_spans *spans)
{
    for (size_t i = 0; i < spans->lanes.count; i++) {
        free(spans->lanes.items[i].name);
        free(spans->lanes.items[i].density);
    }
    vec_free(&spans->lanes);
    map64_free(&spans->lane_by_key);
    map64_free(&spans->await_by_track);
    vec_free(&spans->drawn.items);
    vec_free(&spans->tasks.items);
    vec_free(&spans->requests.items);
    *spans = (struct page_spans){0};
}

/* ---- The longest ones ------------------------------------------------------------------------ */

static int shortest_first(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* The length from which on there are so many, or more of that very length. */
static int find_least(const struct page_longest *longest, size_t limit, uint64_t *ret_ns)
{
    size_t count = longest->items.count;
    uint64_t *lengths = calloc(count + 1, sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        lengths[i] = longest->items.items[i].length_ns;
    qsort(lengths, count, sizeof(*lengths), shortest_first);
    *ret_ns = lengths[count - limit];
    free(lengths);
    return 0;
}

/* What is dropped goes to whoever counts it. */
typedef int drop_range(struct page_spans *spans, const struct page_range *range);

static int keep_longest(struct page_longest *longest, size_t limit, struct page_spans *spans,
                        drop_range *drop)
{
    size_t kept = 0, equal = 0;
    if (limit == 0 || longest->items.count <= limit)
        return 0;
    int error = find_least(longest, limit, &longest->least_ns);
    if (error)
        return error;
    for (size_t i = 0; i < longest->items.count; i++)
        equal += longest->items.items[i].length_ns > longest->least_ns;
    equal = limit - equal;
    size_t count = longest->items.count;
    for (size_t i = 0; i < count && !error; i++) {
        const struct page_range *range = &longest->items.items[i];
        bool is_longer = range->length_ns > longest->least_ns;
        bool is_equal = range->length_ns == longest->least_ns && equal > 0;
        equal -= is_equal;
        if (is_longer || is_equal)
            longest->items.items[kept++] = *range;
        else if (drop)
            error = drop(spans, range);
    }
    longest->dropped += count - kept;
    longest->items.count = kept;
    return error;
}

int page_longest_limit(struct page_longest *longest, size_t limit)
{
    return keep_longest(longest, limit, NULL, NULL);
}

static int add_range(struct page_longest *longest, const struct page_range *range,
                     struct page_spans *spans, drop_range *drop)
{
    if (range->length_ns < longest->least_ns) {
        longest->dropped++;
        return drop ? drop(spans, range) : 0;
    }
    int error = vec_push(&longest->items, *range);
    if (!error && longest->items.count > 2 * longest->limit)
        error = keep_longest(longest, longest->limit, spans, drop);
    return error;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* A range that is too short covers a part of its lane; what is inside of it does so itself. */
static int drop_drawn(struct page_spans *spans, const struct page_range *range)
{
    struct page_lane *lane = &spans->lanes.items[range->lane];
    lane->short_count++;
    spans->short_count++;
    if (!lane->density)
        lane->density = calloc(PAGE_DENSITY_SLOTS, sizeof(*lane->density));
    if (!lane->density)
        return -ENOMEM;
    double slot_ns = (double)spans->span.length_ns / PAGE_DENSITY_SLOTS;
    lane->density[page_slot(&spans->span, PAGE_DENSITY_SLOTS, range->begin_ns)] +=
        (float)((double)range->self_ns / slot_ns);
    return 0;
}

int page_spans_limit(struct page_spans *spans, size_t limit)
{
    return keep_longest(&spans->drawn, limit, spans, drop_drawn);
}

/* Tracks that are made for each request lie on one lane: that of the track above, or of all whose
 * names differ by a number. */
static uint32_t outermost_track(const struct trace *trace, uint32_t track)
{
    for (unsigned i = 0; i < TRACE_LANE_LEVELS; i++) {
        const struct trace_lane *lane = trace_lane_get(trace, track);
        if (!lane || lane->parent == 0)
            break;
        track = lane->parent - 1;
    }
    return track;
}

static int64_t push_lane(struct page_spans *spans, const struct page_lane *lane)
{
    struct page_lane fresh = *lane;
    if (spans->lanes.count >= PAGE_LANES_MAX)
        return -1;
    fresh.name = lane->name ? strdup(lane->name) : NULL;
    if ((lane->name && !fresh.name) || vec_push(&spans->lanes, fresh) != 0) {
        free(fresh.name);
        return -ENOMEM;
    }
    return (int64_t)spans->lanes.count - 1;
}

/* The lane of tracks of a name: -1: there is no room for it. */
static int64_t track_lane(struct page_spans *spans, const struct item *item, bool task)
{
    const struct trace *trace = spans->trace;
    const struct trace_lane *track = trace_lane_get(trace, item->event->lane);
    char name[NAME_SIZE];
    struct page_lane lane = {.kind = PAGE_LANE_TRACK, .ordinal = item->event->lane, .name = name};
    lane.process = track ? track->process : trace_thread_get(trace, item->event->thread)->process;
    trace_lane_label(trace, outermost_track(trace, item->event->lane), name, sizeof(name));
    if (task)
        memcpy(name, "tasks", sizeof("tasks"));
    else if (strncmp(name, "track 0x", 8) == 0 || strncmp(name, "track #", 7) == 0)
        memcpy(name, "tracks without names", sizeof("tracks without names"));
    else
        page_cut_number(name);
    for (size_t i = 0; i < spans->lanes.count; i++) {
        const struct page_lane *other = &spans->lanes.items[i];
        if (other->kind == PAGE_LANE_TRACK && other->process == lane.process &&
            strcmp(other->name, name) == 0)
            return (int64_t)i;
    }
    return push_lane(spans, &lane);
}

static int64_t new_lane(struct page_spans *spans, const struct item *item, bool task)
{
    const struct trace *trace = spans->trace;
    uint32_t process = trace_thread_get(trace, item->event->thread)->process;
    const struct trace_lane *queue = trace_lane_get(trace, item->event->lane);
    if (item->lane == LANE_TRACK)
        return track_lane(spans, item, task);
    if (item->lane == LANE_QUEUE)
        return push_lane(spans, &(struct page_lane){.kind = PAGE_LANE_QUEUE,
                                                    .ordinal = item->event->lane,
                                                    .process = queue ? queue->process : process});
    bool of_process = item->lane == LANE_PROCESS;
    return push_lane(spans,
                     &(struct page_lane){.kind = of_process ? PAGE_LANE_PROCESS : PAGE_LANE_THREAD,
                                         .ordinal = of_process ? process : item->event->thread,
                                         .process = process});
}

/* -1: there is no room for it. */
static int64_t lane_of(struct page_spans *spans, const struct item *item, bool task)
{
    uint32_t id = item->event->lane;
    if (item->lane == LANE_THREAD)
        id = item->event->thread;
    else if (item->lane == LANE_PROCESS)
        id = trace_thread_get(spans->trace, item->event->thread)->process;
    uint64_t key = (uint64_t)item->lane << 32 | id;
    if (key == spans->last_key)
        return spans->last_lane;
    const uint64_t *found = map64_find(&spans->lane_by_key, key);
    int64_t lane = found ? (int64_t)*found - 1 : new_lane(spans, item, task);
    if (lane < -1 || (!found && map64_put(&spans->lane_by_key, key, (uint64_t)(lane + 1)) != 0))
        return -ENOMEM;
    spans->last_key = key;
    spans->last_lane = lane;
    return lane;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static int take_await(struct page_spans *spans, const struct item *item)
{
    const struct scope *scope = trace_scope(spans->trace, item->event->scope);
    if (scope->observer != OBSERVER_ASYNCIO || scope->role != ASYNCIO_ROLE_AWAITED)
        return 0;
    uint64_t time_ns = awaits_duration_ns(spans->trace, &item->args);
    uint64_t *found = map64_find(&spans->await_by_track, (uint64_t)item->event->lane + 1);
    if (found)
        *found += time_ns;
    else if (spans->await_by_track.count / 4 < PAGE_TASKS_MAX)
        return map64_put(&spans->await_by_track, (uint64_t)item->event->lane + 1, time_ns);
    return 0;
}

/* The outermost ranges of tracks are tasks of an event loop, or requests. */
static int take_track(struct page_spans *spans, const struct page_range *range, bool task)
{
    return add_range(task ? &spans->tasks : &spans->requests, range, spans, NULL);
}

static int take_span(struct page_spans *spans, const struct item *item)
{
    const struct scope *scope = trace_scope(spans->trace, item->event->scope);
    bool task = scope->observer == OBSERVER_ASYNCIO && scope->role == ASYNCIO_ROLE_TASK;
    if (!trace_thread_get(spans->trace, item->event->thread) ||
        scope->observer == OBSERVER_INHERITED)
        return 0;
    bool on_track = item->lane == LANE_TRACK;
    int64_t lane = lane_of(spans, item, task || (on_track && item->call));
    struct page_range range = {.begin_ns = item->begin_ns,
                               .lane = (uint32_t)lane,
                               .sub = item->event->lane,
                               .thread = item->event->thread,
                               .depth = item->depth};
    range.length_ns =
        item->end_ns > item->begin_ns ? (uint64_t)item->end_ns - (uint64_t)item->begin_ns : 0;
    bool outermost = on_track && item->depth == 0 && !item->call; /* those are a task's */
    int64_t name = 0; /* of what is dropped nobody asks for it */
    if (outermost || range.length_ns >= spans->drawn.least_ns)
        name = page_name_of(spans->names, scope->domain, item->event->name);
    if (lane < -1 || name < 0)
        return -ENOMEM;
    range.name = (uint32_t)name;
    uint64_t inside_ns = item->child_ns > 0 ? (uint64_t)item->child_ns : 0;
    range.self_ns = range.length_ns > inside_ns ? range.length_ns - inside_ns : 0;
    int error = 0;
    range.status = outermost && !task ? page_status_of(spans->trace, &item->args) : 0;
    if (outermost)
        error = take_track(spans, &range, task);
    if (lane < 0)
        spans->refused++;
    return error || lane < 0 ? error : add_range(&spans->drawn, &range, spans, drop_drawn);
}

int page_spans_take(struct page_spans *spans, const struct item *item)
{
    if (item->kind == ITEM_SPAN)
        return take_span(spans, item);
    return item->kind == ITEM_INSTANT && item->event->kind == EVENT_TRACK_MARK
               ? take_await(spans, item)
               : 0;
}
