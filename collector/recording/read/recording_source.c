/* SPDX-License-Identifier: MIT */
/* A recording as a pass reads it. */
#include "read_parts.h"

#include <errno.h>
#include <stdlib.h>

static int next_events(void *context, struct event_batch *ret_batch)
{
    return store_reader_next(context, ret_batch);
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    int status = store_reader_next_samples(context, &ret_batch->samples, &ret_batch->count);
    ret_batch->settled_ns = store_reader_samples_settled_ns(context);
    return status;
}

static int seek(void *context, int64_t from_ns, bool nested, bool in_time)
{
    return store_reader_seek(context, from_ns, nested, in_time);
}

struct pass_source recording_pass_source(struct store_reader *reader)
{
    captures_read(reader);
    return (struct pass_source){.trace = store_reader_trace(reader),
                                .next_events = next_events,
                                .next_samples = next_samples,
                                .context = reader,
                                .begin_ns = store_reader_begin_ns(reader),
                                .seek = seek};
}

/* ---- Samples with their paths ---------------------------------------------------------------- */

struct sample_feed {
    struct pass *pass;
    VEC(struct sample) ready; /* of the last step */
    struct value_pool values;
};

static int take(void *context, const struct item *item)
{
    struct sample_feed *feed = context;
    struct sample kept = *item->sample;
    return value_pool_keep(&feed->values, &kept) != 0 ? -ENOMEM : vec_push(&feed->ready, kept);
}

struct sample_feed *sample_feed_create(const struct pass_source *source,
                                       const struct pass_selection *selection)
{
    struct sample_feed *feed = calloc(1, sizeof(*feed));
    if (!feed)
        return NULL;
    const struct sink sink = {take, feed, WANT_SAMPLES | WANT_PATHS};
    feed->pass = pass_create(source, selection, &sink, 1);
    if (feed->pass)
        return feed;
    free(feed);
    return NULL;
}

void sample_feed_destroy(struct sample_feed *feed)
{
    if (!feed)
        return;
    pass_destroy(feed->pass);
    vec_free(&feed->ready);
    value_pool_free(&feed->values);
    free(feed);
}

int sample_feed_next(void *context, struct sample_batch *ret_batch)
{
    struct sample_feed *feed = context;
    int status = 1;
    while (feed->ready.count > 0)
        value_pool_drop(&feed->values, &feed->ready.items[--feed->ready.count]);
    while (status == 1 && feed->ready.count == 0)
        status = pass_step(feed->pass);
    if (status < 0 || feed->ready.count == 0)
        return status;
    *ret_batch = (struct sample_batch){.samples = feed->ready.items,
                                       .count = (uint32_t)feed->ready.count,
                                       .settled_ns = pass_samples_settled_ns(feed->pass)};
    return 1;
}
