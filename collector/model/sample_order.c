/* SPDX-License-Identifier: MIT */
/* See sample_order.h. Thread-safety: none. */
#include "sample_order.h"

#include "time_order.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sample_order {
    struct sample_order_source source;
    VEC(struct sample) waiting, kept;
    VEC(struct time_place) places;
    size_t next, ready; /* of places */
    int64_t settled_ns, last_ns;
    uint64_t late_count;
    bool ended;
};

struct sample_order *sample_order_create(const struct sample_order_source *source)
{
    struct sample_order *order = calloc(1, sizeof(*order));
    if (!order)
        return NULL;
    order->source = *source;
    order->settled_ns = order->last_ns = INT64_MIN;
    return order;
}

void sample_order_destroy(struct sample_order *order)
{
    if (!order)
        return;
    vec_free(&order->waiting);
    vec_free(&order->kept);
    vec_free(&order->places);
    free(order);
}

void sample_order_settle(struct sample_order *order, int64_t settled_ns)
{
    if (settled_ns > order->settled_ns)
        order->settled_ns = settled_ns;
}

uint64_t sample_order_late_count(const struct sample_order *order)
{
    return order->late_count;
}

static int drop_handed_out(struct sample_order *order)
{
    size_t count = order->places.count - order->next;
    order->kept.count = 0;
    if (vec_reserve(&order->kept, count) != 0)
        return -ENOMEM;
    for (size_t i = order->next; i < order->places.count; i++)
        order->kept.items[order->kept.count++] = order->waiting.items[order->places.items[i].index];
    order->waiting.count = 0;
    if (vec_reserve(&order->waiting, count) != 0)
        return -ENOMEM;
    if (count)
        memcpy(order->waiting.items, order->kept.items, count * sizeof(*order->kept.items));
    order->waiting.count = count;
    order->places.count = order->next = order->ready = 0;
    return 0;
}

static int read_samples(struct sample_order *order)
{
    const struct sample *samples;
    uint32_t count;
    int status = 1;
    while (order->waiting.count < SAMPLE_ORDER_MAX && status > 0) {
        status = order->source.next(order->source.context, &samples, &count);
        if (status <= 0)
            break;
        if (vec_reserve(&order->waiting, count) != 0)
            return -ENOMEM;
        memcpy(order->waiting.items + order->waiting.count, samples, count * sizeof(*samples));
        order->waiting.count += count;
    }
    order->ended = status == 0;
    return status < 0 ? status : 0;
}

static int sort_waiting(struct sample_order *order)
{
    size_t count = order->waiting.count;
    if (vec_reserve(&order->places, 2 * count + 2) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        order->places.items[i] =
            (struct time_place){sample_told_ns(&order->waiting.items[i]), (uint32_t)i};
    order->places.count = count;
    time_order_sort(order->places.items, order->places.items + count, count);
    return 0;
}

static size_t count_ready(const struct sample_order *order)
{
    size_t count = order->places.count, ready = 0;
    if ((order->ended && !order->source.live) || order->settled_ns == INT64_MAX)
        return count;
    while (ready < count && order->places.items[ready].time_ns < order->settled_ns)
        ready++;
    return ready || count < SAMPLE_ORDER_MAX ? ready : (count + 1) / 2;
}

int sample_order_next(struct sample_order *order, const struct sample **ret_sample)
{
    if (order->next == order->ready) {
        int error = drop_handed_out(order);
        if (!error)
            error = read_samples(order);
        if (!error)
            error = sort_waiting(order);
        if (error)
            return error;
        order->ready = count_ready(order);
        if (!order->ready)
            return 0;
    }
    const struct time_place *place = &order->places.items[order->next++];
    order->late_count += place->time_ns < order->last_ns;
    if (place->time_ns > order->last_ns)
        order->last_ns = place->time_ns;
    *ret_sample = &order->waiting.items[place->index];
    return 1;
}
