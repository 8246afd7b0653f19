/* SPDX-License-Identifier: MIT */
/* Pairing behind slices.h.
 *
 * Pushed ranges: a stack per thread. Each open range remembers the level (number of open ranges
 * below it) that the producer gave it, so that a pop finds its range even when others were lost in
 * between. Start/end ranges: a table by process and id; an end that comes before its start, from
 * another thread, waits in the same table. Tracks: track_slices.h. Thread-safety: none. */
#include "slices.h"

#include "range_stack.h"
#include "track_slices.h"
#include "wide_map.h"

#include <errno.h>
#include <stdlib.h>

/* A thread. */
struct lane {
    struct range_stack stack;
    uint64_t depth;  /* as the producer counts it */
    int64_t last_ns; /* of its last batch */
};

/* A start without its end, or an end without its start. */
struct open_start {
    struct event event;
    struct slice_value *values; /* owned; NULL = none */
    uint32_t value_count;
    uint32_t process;
    uint32_t next_free; /* index + 1 */
};

struct slices {
    const struct trace *trace;
    struct slice_sink sink;
    VEC(struct lane) lanes; /* by thread ordinal */
    VEC(struct open_start) starts;
    uint32_t first_free; /* index + 1 */
    struct wide_map start_index;
    struct track_slices *tracks;    /* made at the first event of one */
    VEC(struct slice_value) values; /* of the event that is being fed */
    int64_t last_ns;
    uint64_t orphan_count;
    bool in_order;
};

struct slices *slices_create(const struct trace *trace, const struct slice_sink *sink)
{
    struct slices *slices = calloc(1, sizeof(*slices));
    if (!slices)
        return NULL;
    slices->trace = trace;
    slices->sink = *sink;
    slices->last_ns = INT64_MIN;
    return slices;
}

void slices_in_order(struct slices *slices)
{
    slices->in_order = true;
}

void slices_destroy(struct slices *slices)
{
    if (!slices)
        return;
    for (size_t i = 0; i < slices->lanes.count; i++)
        range_stack_free(&slices->lanes.items[i].stack);
    for (size_t i = 0; i < slices->starts.count; i++)
        free(slices->starts.items[i].values);
    track_slices_destroy(slices->tracks);
    vec_free(&slices->values);
    vec_free(&slices->lanes);
    vec_free(&slices->starts);
    wide_map_free(&slices->start_index);
    free(slices);
}

uint64_t slices_orphan_count(const struct slices *slices)
{
    return slices->orphan_count + (slices->tracks ? track_slices_orphan_count(slices->tracks) : 0);
}

/* ---- Pushed ranges ---- */

static int push(struct slices *slices, struct lane *lane, const struct event *event,
                const struct slice_values *values)
{
    struct open_range *open = range_stack_push(&lane->stack, event, values);
    if (!open)
        return -ENOMEM;
    open->level = lane->depth++;
    if (!slices->sink.opened)
        return 0;
    return slices->sink.opened(slices->sink.context, &open->begin, values,
                               (uint32_t)lane->stack.count - 1);
}

static int close_top(struct slices *slices, struct lane *lane, int64_t end_ns, uint32_t flags)
{
    struct slice slice = range_stack_pop(&lane->stack, end_ns, flags);
    return slices->sink.pushed ? slices->sink.pushed(slices->sink.context, &slice) : 0;
}

/* The same with the key-values of the end. */
static int close_with(struct slices *slices, struct lane *lane, const struct event *end,
                      const struct slice_values *values)
{
    if (values->count && range_stack_keep_values(&lane->stack, values) != 0)
        return -ENOMEM;
    struct slice slice = range_stack_pop(&lane->stack, end->time_ns, 0);
    slice.end_value_count = values->count;
    return slices->sink.pushed ? slices->sink.pushed(slices->sink.context, &slice) : 0;
}

