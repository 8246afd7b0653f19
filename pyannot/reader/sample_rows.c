/* SPDX-License-Identifier: MIT */
/* See sample_rows.h. Thread-safety: none. */
#include "sample_rows.h"

#include "recording_source.h"

#include <errno.h>
#include <stdlib.h>

enum { FULL = 1024, STEPS_MAX = 1 << 16 };

static int no_events(void *context, struct event_batch *ret_batch)
{
    (void)context, (void)ret_batch;
    return 0;
}

static int take(void *context, const struct item *item)
{
    struct sample_rows *rows = context;
    struct sample kept = *item->sample;
    return value_pool_keep(&rows->values, &kept) != 0 ? -ENOMEM : vec_push(&rows->items, kept);
}

static int create_parts(struct sample_rows *rows, struct store_reader *reader)
{
    const struct pass_selection all = PASS_SELECT_ALL;
    const struct pass_source stored = recording_pass_source(reader);
    rows->feed = sample_feed_create(&stored, &all);
    const struct pass_source source = {.trace = stored.trace,
                                       .next_events = no_events,
                                       .next_samples = sample_feed_next,
                                       .context = rows->feed};
    const struct sink sink = {take, rows, WANT_SAMPLES | WANT_TIME_ORDER};
    rows->pass = rows->feed ? pass_create(&source, &all, &sink, 1) : NULL;
    return rows->pass ? 0 : -ENOMEM;
}

struct sample_rows *sample_rows_create(struct store_reader *reader)
{
    struct sample_rows *rows = calloc(1, sizeof(*rows));
    if (rows && create_parts(rows, reader) == 0)
        return rows;
    sample_rows_destroy(rows);
    return NULL;
}

void sample_rows_destroy(struct sample_rows *rows)
{
    if (!rows)
        return;
    pass_destroy(rows->pass);
    sample_feed_destroy(rows->feed);
    vec_free(&rows->items);
    value_pool_free(&rows->values);
    free(rows);
}

int sample_rows_fill(struct sample_rows *rows)
{
    int status = 1;
    while (rows->items.count > 0)
        value_pool_drop(&rows->values, &rows->items.items[--rows->items.count]);
    for (uint32_t i = 0; status == 1 && rows->items.count < FULL && i < STEPS_MAX; i++)
        status = pass_step(rows->pass);
    return status == 0 && rows->items.count > 0 ? 1 : status;
}
