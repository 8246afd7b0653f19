/* SPDX-License-Identifier: MIT */
/* Spans of queues leave the other events of their block: they go to a stream of their own, with the
 * threads that caused them. */
#include "drain.h"

#include <errno.h>

enum { ORIGINS_MAX = 1 << 16 };

/* A thread that has told nothing yet, by its record; it lived at that time, perhaps not any more.
 * 1, 0, -errno. */
static int find_record(struct drain *drain, uint32_t serial, int64_t time_ns, uint32_t *ret_ordinal)
{
    struct annot_shared shared;
    int error = segment_read_shared(drain->segment, &shared);
    uint32_t count = drain->segment->info.thread_count;
    for (uint32_t i = 0; error == 0 && i < count && i < shared.thread_high; i++) {
        struct annot_thread record;
        struct drain_thread *thread;
        int found = segment_read_thread(drain->segment, i, &record);
        if (found < 0)
            return found;
        if (found == 0 || record.serial != serial)
            continue;
        error = drain_thread(drain, serial, &thread);
        if (error == 0 && !thread->entered)
            error = drain_enter_thread(drain, thread,
                                       &(struct drain_who){record.tid, time_ns, record.comm});
        *ret_ordinal = error == 0 ? thread->decode.ordinal : 0;
        return error == 0 ? 1 : error;
    }
    return error;
}

/* One that has left, by what the trace knows. */
static bool find_past(const struct drain *drain, uint32_t serial, uint32_t *ret_ordinal)
{
    uint32_t told = drain->serial_base + serial + 1;
    for (uint32_t i = trace_thread_count(drain->trace); i-- > 0;) {
        const struct trace_thread *thread = trace_thread_get(drain->trace, i);
        if (thread->process == drain->process && thread->serial == told) {
            *ret_ordinal = i;
            return true;
        }
    }
    return false;
}

/* One of which nothing was read yet, by a block of its own. 1, 0, -errno. */
static int find_block(struct drain *drain, const segment_blocks *blocks, uint32_t serial,
                      uint32_t *ret_ordinal)
{
    for (size_t i = 0; i < blocks->count; i++) {
        struct annot_block header;
        struct drain_thread *thread;
        if (blocks->items[i].serial != serial)
            continue;
        int error = segment_read_header(drain->segment, blocks->items[i].index, &header);
        if (error == 0 && header.thread_serial != serial)
            continue;
        if (error == 0)
            error = drain_enter_block(drain, &header, &thread);
        *ret_ordinal = error == 0 ? thread->decode.ordinal : 0;
        return error == 0 ? 1 : error;
    }
    return 0;
}

/* It gave its record back, perhaps since the visit looked for blocks. */
static int find_left(struct drain *drain, uint32_t serial, uint32_t *ret_ordinal)
{
    if (find_past(drain, serial, ret_ordinal))
        return 1;
    int found = find_block(drain, &drain->blocks, serial, ret_ordinal);
    if (found != 0)
        return found;
    drain->fresh.count = 0;
    int error = segment_scan(drain->segment, SEGMENT_RECORDS, &drain->fresh);
    return error != 0 ? error : find_block(drain, &drain->fresh, serial, ret_ordinal);
}

int drain_find_thread(struct drain *drain, uint32_t serial, int64_t time_ns, uint32_t *ret_ordinal)
{
    const uint64_t *index = map64_find(&drain->thread_index, serial + UINT64_C(1));
    if (index && drain->threads.items[*index].entered) {
        *ret_ordinal = drain->threads.items[*index].decode.ordinal;
        return 1;
    }
    const uint64_t *known = map64_find(&drain->origins, serial + UINT64_C(1));
    if (known && *known <= UINT32_MAX) {
        *ret_ordinal = (uint32_t)(*known - 1);
        return 1;
    }
    if (known && *known == drain->visit << 32)
        return 0;
    if (!known && drain->origins.count >= ORIGINS_MAX) /* more threads than there can be */
        return 0;
    int found = find_record(drain, serial, time_ns, ret_ordinal);
    if (found == 0)
        found = find_left(drain, serial, ret_ordinal);
    if (found >= 0 && map64_put(&drain->origins, serial + UINT64_C(1),
                                found ? *ret_ordinal + UINT64_C(1) : drain->visit << 32) != 0)
        return -ENOMEM;
    return found;
}

static int set_cause(struct drain *drain, struct event *span)
{
    uint32_t ordinal = 0, serial = span->color;
    int found = serial ? drain_find_thread(drain, serial - 1, span->origin_ns, &ordinal) : 0;
    span->color = 0;
    if (found < 0 && found != -EFAULT)
        return found;
    if (found > 0)
        span->thread = ordinal;
    else
        span->origin_ns = EVENT_NO_ORIGIN;
    return 0;
}

/* Spans to drain->spans; the others move up, or go where the recording has them already. */
static int split(struct drain *drain)
{
    size_t kept = 0;
    struct event *events = drain->decoded.events.items;
    drain->spans.count = 0;
    if (vec_reserve(&drain->spans, drain->decoder.queues.span_count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < drain->decoded.events.count; i++) {
        if (events[i].kind == EVENT_SPAN)
            drain->spans.items[drain->spans.count++] = events[i];
        else if (!drain->decoder.skip.plain)
            events[kept++] = events[i];
    }
    drain->decoded.events.count = kept;
    return 0;
}

/* The thread itself did it: readers are told that it has such spans. */
static void set_own(struct drain *drain, struct event *span)
{
    struct trace_thread *thread = trace_thread(drain->trace, span->thread);
    span->origin_ns = EVENT_NO_ORIGIN;
    thread->revision += !thread->probed;
    thread->probed = true;
}

/* All have their threads; of what no known thread did, nobody can tell where it lies. */
static int set_causes(struct drain *drain)
{
    size_t kept = 0;
    for (size_t i = 0; i < drain->spans.count; i++) {
        struct event *span = &drain->spans.items[i];
        int error = set_cause(drain, span);
        if (error != 0)
            return error;
        bool own = event_is_own_span(span), known = span->origin_ns != EVENT_NO_ORIGIN;
        if (own && known)
            set_own(drain, span);
        drain->corrupt += own && !known;
        if (known || !own)
            drain->spans.items[kept++] = *span;
    }
    drain->spans.count = kept;
    return 0;
}

static int hand_on_spans(struct drain *drain, uint32_t emitter, const struct batch_source *source)
{
    int error = set_causes(drain);
    const struct event_batch batch = {.thread = emitter,
                                      .count = (uint32_t)drain->spans.count,
                                      .events = drain->spans.items,
                                      .source = *source,
                                      .args = drain->decoded.args.items,
                                      .late = 1};
    return error != 0 || batch.count == 0 ? error : drain->sink(drain->sink_context, &batch);
}

int drain_hand_on_block(struct drain *drain, struct drain_thread *thread,
                        const struct batch_source *source)
{
    uint32_t emitter = thread->decode.ordinal;
    bool any = drain->decoder.queues.span_count != 0 || drain->decoder.skip.plain;
    int error = any ? split(drain) : 0;
    if (error == 0)
        error = drain_leave_out(drain, thread);
    if (error == 0)
        error = drain_hand_on(drain, thread, source, drain->decoded.events.count);
    return error == 0 && any ? hand_on_spans(drain, emitter, source) : error;
}