static bool is_open(const struct lane *lane, uint64_t level)
{
    return lane->stack.count && lane->stack.open[lane->stack.count - 1].level >= level;
}

/* Closes the ranges at `level` and above, innermost first. */
static int close_from(struct slices *slices, struct lane *lane, uint64_t level, int64_t end_ns,
                      uint32_t flags)
{
    int status = 0;
    while (!status && is_open(lane, level))
        status = close_top(slices, lane, end_ns, flags);
    return status;
}

static int pop(struct slices *slices, struct lane *lane, const struct event *event,
               const struct slice_values *values)
{
    bool known = event->depth < lane->depth;
    int status = 0;
    if (known) /* above it: their pops were lost */
        status = close_from(slices, lane, event->depth + 1, event->time_ns, SLICE_END_LOST);
    lane->depth = event->depth;
    if (status)
        return status;
    if (known && is_open(lane, event->depth))
        return close_with(slices, lane, event, values);
    slices->orphan_count++;
    return 0;
}

static int gap(struct slices *slices, struct lane *lane, const struct event *event)
{
    int status = close_from(slices, lane, event->depth, event->end_ns, SLICE_END_LOST);
    lane->depth = event->depth;
    slices->last_ns = time_latest(slices->last_ns, event->end_ns);
    if (status || !slices->sink.lost)
        return status;
    return slices->sink.lost(slices->sink.context, event);
}

static int edge(struct slices *slices, struct lane *lane, const struct event *event)
{
    static const struct slice_values none;
    lane->depth = 0;
    int status = close_from(slices, lane, 0, event->time_ns, SLICE_UNFINISHED);
    return status || !slices->tracks ? status : track_slices_add(slices->tracks, event, &none);
}

/* ---- Start/end ranges ---- */

static uint32_t process_of(const struct slices *slices, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(slices->trace, thread);
    return entry ? entry->process : 0;
}

/* Keeps a copy of the event and its key-values. */
static int fill_start(struct open_start *entry, const struct event *event,
                      const struct slice_values *values)
{
    entry->event = *event;
    if (!values->count)
        return 0;
    entry->values = malloc(values->count * sizeof(*values->items));
    if (!entry->values)
        return -ENOMEM;
    memcpy(entry->values, values->items, values->count * sizeof(*values->items));
    entry->value_count = values->count;
    return 0;
}

static int remember(struct slices *slices, const struct wide_key *key, const struct event *event,
                    const struct slice_values *values)
{
    uint32_t index = slices->first_free;
    if (index == 0) {
        if (vec_push(&slices->starts, ((struct open_start){0})) != 0)
            return -ENOMEM;
        index = (uint32_t)slices->starts.count;
    }
    struct open_start *entry = &slices->starts.items[index - 1];
    if (index == slices->first_free)
        slices->first_free = entry->next_free;
    *entry = (struct open_start){.process = process_of(slices, event->thread)};
    int error = fill_start(entry, event, values);
    return error ? error : wide_map_put(&slices->start_index, key, index);
}

/* The entry's copy, whose values are now the caller's. */
static struct open_start forget(struct slices *slices, uint64_t index)
{
    struct open_start *entry = &slices->starts.items[index - 1];
    struct open_start copy = *entry;
    *entry = (struct open_start){.next_free = slices->first_free};
    slices->first_free = (uint32_t)index;
    return copy;
}

static int emit_started(struct slices *slices, struct slice slice)
{
    slice.end_ns = time_latest(slice.end_ns, slice.begin->time_ns);
    return slices->sink.started ? slices->sink.started(slices->sink.context, &slice) : 0;
}

static int emit_unfinished(struct slices *slices, const struct open_start *start, int64_t end_ns)
{
    return emit_started(slices, (struct slice){.begin = &start->event,
                                               .values = {start->values, start->value_count},
                                               .end_ns = end_ns,
                                               .flags = SLICE_UNFINISHED,
                                               .end_thread = start->event.thread});
}

