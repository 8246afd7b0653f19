/* SPDX-License-Identifier: MIT */
/* See sample_order.h. Holding one sample is enough: late ones are tens of microseconds old. */
#include "sample_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct held_sample {
    struct sample sample;
    int64_t values[SAMPLE_VALUES_MAX];
    bool held;
};

int sample_order_init(struct sample_order *order, const struct trace *trace,
                      int (*take)(void *context, const struct sample *sample), void *context)
{
    *order = (struct sample_order){.sets = trace_sets_get(trace),
                                   .thread_count = trace_thread_count(trace),
                                   .take = take,
                                   .context = context};
    order->threads = calloc(order->thread_count + 1u, sizeof(*order->threads));
    return order->threads ? 0 : -ENOMEM;
}

void sample_order_fini(struct sample_order *order)
{
    free(order->threads);
    *order = (struct sample_order){0};
}

static int let_go(struct sample_order *order, struct held_sample *held)
{
    if (!held->held)
        return 0;
    held->held = false;
    return order->take(order->context, &held->sample);
}

static void hold(const struct sample_order *order, struct held_sample *held,
                 const struct sample *sample)
{
    uint8_t count = sample_set_get(order->sets, sample->set)->count;
    *held = (struct held_sample){.sample = *sample, .held = true};
    if (sample->values && count)
        memcpy(held->values, sample->values, count * sizeof(held->values[0]));
    held->sample.values = sample->values ? held->values : NULL;
}

int sample_order_add(struct sample_order *order, const struct sample *sample)
{
    if (sample->thread >= order->thread_count)
        return 0;
    struct held_sample *held = &order->threads[sample->thread];
    enum sample_role role = sample_role(order->sets, sample);
    bool goes_first =
        role == SAMPLE_ROLE_OFF_CPU && held->held && sample->end_ns <= held->sample.time_ns;
    int error = goes_first ? 0 : let_go(order, held);
    if (error)
        return error;
    if (role != SAMPLE_ROLE_CPU)
        return order->take(order->context, sample);
    hold(order, held, sample);
    return 0;
}

int sample_order_finish(struct sample_order *order)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < order->thread_count; i++)
        error = let_go(order, &order->threads[i]);
    return error;
}
