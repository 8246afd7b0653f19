/* SPDX-License-Identifier: MIT */
/* Pairing of tracks: see track_slices.h. Tracks on which ranges are open have a slot; there are
 * far fewer of these than tracks. Thread-safety: none. */
#include "track_slices.h"

#include "map64.h"
#include "range_stack.h"
#include "time_order.h"

enum { VALUES_MAX = 1 << 20 }; /* key-values of all events that wait */

struct waiting {
    struct event event;
    struct slice_value *values; /* owned; NULL = none */
    uint32_t value_count;
    bool passed_on;
};

/* A range's `level` is the number of hidden ones that began directly inside it and are open. */
struct open_track {
    struct range_stack stack;
    uint64_t hidden; /* open ones inside no other */
    uint64_t track;
    int64_t last_ns;    /* of its last event */
    uint32_t next_free; /* index + 1 */
};

struct track_slices {
    const struct trace *trace;
    const struct slice_sink *sink;
    VEC(struct waiting) waiting; /* as they arrived */
    VEC(struct time_place)
    places;                     /* of them, in order of time while they are passed on; and as
                                   much room again */
    size_t value_count;         /* of all that wait */
    size_t limit;               /* when so many wait, some are passed on */
    int64_t settled_ns;         /* nothing earlier will come; 0 = not known */
    int64_t first_ns;           /* of those that wait */
    struct map64 open_by_track; /* track + 1 -> index + 1 */
    VEC(struct open_track) open;
    uint32_t first_free;   /* index + 1 */
    VEC(uint32_t) open_of; /* by thread: open ranges that it began */
    uint64_t orphan_count;
    bool in_order; /* events come in order of time: none waits */
};

struct track_slices *track_slices_create(const struct trace *trace, const struct slice_sink *sink)
{
    struct track_slices *tracks = calloc(1, sizeof(*tracks));
    if (!tracks)
        return NULL;
    tracks->trace = trace;
    tracks->sink = sink;
    tracks->limit = SLICES_WAITING_MIN;
    tracks->first_ns = INT64_MAX;
    return tracks;
}

void track_slices_destroy(struct track_slices *tracks)
{
    if (!tracks)
        return;
    for (size_t i = 0; i < tracks->waiting.count; i++)
        free(tracks->waiting.items[i].values);
    for (size_t i = 0; i < tracks->open.count; i++)
        range_stack_free(&tracks->open.items[i].stack);
    vec_free(&tracks->waiting);
    vec_free(&tracks->places);
    vec_free(&tracks->open);
    vec_free(&tracks->open_of);
    map64_free(&tracks->open_by_track);
    free(tracks);
}

uint64_t track_slices_orphan_count(const struct track_slices *tracks)
{
    return tracks->orphan_count;
}

/* ---- Open ranges ---- */

static struct open_track *find_open(struct track_slices *tracks, uint64_t track)
{
    const uint64_t *index = map64_find(&tracks->open_by_track, track + 1);
    return index ? &tracks->open.items[*index - 1] : NULL;
}

/* NULL: out of memory. */
static struct open_track *add_open(struct track_slices *tracks, uint64_t track)
{
    uint32_t index = tracks->first_free;
    if (index == 0) {
        if (vec_reserve(&tracks->open, 1) != 0 || !tracks->open.items)
            return NULL;
        index = (uint32_t)++tracks->open.count;
        tracks->open.items[index - 1] = (struct open_track){0};
    }
    if (map64_put(&tracks->open_by_track, track + 1, index) != 0)
        return NULL;
    struct open_track *open = &tracks->open.items[index - 1];
    if (index == tracks->first_free)
        tracks->first_free = open->next_free;
    open->track = track;
    return open;
}

/* Its place is free when nothing is open on it. */
static void leave(struct track_slices *tracks, struct open_track *open)
{
    uint64_t index;
    if (open->stack.count || open->hidden ||
        !map64_take(&tracks->open_by_track, open->track + 1, &index))
        return;
    open->next_free = tracks->first_free;
    tracks->first_free = (uint32_t)index;
}