/* An earlier entry of the same key that is no partner: the id was used twice. */
static int displace(struct slices *slices, const struct open_start *old, const struct event *by)
{
    if (old->event.kind == EVENT_START)
        return emit_unfinished(slices, old, by->time_ns);
    slices->orphan_count++;
    return 0;
}

/* Puts those of the start, then those of the end into slices->values, where those of the event that
 * is fed begin already. 0 or -ENOMEM. */
static int join_values(struct slices *slices, const struct open_start *partner, bool starts,
                       struct slice_values *values)
{
    const size_t size = sizeof(struct slice_value);
    uint32_t fed = values->count, kept = partner->value_count;
    if (kept == 0)
        return 0;
    if (vec_reserve(&slices->values, (size_t)fed + kept) != 0)
        return -ENOMEM;
    struct slice_value *items = slices->values.items;
    if (!starts)
        memmove(items + kept, items, fed * size);
    memcpy(starts ? items + fed : items, partner->values, kept * size);
    *values = (struct slice_values){items, fed + kept};
    return 0;
}

static int join(struct slices *slices, const struct open_start *partner, const struct event *event,
                const struct slice_values *values)
{
    bool starts = event->kind == EVENT_START;
    const struct event *end = starts ? &partner->event : event;
    struct slice slice = {
        .begin = starts ? event : &partner->event,
        .end_ns = end->time_ns,
        .end_thread = end->thread,
        .values = *values,
        .end_value_count = starts ? partner->value_count : values->count,
    };
    int error = join_values(slices, partner, starts, &slice.values);
    return error ? error : emit_started(slices, slice);
}

static int start_or_end(struct slices *slices, const struct event *event,
                        const struct slice_values *values)
{
    uint32_t process = process_of(slices, event->thread);
    const struct wide_key *key = WIDE_KEY(process, event->id);
    uint64_t index;
    int status;
    if (!wide_map_take(&slices->start_index, key, &index))
        return remember(slices, key, event, values);
    struct open_start partner = forget(slices, index);
    if (partner.event.kind == event->kind) {
        status = displace(slices, &partner, event);
        if (!status)
            status = remember(slices, key, event, values);
    } else {
        status = join(slices, &partner, event, values);
    }
    free(partner.values);
    return status;
}

/* ---- Tracks ---- */

static int add_to_tracks(struct slices *slices, const struct event *event,
                         const struct slice_values *values)
{
    const struct slice_sink *sink = &slices->sink;
    if (!sink->track_opened && !sink->track_closed && !sink->track_mark)
        return 0;
    if (!slices->tracks) {
        slices->tracks = track_slices_create(slices->trace, sink);
        if (slices->tracks && slices->in_order)
            track_slices_in_order(slices->tracks);
    }
    return slices->tracks ? track_slices_add(slices->tracks, event, values) : -ENOMEM;
}

/* ---- Feeding ---- */

static int pass_on(int (*callback)(void *context, const struct event *event), void *context,
                   const struct event *event)
{
    return callback ? callback(context, event) : 0;
}

static int feed_event(struct slices *slices, struct lane *lane, const struct event *event,
                      const struct slice_values *values)
{
    switch (event->kind) {
    case EVENT_PUSH:
        return push(slices, lane, event, values);
    case EVENT_POP:
        return pop(slices, lane, event, values);
    case EVENT_START:
    case EVENT_END:
        return start_or_end(slices, event, values);
    case EVENT_MARK:
        return slices->sink.mark ? slices->sink.mark(slices->sink.context, event, values) : 0;
    case EVENT_COUNTER:
        return pass_on(slices->sink.counter, slices->sink.context, event);
    case EVENT_LOST:
        return gap(slices, lane, event);
    case EVENT_EDGE:
        return edge(slices, lane, event);
    case EVENT_FLOW_BEGIN:
    case EVENT_FLOW_STEP:
    case EVENT_FLOW_END:
        return pass_on(slices->sink.flow, slices->sink.context, event);
    case EVENT_TRACK_BEGIN:
    case EVENT_TRACK_END:
    case EVENT_TRACK_MARK:
    case EVENT_TRACK_HIDDEN:
        return add_to_tracks(slices, event, values);
    default:
        return 0;
    }
}

