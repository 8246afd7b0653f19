/* SPDX-License-Identifier: MIT */
/* See rows.h. Thread-safety: none. */
#include "rows.h"

#include <errno.h>

/* A path is left out where the recording nests absurdly: all open ranges may end at once. */
enum { ROWS_FULL = 1024, STEPS_MAX = 1 << 16, NAMES_FULL = 1 << 20, NAMES_MAX = 1 << 24 };

static int add(struct rows *rows, const struct row *row, const struct slice_values *values)
{
    uint32_t count = values ? values->count : 0;
    if (vec_reserve(&rows->values, count) != 0 || vec_push(&rows->items, *row) != 0)
        return -ENOMEM;
    struct row *added = &rows->items.items[rows->items.count - 1];
    added->values = rows->values.count;
    added->value_count = count;
    for (uint32_t i = 0; i < count; i++)
        rows->values.items[rows->values.count++] = values->items[i];
    return 0;
}

int64_t row_self_ns(const struct slice *slice)
{
    int64_t self_ns = slice->end_ns - slice->begin->time_ns - slice->child_ns;
    return self_ns > 0 ? self_ns : 0;
}

static int add_range(struct rows *rows, enum row_range range, const struct slice *slice)
{
    uint32_t depth = slice->parents ? slice->depth : 0;
    if (depth > NAMES_MAX - rows->names.count)
        depth = 0;
    if (vec_reserve(&rows->names, depth) != 0)
        return -ENOMEM;
    const struct row row = {
        .event = *slice->begin,
        .end_ns = slice->end_ns,
        .self_ns = row_self_ns(slice),
        .names = rows->names.count,
        .name_count = depth,
        .end_thread = range == ROW_PUSHED ? slice->begin->thread : slice->end_thread,
        .flags = slice->flags,
        .depth = slice->depth,
        .range = range,
    };
    for (uint32_t i = 0; i < depth; i++)
        rows->names.items[rows->names.count++] =
            (struct row_name){slice->parents[i]->name, slice->parents[i]->domain};
    return add(rows, &row, &slice->values);
}

static int on_pushed(void *context, const struct slice *slice)
{
    return add_range(context, ROW_PUSHED, slice);
}

static int on_started(void *context, const struct slice *slice)
{
    return add_range(context, ROW_OVERLAPPING, slice);
}

static int on_track_closed(void *context, const struct slice *slice)
{
    return add_range(context, ROW_TRACK, slice);
}

static int on_mark(void *context, const struct event *event, const struct slice_values *values)
{
    const struct row row = {.event = *event, .end_ns = event->time_ns};
    return add(context, &row, values);
}

static int on_track_mark(void *context, const struct event *event,
                         const struct slice_values *values, uint32_t depth)
{
    const struct row row = {
        .event = *event, .end_ns = event->time_ns, .depth = depth, .range = ROW_TRACK};
    return add(context, &row, values);
}

static int on_point(void *context, const struct event *event)
{
    const struct row row = {.event = *event, .end_ns = event_told_ns(event)};
    return add(context, &row, NULL);
}

int rows_init(struct rows *rows, struct store_reader *reader, enum row_kind wanted)
{
    struct slice_sink sink = {.context = rows};
    *rows = (struct rows){.wanted = wanted};
    switch (wanted) {
    case ROW_RANGE:
        sink.pushed = on_pushed;
        sink.started = on_started;
        sink.track_closed = on_track_closed;
        break;
    case ROW_MARK:
        sink.mark = on_mark;
        sink.track_mark = on_track_mark;
        break;
    case ROW_COUNTER:
        sink.counter = on_point;
        break;
    case ROW_FLOW:
        sink.flow = on_point;
        break;
    default:
        sink.lost = on_point;
    }
    rows->source = source_create(reader, &sink, NULL);
    return rows->source ? 0 : -ENOMEM;
}

void rows_fini(struct rows *rows)
{
    source_destroy(rows->source);
    rows->source = NULL;
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
        status = source_step(rows->source);
    return status == 0 && rows->items.count > 0 ? 1 : status;
}