static int close_top(struct track_slices *tracks, struct open_track *open, const struct slice *end)
{
    struct slice slice = range_stack_pop(&open->stack, end->end_ns, end->flags);
    slice.end_thread = end->flags ? slice.begin->thread : end->end_thread;
    slice.end_value_count = end->end_value_count;
    tracks->open_of.items[slice.begin->thread]--;
    leave(tracks, open);
    if (!tracks->sink->track_closed)
        return 0;
    return tracks->sink->track_closed(tracks->sink->context, &slice);
}

/* Where hidden ranges that are open in the innermost one are counted. */
static uint64_t *hidden_of(struct open_track *open)
{
    size_t count = open->stack.count;
    return count ? &open->stack.open[count - 1].level : &open->hidden;
}

static int begin_hidden(struct track_slices *tracks, const struct event *event)
{
    struct open_track *open = find_open(tracks, event->id);
    if (!open)
        open = add_open(tracks, event->id);
    if (!open)
        return -ENOMEM;
    ++*hidden_of(open);
    return 0;
}

static int begin_range(struct track_slices *tracks, const struct event *event,
                       const struct slice_values *values)
{
    struct open_track *open = find_open(tracks, event->id);
    if (!open)
        open = add_open(tracks, event->id);
    while (tracks->open_of.count <= event->thread)
        if (vec_push(&tracks->open_of, 0) != 0)
            return -ENOMEM;
    struct open_range *range = open ? range_stack_push(&open->stack, event, values) : NULL;
    if (!range)
        return -ENOMEM;
    tracks->open_of.items[event->thread]++;
    open->last_ns = event->time_ns;
    if (!tracks->sink->track_opened)
        return 0;
    return tracks->sink->track_opened(tracks->sink->context, &range->begin, values,
                                      (uint32_t)open->stack.count - 1);
}

static int end_range(struct track_slices *tracks, const struct event *event,
                     const struct slice_values *values)
{
    struct open_track *open = find_open(tracks, event->id);
    if (!open) {
        tracks->orphan_count++;
        return 0;
    }
    if (*hidden_of(open)) {
        --*hidden_of(open);
        leave(tracks, open);
        return 0;
    }
    open->last_ns = event->time_ns;
    if (values->count && range_stack_keep_values(&open->stack, values) != 0)
        return -ENOMEM;
    return close_top(tracks, open,
                     &(struct slice){.end_ns = event->time_ns,
                                     .end_thread = event->thread,
                                     .end_value_count = values->count});
}

static int mark(struct track_slices *tracks, const struct event *event,
                const struct slice_values *values)
{
    struct open_track *open = find_open(tracks, event->id);
    uint32_t depth = open ? (uint32_t)open->stack.count : 0;
    if (open)
        open->last_ns = event->time_ns;
    if (!tracks->sink->track_mark)
        return 0;
    return tracks->sink->track_mark(tracks->sink->context, event, values, depth);
}

/* Nobody knows of an end in the time that was not recorded, and what is inside ends with it. */
static int edge(struct track_slices *tracks, const struct event *event)
{
    const struct slice end = {.end_ns = event->time_ns, .flags = SLICE_UNFINISHED};
    int status = 0;
    if (event->thread >= tracks->open_of.count || tracks->open_of.items[event->thread] == 0)
        return 0;
    for (size_t i = 0; i < tracks->open.count; i++) {
        struct open_track *open = &tracks->open.items[i];
        size_t level = 0;
        while (level < open->stack.count && open->stack.open[level].begin.thread != event->thread)
            level++;
        while (!status && open->stack.count > level)
            status = close_top(tracks, open, &end);
    }
    return status;
}

/* ---- Order ---- */

static int pass_on(struct track_slices *tracks, const struct event *event,
                   const struct slice_values *values)
{
    switch (event->kind) {
    case EVENT_TRACK_BEGIN:
        return begin_range(tracks, event, values);
    case EVENT_TRACK_HIDDEN:
        return begin_hidden(tracks, event);
    case EVENT_TRACK_END:
        return end_range(tracks, event, values);
    case EVENT_TRACK_MARK:
        return mark(tracks, event, values);
    default:
        return edge(tracks, event);
    }
}

