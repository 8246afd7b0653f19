/* SPDX-License-Identifier: MIT */
/* See source.h. Thread-safety: none. */
#include "source.h"

#include "event_order.h"
#include "range_number.h"

#include <errno.h>
#include <stdlib.h>

struct source {
    struct store_reader *reader;
    const struct trace *trace;
    const struct source_watch *watch;
    struct event_order *order;
    struct slices *slices;
    struct range_numbers numbers;
    bool ended;
};

static int next_batch(void *context, struct event_batch *ret_batch)
{
    return store_reader_next(context, ret_batch);
}

struct source *source_create(struct store_reader *reader, const struct slice_sink *sink,
                             const struct source_watch *watch)
{
    const struct event_order_source events = {.next = next_batch, .context = reader};
    struct source *source = calloc(1, sizeof(*source));
    if (!source)
        return NULL;
    source->reader = reader;
    source->watch = watch;
    source->trace = store_reader_trace(reader);
    source->order = event_order_create(&events);
    source->slices = slices_create(source->trace, sink);
    if (!source->order || !source->slices) {
        source_destroy(source);
        return NULL;
    }
    slices_in_order(source->slices);
    return source;
}

void source_destroy(struct source *source)
{
    if (!source)
        return;
    slices_destroy(source->slices);
    event_order_destroy(source->order);
    range_numbers_fini(&source->numbers);
    free(source);
}

static int feed(struct source *source, struct event *events, uint32_t count)
{
    const struct event_batch batch = {
        .thread = events->thread, .count = count, .events = events, .settled_ns = events->time_ns};
    uint64_t number;
    if (!trace_thread_get(source->trace, events->thread)) /* damage took it; slices.c wants none */
        return 0;
    int error = range_number_note(&source->numbers, source->trace, events, &number);
    if (events->kind == EVENT_PUSH)
        events->id = number;
    if (!error && source->watch)
        error = source->watch->event(source->watch->context, events);
    return error ? error : slices_feed(source->slices, &batch);
}

int source_step(struct source *source)
{
    struct event *events;
    uint32_t count;
    if (source->ended)
        return 0;
    int status = event_order_next(source->order, &events, &count);
    if (status == 0) {
        source->ended = true;
        status = slices_finish(source->slices);
    } else if (status > 0) {
        status = feed(source, events, count);
    }
    return status < 0 ? status : 1;
}
