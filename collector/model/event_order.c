/* SPDX-License-Identifier: MIT */
/* Waiting events lie in one array, each before its key-values; what is sorted are their places.
 * Thread-safety: none. */
#include "event_order.h"

#include "time_order.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef VEC(struct event) event_vec;

struct event_order {
    struct event_order_source source;
    event_vec waiting, kept; /* `kept`: room for what goes on waiting */
    VEC(struct time_place) places;
    size_t next, ready; /* of places: [next, ready) can be handed out */
    size_t limit;       /* so many wait before they are looked at */
    int64_t settled_ns;
    int64_t last_ns; /* of the last that was handed out */
    uint64_t late_count;
    bool ended;
};

struct event_order *event_order_create(const struct event_order_source *source)
{
    struct event_order *order = calloc(1, sizeof(*order));
    if (!order)
        return NULL;
    order->source = *source;
    order->limit = EVENT_ORDER_MIN;
    order->settled_ns = order->last_ns = INT64_MIN;
    return order;
}

void event_order_destroy(struct event_order *order)
{
    if (!order)
        return;
    vec_free(&order->waiting);
    vec_free(&order->kept);
    vec_free(&order->places);
    free(order);
}

void event_order_settle(struct event_order *order, int64_t settled_ns)
{
    if (settled_ns > order->settled_ns)
        order->settled_ns = settled_ns;
}

uint64_t event_order_late_count(const struct event_order *order)
{
    return order->late_count;
}

static size_t length_at(const struct event_order *order, size_t index)
{
    const event_vec *waiting = &order->waiting;
    return 1 + event_payload_count(waiting->items, (uint32_t)waiting->count, (uint32_t)index);
}

/* Drops what was handed out; the rest lies in order of time afterwards. 0 or -ENOMEM. */
static int drop_handed_out(struct event_order *order)
{
    order->kept.count = 0;
    for (size_t i = order->next; i < order->places.count; i++) {
        size_t index = order->places.items[i].index, length = length_at(order, index);
        if (vec_reserve(&order->kept, length) != 0)
            return -ENOMEM;
        memcpy(order->kept.items + order->kept.count, order->waiting.items + index,
               length * sizeof(*order->waiting.items));
        order->kept.count += length;
    }
    event_vec waiting = order->waiting;
    order->waiting = order->kept;
    order->kept = waiting;
    order->places.count = order->next = order->ready = 0;
    return 0;
}

/* Key-values at the begin of a batch belong to nothing. */
static int take_batch(struct event_order *order, const struct event_batch *batch)
{
    uint32_t begin = 0;
    while (begin < batch->count && batch->events[begin].kind == EVENT_PAYLOAD)
        begin++;
    uint32_t count = batch->count - begin;
    if (vec_reserve(&order->waiting, count) != 0)
        return -ENOMEM;
    if (count)
        memcpy(order->waiting.items + order->waiting.count, batch->events + begin,
               count * sizeof(*batch->events));
    order->waiting.count += count;
    event_order_settle(order, batch->settled_ns ? batch->settled_ns : INT64_MIN);
    return 0;
}

/* Until `limit` wait, or the source has no more. */
static int read_batches(struct event_order *order)
{
    struct event_batch batch;
    int status = 1;
    while (order->waiting.count < order->limit && status > 0) {
        status = order->source.next(order->source.context, &batch);
        if (status > 0 && take_batch(order, &batch) != 0)
            return -ENOMEM;
    }
    order->ended = status == 0;
    return status < 0 ? status : 0;
}

static int sort_waiting(struct event_order *order)
{
    order->places.count = 0;
    if (vec_reserve(&order->places, 2 * order->waiting.count + 2) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < order->waiting.count; i += length_at(order, i))
        order->places.items[order->places.count++] =
            (struct time_place){event_told_ns(&order->waiting.items[i]), (uint32_t)i};
    time_order_sort(order->places.items, order->places.items + order->places.count,
                    order->places.count);
    return 0;
}

/* How many of the places can go on. */
static size_t count_ready(const struct event_order *order)
{
    size_t count = order->places.count, ready = 0;
    if (order->ended && !order->source.live)
        return count;
    while (ready < count && order->places.items[ready].time_ns < order->settled_ns)
        ready++;
    if (ready == 0 && order->waiting.count >= EVENT_ORDER_MAX)
        ready = (count + 1) / 2;
    return order->settled_ns == INT64_MAX ? count : ready;
}

/* 1: some are ready; 0: none will be for now; -errno. */
static int make_ready(struct event_order *order)
{
    int error = drop_handed_out(order);
    order->ended = false;
    order->limit = EVENT_ORDER_MIN;
    while (!error && !order->ready && !order->ended) {
        while (order->limit <= order->waiting.count)
            order->limit *= 2;
        error = read_batches(order);
        if (!error)
            error = sort_waiting(order);
        if (!error)
            order->ready = count_ready(order);
    }
    if (error)
        order->places.count = order->ready = 0;
    return error ? error : order->ready > 0;
}

int event_order_next(struct event_order *order, struct event **ret_events, uint32_t *ret_count)
{
    if (order->next == order->ready) {
        int status = make_ready(order);
        if (status != 1)
            return status;
    }
    size_t index = order->places.items[order->next++].index;
    struct event *event = &order->waiting.items[index];
    *ret_events = event;
    *ret_count = (uint32_t)length_at(order, index);
    int64_t told_ns = event_told_ns(event);
    order->late_count += told_ns < order->last_ns;
    if (told_ns > order->last_ns)
        order->last_ns = told_ns;
    return 1;
}

static int next_of_order(void *context, struct event **ret_events, uint32_t *ret_count)
{
    return event_order_next(context, ret_events, ret_count);
}

struct event_stream event_order_stream(struct event_order *order)
{
    return (struct event_stream){next_of_order, order, order->source.live};
}