/* 0 or -ENOMEM. */
static int sort_waiting(struct track_slices *tracks)
{
    size_t count = tracks->waiting.count;
    tracks->places.count = 0;
    if (count == 0)
        return 0;
    if (vec_reserve(&tracks->places, 2 * count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        tracks->places.items[i] =
            (struct time_place){tracks->waiting.items[i].event.time_ns, (uint32_t)i};
    time_order_sort(tracks->places.items, tracks->places.items + count, count);
    return 0;
}

static void drop_passed_on(struct track_slices *tracks)
{
    size_t kept = 0;
    tracks->first_ns = INT64_MAX;
    for (size_t i = 0; i < tracks->waiting.count; i++) {
        const struct waiting *item = &tracks->waiting.items[i];
        if (item->passed_on)
            continue;
        if (item->event.time_ns < tracks->first_ns)
            tracks->first_ns = item->event.time_ns;
        tracks->waiting.items[kept++] = *item;
    }
    tracks->waiting.count = kept;
}

/* The first `count` of those that wait, after sort_waiting. */
static int pass_on_first(struct track_slices *tracks, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        struct waiting *item = &tracks->waiting.items[tracks->places.items[i].index];
        const struct slice_values values = {item->values, item->value_count};
        if (!status)
            status = pass_on(tracks, &item->event, &values);
        tracks->value_count -= item->value_count;
        free(item->values);
        item->passed_on = true;
    }
    drop_passed_on(tracks);
    return status;
}

/* Those before which nothing can come, or half of them if that is not known or there is no room. */
static int make_room(struct track_slices *tracks)
{
    size_t count = tracks->waiting.count, settled = 0;
    bool full = count >= SLICES_WAITING_MAX || tracks->value_count >= VALUES_MAX;
    if (!full && tracks->settled_ns != 0 && tracks->first_ns >= tracks->settled_ns) {
        tracks->limit *= 2;
        return 0;
    }
    if (sort_waiting(tracks) != 0)
        return -ENOMEM;
    while (settled < count && tracks->places.items[settled].time_ns < tracks->settled_ns)
        settled++;
    if ((full || tracks->settled_ns == 0) && settled < (count + 1) / 2)
        settled = (count + 1) / 2;
    size_t limit = 2 * (count - settled);
    tracks->limit = limit < SLICES_WAITING_MIN   ? SLICES_WAITING_MIN
                    : limit > SLICES_WAITING_MAX ? SLICES_WAITING_MAX
                                                 : limit;
    return pass_on_first(tracks, settled);
}

void track_slices_in_order(struct track_slices *tracks)
{
    tracks->in_order = true;
}

void track_slices_settle(struct track_slices *tracks, int64_t settled_ns)
{
    tracks->settled_ns = settled_ns;
}

int track_slices_add(struct track_slices *tracks, const struct event *event,
                     const struct slice_values *values)
{
    struct waiting item = {.event = *event};
    if (event->kind != EVENT_EDGE && event->id > UINT32_MAX) { /* no ordinal */
        tracks->orphan_count++;
        return 0;
    }
    if (tracks->in_order)
        return pass_on(tracks, event, values);
    if (values->count) {
        item.value_count = values->count;
        item.values = malloc(values->count * sizeof(*values->items));
        if (!item.values)
            return -ENOMEM;
        memcpy(item.values, values->items, values->count * sizeof(*values->items));
    }
    if (vec_push(&tracks->waiting, item) != 0) {
        free(item.values);
        return -ENOMEM;
    }
    tracks->value_count += item.value_count;
    if (event->time_ns < tracks->first_ns)
        tracks->first_ns = event->time_ns;
    if (tracks->waiting.count < tracks->limit && tracks->value_count < VALUES_MAX)
        return 0;
    return make_room(tracks);
}

int track_slices_finish(struct track_slices *tracks, int64_t last_ns)
{
    int status = sort_waiting(tracks);
    if (!status)
        status = pass_on_first(tracks, tracks->waiting.count);
    for (size_t i = 0; i < tracks->open.count; i++) {
        struct open_track *open = &tracks->open.items[i];
        struct slice end = {.end_ns = open->last_ns, .flags = SLICE_UNFINISHED};
        while (!status && open->stack.count) { /* nothing outlives what is around it */
            const struct event *begin = &open->stack.open[open->stack.count - 1].begin;
            const struct trace_thread *thread = trace_thread_get(tracks->trace, begin->thread);
            end.end_ns = time_latest(
                end.end_ns, range_end_ns(tracks->trace, thread ? thread->process : 0, last_ns));
            status = close_top(tracks, open, &end);
        }
    }
    return status;
}