/* The key-values of the event before `payload`, in a smaller form. */
static int read_values(struct slices *slices, const struct event *payload,
                       struct slice_values *ret_values)
{
    uint32_t count = ret_values->count;
    slices->values.count = 0;
    if (vec_reserve(&slices->values, count) != 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        slices->values.items[i] =
            (struct slice_value){payload[i].name, payload[i].value_kind, payload[i].value};
    ret_values->items = slices->values.items;
    return 0;
}

static int feed_batch(struct slices *slices, struct lane *lane, const struct event_batch *batch)
{
    int status = 0;
    for (uint32_t i = 0; !status && i < batch->count;) {
        const struct event *event = &batch->events[i];
        struct slice_values values = {.count = event_payload_count(batch->events, batch->count, i)};
        i += 1 + values.count;
        if (values.count)
            status = read_values(slices, event + 1, &values);
        if (!status)
            status = feed_event(slices, lane, event, &values);
    }
    return status;
}

static int reserve_lane(struct slices *slices, uint32_t thread)
{
    while (slices->lanes.count <= thread)
        if (vec_push(&slices->lanes, ((struct lane){0})) != 0)
            return -ENOMEM;
    return 0;
}

int slices_feed(struct slices *slices, const struct event_batch *batch)
{
    if (!trace_thread_get(slices->trace, batch->thread) || batch->count == 0)
        return 0;
    int status = reserve_lane(slices, batch->thread);
    if (status)
        return status;
    status = feed_batch(slices, &slices->lanes.items[batch->thread], batch);
    int64_t last_ns = batch->events[batch->count - 1].time_ns;
    slices->lanes.items[batch->thread].last_ns = last_ns;
    if (slices->tracks)
        track_slices_settle(slices->tracks, batch->settled_ns);
    slices->last_ns = time_latest(slices->last_ns, last_ns);
    return status;
}

/* ---- The end ---- */

static int finish_starts(struct slices *slices)
{
    int status = 0;
    for (size_t i = 0; i < slices->starts.count; i++) {
        const struct open_start *entry = &slices->starts.items[i];
        slices->orphan_count += entry->event.kind == EVENT_END;
        if (!status && entry->event.kind == EVENT_START)
            status = emit_unfinished(slices, entry,
                                     range_end_ns(slices->trace, entry->process, slices->last_ns));
        free(entry->values);
    }
    slices->starts.count = 0;
    slices->first_free = 0;
    wide_map_free(&slices->start_index);
    return status;
}

/* Not before the thread's last event, so that nothing outlives what is around it. */
static int finish_lane(struct slices *slices, uint32_t thread)
{
    struct lane *lane = &slices->lanes.items[thread];
    if (lane->stack.count == 0)
        return 0;
    uint32_t process = trace_thread_get(slices->trace, thread)->process;
    int64_t end_ns = range_end_ns(slices->trace, process, slices->last_ns);
    return close_from(slices, lane, 0, time_latest(end_ns, lane->last_ns), SLICE_UNFINISHED);
}

int slices_finish_thread(struct slices *slices, uint32_t thread)
{
    return thread < slices->lanes.count ? finish_lane(slices, thread) : 0;
}

int slices_finish(struct slices *slices)
{
    int status = 0;
    for (uint32_t i = 0; !status && i < slices->lanes.count; i++)
        status = finish_lane(slices, i);
    if (!status)
        status = finish_starts(slices);
    if (!status && slices->tracks)
        status = track_slices_finish(slices->tracks, slices->last_ns);
    return status;
}
