/* SPDX-License-Identifier: MIT */
/* Pairing behind slices.h.
 *
 * Pushed ranges: a stack per thread. Each open range remembers the level (number of open ranges
 * below it) that the producer gave it, so that a pop finds its range even when others were lost in
 * between. Start/end ranges: a table by process and id; an end that comes before its start, from
 * another thread, waits in the same table. Thread-safety: none. */
#include "slices.h"

#include "hash.h"
#include "map64.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>

struct open_push {
    struct event begin;
    uint64_t level;
    int64_t child_ns;
};

struct lane {
    struct open_push *open;
    const struct event **begins; /* of `open`, as the sink wants them */
    size_t count, capacity, begins_capacity;
    uint64_t depth;  /* as the producer counts it */
    int64_t last_ns; /* of its last batch */
};

/* A start without its end, or an end without its start. */
struct open_start {
    struct event event;
    uint32_t process;
    uint32_t next_free; /* index + 1 */
};

struct slices {
    const struct trace *trace;
    struct slice_sink sink;
    VEC(struct lane) lanes; /* by thread ordinal */
    VEC(struct open_start) starts;
    uint32_t first_free; /* index + 1 */
    struct map64 start_index;
    int64_t last_ns;
    uint64_t orphan_count;
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

void slices_destroy(struct slices *slices)
{
    if (!slices)
        return;
    for (size_t i = 0; i < slices->lanes.count; i++) {
        free(slices->lanes.items[i].open);
        free(slices->lanes.items[i].begins);
    }
    vec_free(&slices->lanes);
    vec_free(&slices->starts);
    map64_free(&slices->start_index);
    free(slices);
}

uint64_t slices_orphan_count(const struct slices *slices)
{
    return slices->orphan_count;
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Foreign times may add up to anything. */
static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* ---- Pushed ranges ---- */

static int grow_lane(struct lane *lane)
{
    if (vec_grow((void **)&lane->open, &lane->capacity, lane->count + 1, sizeof(*lane->open)) ||
        vec_grow((void **)&lane->begins, &lane->begins_capacity, lane->capacity,
                 sizeof(*lane->begins)))
        return -ENOMEM;
    for (size_t i = 0; i < lane->capacity; i++)
        lane->begins[i] = &lane->open[i].begin;
    return 0;
}

static int push(struct slices *slices, struct lane *lane, const struct event *event)
{
    if (lane->count >= lane->begins_capacity && grow_lane(lane) != 0)
        return -ENOMEM;
    struct open_push *open = &lane->open[lane->count++];
    *open = (struct open_push){.begin = *event, .level = lane->depth++};
    if (!slices->sink.opened)
        return 0;
    return slices->sink.opened(slices->sink.context, &open->begin, (uint32_t)lane->count - 1);
}

static int close_top(struct slices *slices, struct lane *lane, int64_t end_ns, uint32_t flags)
{
    struct open_push *open = &lane->open[--lane->count];
    struct slice slice = {
        .begin = &open->begin,
        .end_ns = latest(end_ns, open->begin.time_ns),
        .flags = flags,
        .end_thread = open->begin.thread,
        .parents = lane->begins,
        .depth = (uint32_t)lane->count,
        .child_ns = open->child_ns,
    };
    if (lane->count)
        lane->open[lane->count - 1].child_ns = saturating_add(lane->open[lane->count - 1].child_ns,
                                                              slice.end_ns - open->begin.time_ns);
    return slices->sink.pushed ? slices->sink.pushed(slices->sink.context, &slice) : 0;
}

/* Closes the ranges at `level` and above, innermost first. */
static int close_from(struct slices *slices, struct lane *lane, uint64_t level, int64_t end_ns,
                      uint32_t flags)
{
    int status = 0;
    while (!status && lane->count && lane->open[lane->count - 1].level >= level)
        status = close_top(slices, lane, end_ns, flags);
    return status;
}

static int pop(struct slices *slices, struct lane *lane, const struct event *event)
{
    bool known = event->depth < lane->depth;
    int status = 0;
    if (known) /* above it: their pops were lost */
        status = close_from(slices, lane, event->depth + 1, event->time_ns, SLICE_END_LOST);
    lane->depth = event->depth;
    if (status)
        return status;
    if (known && lane->count && lane->open[lane->count - 1].level == event->depth)
        return close_top(slices, lane, event->time_ns, 0);
    slices->orphan_count++;
    return 0;
}

static int gap(struct slices *slices, struct lane *lane, const struct event *event)
{
    int status = close_from(slices, lane, event->depth, event->end_ns, SLICE_END_LOST);
    lane->depth = event->depth;
    slices->last_ns = latest(slices->last_ns, event->end_ns);
    if (status || !slices->sink.lost)
        return status;
    return slices->sink.lost(slices->sink.context, event);
}

static int edge(struct slices *slices, struct lane *lane, const struct event *event)
{
    lane->depth = 0;
    return close_from(slices, lane, 0, event->time_ns, SLICE_UNFINISHED);
}

/* ---- Start/end ranges ---- */

static uint64_t start_key(uint32_t process, uint64_t id)
{
    uint64_t key = hash_u64(id ^ hash_u64((uint64_t)process + 1));
    return key ? key : 1;
}

static int remember(struct slices *slices, uint64_t key, uint32_t process,
                    const struct event *event)
{
    struct open_start entry = {.event = *event, .process = process};
    uint32_t index = slices->first_free;
    if (index == 0) {
        if (vec_push(&slices->starts, entry) != 0)
            return -ENOMEM;
        index = (uint32_t)slices->starts.count;
    } else {
        slices->first_free = slices->starts.items[index - 1].next_free;
        slices->starts.items[index - 1] = entry;
    }
    return map64_put(&slices->start_index, key, index);
}

static void forget(struct slices *slices, uint64_t index)
{
    struct open_start *entry = &slices->starts.items[index - 1];
    entry->event.kind = 0;
    entry->next_free = slices->first_free;
    slices->first_free = (uint32_t)index;
}

static int emit_started(struct slices *slices, const struct event *begin, int64_t end_ns,
                        uint32_t end_thread, uint32_t flags)
{
    struct slice slice = {
        .begin = begin,
        .end_ns = latest(end_ns, begin->time_ns),
        .flags = flags,
        .end_thread = end_thread,
    };
    return slices->sink.started ? slices->sink.started(slices->sink.context, &slice) : 0;
}

/* An earlier entry of the same key that is no partner: the id was used twice. */
static int displace(struct slices *slices, const struct event *old, const struct event *by)
{
    if (old->kind == EVENT_START)
        return emit_started(slices, old, by->time_ns, old->thread, SLICE_UNFINISHED);
    slices->orphan_count++;
    return 0;
}

static int start_or_end(struct slices *slices, const struct event *event)
{
    const struct trace_thread *thread = trace_thread_get(slices->trace, event->thread);
    uint32_t process = thread ? thread->process : 0;
    uint64_t key = start_key(process, event->id), index;
    if (!map64_take(&slices->start_index, key, &index))
        return remember(slices, key, process, event);
    struct open_start partner = slices->starts.items[index - 1];
    forget(slices, index);
    if (partner.event.kind == event->kind || partner.event.id != event->id ||
        partner.process != process) {
        int status = displace(slices, &partner.event, event);
        return status ? status : remember(slices, key, process, event);
    }
    const struct event *begin = event->kind == EVENT_START ? event : &partner.event;
    const struct event *end = event->kind == EVENT_START ? &partner.event : event;
    return emit_started(slices, begin, end->time_ns, end->thread, 0);
}

/* ---- Feeding ---- */

static int pass_on(int (*callback)(void *context, const struct event *event), void *context,
                   const struct event *event)
{
    return callback ? callback(context, event) : 0;
}

static int feed_event(struct slices *slices, struct lane *lane, const struct event *event)
{
    switch (event->kind) {
    case EVENT_PUSH:
        return push(slices, lane, event);
    case EVENT_POP:
        return pop(slices, lane, event);
    case EVENT_START:
    case EVENT_END:
        return start_or_end(slices, event);
    case EVENT_MARK:
        return pass_on(slices->sink.mark, slices->sink.context, event);
    case EVENT_COUNTER:
        return pass_on(slices->sink.counter, slices->sink.context, event);
    case EVENT_LOST:
        return gap(slices, lane, event);
    case EVENT_EDGE:
        return edge(slices, lane, event);
    default:
        return 0;
    }
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
    for (uint32_t i = 0; !status && i < batch->count; i++)
        status = feed_event(slices, &slices->lanes.items[batch->thread], &batch->events[i]);
    int64_t last_ns = batch->events[batch->count - 1].time_ns;
    slices->lanes.items[batch->thread].last_ns = last_ns;
    slices->last_ns = latest(slices->last_ns, last_ns);
    return status;
}

/* ---- The end ---- */

static int64_t end_of(const struct slices *slices, uint32_t process_ordinal)
{
    const struct trace_process *process = trace_process_get(slices->trace, process_ordinal);
    int64_t session_end_ns = trace_session_get(slices->trace)->end_ns;
    if (process && process->end_ns)
        return process->end_ns;
    return latest(session_end_ns, slices->last_ns);
}

static int finish_starts(struct slices *slices)
{
    int status = 0;
    for (size_t i = 0; !status && i < slices->starts.count; i++) {
        const struct open_start *entry = &slices->starts.items[i];
        slices->orphan_count += entry->event.kind == EVENT_END;
        if (entry->event.kind == EVENT_START)
            status = emit_started(slices, &entry->event, end_of(slices, entry->process),
                                  entry->event.thread, SLICE_UNFINISHED);
    }
    slices->starts.count = 0;
    slices->first_free = 0;
    map64_free(&slices->start_index);
    return status;
}

/* Not before the thread's last event, so that nothing outlives what is around it. */
static int finish_lane(struct slices *slices, uint32_t thread)
{
    struct lane *lane = &slices->lanes.items[thread];
    if (lane->count == 0)
        return 0;
    int64_t end_ns = end_of(slices, trace_thread_get(slices->trace, thread)->process);
    return close_from(slices, lane, 0, latest(end_ns, lane->last_ns), SLICE_UNFINISHED);
}

int slices_finish(struct slices *slices)
{
    int status = 0;
    for (uint32_t i = 0; !status && i < slices->lanes.count; i++)
        status = finish_lane(slices, i);
    return status ? status : finish_starts(slices);
}
