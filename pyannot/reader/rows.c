/* SPDX-License-Identifier: MIT */
/* See rows.h. Thread-safety: none. */
#include "rows.h"

#include "pass.h"
#include "reader.h"

#include <errno.h>
#include <stdlib.h>

/* A path is left out if the recording nests absurdly: all open ranges may end at once. */
enum { ROWS_FULL = 1024, STEPS_MAX = 1 << 16, NAMES_FULL = 1 << 20, NAMES_MAX = 1 << 24 };

static int add(struct rows *rows, const struct row *row, const struct args *values)
{
    if (vec_reserve(&rows->values, values->count) != 0 || vec_push(&rows->items, *row) != 0)
        return -ENOMEM;
    struct row *added = &rows->items.items[rows->items.count - 1];
    added->values = rows->values.count;
    added->value_count = values->count;
    for (uint32_t i = 0; i < values->count; i++)
        rows->values.items[rows->values.count++] = values->items[i];
    return 0;
}

int64_t row_self_ns(const struct item *span)
{
    int64_t self_ns = span->end_ns - span->begin_ns - span->child_ns;
    return self_ns > 0 ? self_ns : 0;
}

enum row_range row_range_of(const struct item *item)
{
    return item->lane == LANE_PROCESS                             ? ROW_OVERLAPPING
           : item->lane == LANE_TRACK || item->lane == LANE_QUEUE ? ROW_TRACK
                                                                  : ROW_PUSHED;
}

uint64_t row_id(const struct item *item)
{
    return item->lane == LANE_PROCESS        ? item->event->id
           : row_range_of(item) == ROW_TRACK ? 0
                                             : item->number;
}

static int add_range(struct rows *rows, const struct item *span)
{
    uint32_t depth = span->depth <= NAMES_MAX - rows->names.count ? span->depth : 0;
    if (vec_reserve(&rows->names, depth) != 0)
        return -ENOMEM;
    const struct row row = {
        .event = *span->event,
        .end_ns = span->end_ns,
        .self_ns = row_self_ns(span),
        .names = rows->names.count,
        .name_count = depth,
        .end_thread = span->end_thread,
        .flags = span->flags,
        .depth = span->depth,
        .id = row_id(span),
        .range = row_range_of(span),
    };
    for (uint32_t i = 0; i < depth; i++)
        rows->names.items[rows->names.count++] =
            (struct row_name){span->parents[i]->name, span->parents[i]->scope};
    return add(rows, &row, &span->args);
}

static int add_point(struct rows *rows, const struct item *item)
{
    static const struct args no_values;
    const struct row row = {
        .event = *item->event,
        .end_ns = event_order_ns(item->event),
        .depth = item->lane == LANE_TRACK ? item->depth : 0,
        .range = row_range_of(item),
    };
    return add(rows, &row, item->kind == ITEM_INSTANT ? &item->args : &no_values);
}

static int take(void *context, const struct item *item)
{
    static const enum item_kind kinds[ROW_KIND_COUNT] = {[ROW_RANGE] = ITEM_SPAN,
                                                         [ROW_MARK] = ITEM_INSTANT,
                                                         [ROW_COUNTER] = ITEM_COUNTER,
                                                         [ROW_FLOW] = ITEM_FLOW,
                                                         [ROW_LOSS] = ITEM_LOST};
    struct rows *rows = context;
    if (item->kind != kinds[rows->wanted])
        return 0;
    return item->kind == ITEM_SPAN ? add_range(rows, item) : add_point(rows, item);
}

struct pass *row_pass(struct store_reader *reader,
                      int (*take_item)(void *context, const struct item *item), void *context)
{
    const struct pass_source source = recording_pass_source(reader);
    const struct pass_selection all = PASS_SELECT_ALL;
    const struct sink sink = {take_item, context,
                              WANT_EVENTS | WANT_BEGINS | WANT_NUMBERS | WANT_TIME_ORDER};
    return pass_create(&source, &all, &sink, 1);
}

int rows_init(struct rows *rows, struct store_reader *reader, enum row_kind wanted)
{
    *rows = (struct rows){.wanted = wanted};
    rows->pass = row_pass(reader, take, rows);
    return rows->pass ? 0 : -ENOMEM;
}

void rows_fini(struct rows *rows)
{
    pass_destroy(rows->pass);
    rows->pass = NULL;
    vec_free(&rows->items);
    vec_free(&rows->names);
    vec_free(&rows->values);
}

static bool is_full(const struct rows *rows)
{
    return rows->items.count >= ROWS_FULL || rows->names.count >= NAMES_FULL;
}

int rows_fill(struct rows *rows)
{
    int status = 1;
    rows->items.count = 0;
    rows->names.count = 0;
    rows->values.count = 0;
    for (uint32_t i = 0; status == 1 && !is_full(rows) && i < STEPS_MAX; i++)
        status = pass_step(rows->pass);
    return status == 0 && rows->items.count > 0 ? 1 : status;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int no_events(void *context, struct event_batch *ret_batch)
{
    (void)context, (void)ret_batch;
    return 0;
}

static int take_sample(void *context, const struct item *item)
{
    struct sample_rows *rows = context;
    struct sample kept = *item->sample;
    return value_pool_keep(&rows->values, &kept) != 0 ? -ENOMEM : vec_push(&rows->items, kept);
}

static int create_parts(struct sample_rows *rows, struct store_reader *reader)
{
    const struct pass_selection block = pass_select_block(store_reader_trace(reader));
    const struct pass_source stored = recording_pass_source(reader);
    rows->feed = sample_feed_create(&stored, &block);
    const struct pass_source source = {.trace = stored.trace,
                                       .next_events = no_events,
                                       .next_samples = sample_feed_next,
                                       .context = rows->feed};
    const struct sink sink = {take_sample, rows, WANT_SAMPLES | WANT_TIME_ORDER};
    rows->pass = rows->feed ? pass_create(&source, &block, &sink, 1) : NULL;
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
    for (uint32_t i = 0; status == 1 && rows->items.count < ROWS_FULL && i < STEPS_MAX; i++)
        status = pass_step(rows->pass);
    return status == 0 && rows->items.count > 0 ? 1 : status;
}
