/* SPDX-License-Identifier: MIT */
/* See column_table.h. Thread-safety: none. */
#include "column_table.h"

#include "reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 1 << 18, ROWS_FIRST = 1024 };

/* Columns of each kind; the first ones are common to all. */
enum { OF_TIME = 0, OF_NAME, OF_DOMAIN, OF_PROCESS, OF_THREAD, OF_FIRST };

enum {
    RANGE_CATEGORY = OF_FIRST,
    RANGE_END,
    RANGE_SELF,
    RANGE_ID,
    RANGE_PAYLOAD,
    RANGE_END_THREAD,
    RANGE_TRACK_OF,
    RANGE_PARENT,
    RANGE_DEPTH,
    RANGE_KIND,
    RANGE_LEVEL,
    RANGE_UNFINISHED,
    RANGE_END_LOST,
    RANGE_OBSERVER,
    RANGE_ROLE,
};

enum { MARK_CATEGORY = OF_FIRST, MARK_PAYLOAD, MARK_TRACK, MARK_LEVEL, MARK_OBSERVER, MARK_ROLE };

enum { COUNTER_VALUE = OF_FIRST };

enum { FLOW_ID = OF_FIRST, FLOW_KIND };

enum { LOSS_END = OF_FIRST, LOSS_RECORDS };

/* Texts of samples are the reasons of waits. */
enum {
    SAMPLE_REASON = OF_NAME,
    SAMPLE_STACK = OF_DOMAIN,
    SAMPLE_RANGES = OF_FIRST,
    SAMPLE_END,
    SAMPLE_ID,
    SAMPLE_CPU,
    SAMPLE_KERNEL,
    SAMPLE_COLLECTING,
    SAMPLE_GIL,
    SAMPLE_OPEN,
    SAMPLE_VALUES,
};

#define COMMON(time, name)                                                                         \
    {time, 'q', NULL}, {name, 'i', NULL}, {"domain", 'i', NULL}, {"process", 'i', NULL},           \
    {                                                                                              \
        "thread", 'i', NULL                                                                        \
    }

static const struct column_items columns_of[ROW_KIND_COUNT][COLUMN_TABLE_MAX] = {
    [ROW_RANGE] = {COMMON("begin_ns", "name"),
                   {"category", 'i', NULL},
                   {"end_ns", 'q', NULL},
                   {"self_ns", 'q', NULL},
                   {"id", 'Q', NULL},
                   {"payload", 'd', NULL},
                   {"end_thread", 'i', NULL},
                   {"track", 'i', NULL},
                   {"parent", 'i', NULL},
                   {"depth", 'i', NULL},
                   {"kind", 'B', NULL},
                   {"level", 'B', NULL},
                   {"unfinished", '?', NULL},
                   {"end_lost", '?', NULL},
                   {"observer", 'i', NULL},
                   {"role", 'i', NULL}},
    [ROW_MARK] = {COMMON("time_ns", "name"),
                  {"category", 'i', NULL},
                  {"payload", 'd', NULL},
                  {"track", 'i', NULL},
                  {"level", 'B', NULL},
                  {"observer", 'i', NULL},
                  {"role", 'i', NULL}},
    [ROW_COUNTER] = {COMMON("time_ns", "name"), {"value", 'd', NULL}},
    [ROW_FLOW] = {COMMON("time_ns", "name"), {"id", 'Q', NULL}, {"kind", 'B', NULL}},
    [ROW_LOSS] = {COMMON("begin_ns", "cause"), {"end_ns", 'q', NULL}, {"lost_count", 'Q', NULL}},
};

static const struct column_items sample_columns[SAMPLE_VALUES] = {
    [OF_TIME] = {"time_ns", 'q', NULL},
    [SAMPLE_REASON] = {"reason", 'i', NULL},
    [SAMPLE_STACK] = {"stack", 'i', NULL},
    [OF_PROCESS] = {"process", 'i', NULL},
    [OF_THREAD] = {"thread", 'i', NULL},
    [SAMPLE_RANGES] = {"ranges", 'i', NULL},
    [SAMPLE_END] = {"end_ns", 'q', NULL},
    [SAMPLE_ID] = {"id", 'Q', NULL},
    [SAMPLE_CPU] = {"cpu", 'i', NULL},
    [SAMPLE_KERNEL] = {"in_kernel", '?', NULL},
    [SAMPLE_COLLECTING] = {"collecting", '?', NULL},
    [SAMPLE_GIL] = {"holds_gil", '?', NULL},
    [SAMPLE_OPEN] = {"unfinished", '?', NULL},
};

size_t column_table_item_size(char format)
{
    return format == 'i' ? sizeof(int32_t) : format == 'B' || format == '?' ? 1 : sizeof(int64_t);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void put_time(struct column_table *table, unsigned column, size_t row, int64_t time_ns)
{
    uint64_t after = (uint64_t)time_ns - (uint64_t)table->begin_ns; /* foreign: may wrap */
    ((uint64_t *)table->columns[column].items)[row] = after;
}

static void put64(struct column_table *table, unsigned column, size_t row, uint64_t value)
{
    ((uint64_t *)table->columns[column].items)[row] = value;
}

static void put32(struct column_table *table, unsigned column, size_t row, int32_t value)
{
    ((int32_t *)table->columns[column].items)[row] = value;
}

static void put8(struct column_table *table, unsigned column, size_t row, uint8_t value)
{
    ((uint8_t *)table->columns[column].items)[row] = value;
}

static void put_number(struct column_table *table, unsigned column, size_t row,
                       const struct event *event)
{
    double value = NAN;
    if (event->value_kind == VALUE_INT64)
        value = (double)event->value.int64;
    else if (event->value_kind == VALUE_UINT64 || event->value_kind == VALUE_BOOL)
        value = (double)event->value.uint64;
    else if (event->value_kind == VALUE_DOUBLE)
        value = event->value.float64;
    ((double *)table->columns[column].items)[row] = value;
}

/* 0, -ENOMEM or -EOVERFLOW. */
static int put_text(struct column_table *table, unsigned column, size_t row, const char *bytes,
                    size_t length)
{
    int64_t number = strtab_add(&table->strings, bytes, length);
    if (number > INT32_MAX)
        return -EOVERFLOW;
    put32(table, column, row, (int32_t)number);
    return number < 0 ? (int)number : 0;
}

static int put_string(struct column_table *table, unsigned column, size_t row, uint32_t ordinal)
{
    if (ordinal == 0) {
        put32(table, column, row, -1);
        return 0;
    }
    const uint64_t *known = map64_find(&table->string_of, (uint64_t)ordinal + 1);
    if (known) {
        put32(table, column, row, (int32_t)*known);
        return 0;
    }
    const struct trace_string *string = trace_string(table->trace, ordinal);
    int error = put_text(table, column, row, string->bytes, string->length);
    int32_t number = ((int32_t *)table->columns[column].items)[row];
    return error ? error : map64_put(&table->string_of, (uint64_t)ordinal + 1, (uint64_t)number);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int grow(struct column_table *table)
{
    size_t capacity = table->capacity ? table->capacity + table->capacity / 2 : ROWS_FIRST;
    for (unsigned i = 0; i < table->column_count; i++) {
        struct column_items *column = &table->columns[i];
        void *items = realloc(column->items, capacity * column_table_item_size(column->format));
        if (!items)
            return -ENOMEM;
        column->items = items;
    }
    table->capacity = capacity;
    return 0;
}

/* Adds a row with its time and thread. Returns its number, -ENOMEM or -EOVERFLOW. */
static int64_t add_empty(struct column_table *table, int64_t time_ns, uint32_t ordinal)
{
    if (table->count >= INT32_MAX)
        return -EOVERFLOW;
    if (table->count == table->capacity && grow(table) != 0)
        return -ENOMEM;
    const struct trace_thread *thread = trace_thread_get(table->trace, ordinal);
    put_time(table, OF_TIME, table->count, time_ns);
    put32(table, OF_PROCESS, table->count, thread ? (int32_t)thread->process : -1);
    put32(table, OF_THREAD, table->count, (int32_t)ordinal);
    return (int64_t)table->count++;
}

/* Adds a row with the columns common to all events. */
static int64_t add_row(struct column_table *table, const struct event *event)
{
    int64_t row = add_empty(table, event->time_ns, event->thread);
    if (row < 0)
        return row;
    int error = put_string(table, OF_NAME, (size_t)row, event->name);
    if (!error)
        error = put_string(table, OF_DOMAIN, (size_t)row,
                           trace_scope_domain(table->trace, event->scope));
    return error ? error : row;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static struct column_lane *find_lane(struct column_table *table, const struct event *event,
                                     enum row_range range)
{
    uint64_t line = range == ROW_TRACK ? event->lane : event->thread;
    const struct wide_key *key = WIDE_KEY(range, line);
    const uint64_t *found = wide_map_find(&table->lane_of, key);
    if (found)
        return &table->lanes.items[*found - 1];
    if (vec_push(&table->lanes, ((struct column_lane){0})) != 0 ||
        wide_map_put(&table->lane_of, key, table->lanes.count) != 0)
        return NULL;
    return &table->lanes.items[table->lanes.count - 1];
}

/* Adds a row that is not ended yet. */
static int64_t begin_range(struct column_table *table, const struct item *item)
{
    const struct event *event = item->event;
    enum row_range range = row_range_of(item);
    int64_t row = add_row(table, event);
    if (row < 0)
        return row;
    size_t at = (size_t)row;
    bool track = range == ROW_TRACK && event->lane <= INT32_MAX;
    int error =
        put_string(table, RANGE_CATEGORY, at, trace_scope_category(table->trace, event->scope));
    put_time(table, RANGE_END, at, event->time_ns);
    put64(table, RANGE_SELF, at, 0);
    put64(table, RANGE_ID, at, row_id(item));
    put_number(table, RANGE_PAYLOAD, at, event);
    put32(table, RANGE_END_THREAD, at, (int32_t)event->thread);
    put32(table, RANGE_TRACK_OF, at, track ? (int32_t)event->lane : -1);
    put32(table, RANGE_PARENT, at, -1);
    put32(table, RANGE_DEPTH, at, 0);
    put8(table, RANGE_KIND, at, (uint8_t)range);
    put8(table, RANGE_LEVEL, at, event->level);
    put8(table, RANGE_UNFINISHED, at, 1);
    put8(table, RANGE_END_LOST, at, 0);
    put32(table, RANGE_OBSERVER, at, trace_scope(table->trace, event->scope)->observer);
    put32(table, RANGE_ROLE, at, trace_scope(table->trace, event->scope)->role);
    return error ? error : row;
}

static void end_range(struct column_table *table, size_t row, const struct item *span)
{
    put_time(table, RANGE_END, row, span->end_ns);
    put64(table, RANGE_SELF, row, (uint64_t)row_self_ns(span));
    put32(table, RANGE_END_THREAD, row, (int32_t)span->end_thread);
    put8(table, RANGE_UNFINISHED, row, (span->flags & ITEM_UNFINISHED) != 0);
    put8(table, RANGE_END_LOST, row, (span->flags & ITEM_END_LOST) != 0);
}

static int open_nested(struct column_table *table, const struct item *begin)
{
    uint32_t depth = begin->depth;
    int64_t row = begin_range(table, begin);
    struct column_lane *lane = find_lane(table, begin->event, row_range_of(begin));
    if (row < 0 || !lane)
        return row < 0 ? (int)row : -ENOMEM;
    if (lane->rows.count > depth)
        lane->rows.count = depth;
    if (depth > 0 && lane->rows.count == depth)
        put32(table, RANGE_PARENT, (size_t)row, (int32_t)lane->rows.items[depth - 1]);
    put32(table, RANGE_DEPTH, (size_t)row, (int32_t)depth);
    return vec_push(&lane->rows, (uint32_t)row);
}

static int close_nested(struct column_table *table, const struct item *span)
{
    struct column_lane *lane = find_lane(table, span->event, row_range_of(span));
    if (!lane)
        return -ENOMEM;
    if (span->depth >= lane->rows.count)
        return 0;
    end_range(table, lane->rows.items[span->depth], span);
    lane->rows.count = span->depth;
    return 0;
}

/* Ids repeat in other processes, and in hostile files at any time. */
static struct wide_key start_key(const struct event *event)
{
    return *WIDE_KEY(event->id, (uint64_t)event->time_ns, event->thread);
}

static int open_started(struct column_table *table, const struct item *begin)
{
    const struct wide_key key = start_key(begin->event);
    int64_t row = begin_range(table, begin);
    return row < 0 ? (int)row : wide_map_put(&table->started, &key, (uint64_t)row + 1);
}

static int close_started(struct column_table *table, const struct item *span)
{
    const struct wide_key key = start_key(span->event);
    uint64_t row;
    if (wide_map_take(&table->started, &key, &row))
        end_range(table, (size_t)row - 1, span);
    return 0;
}

static int add_span(struct column_table *table, const struct item *span)
{
    int64_t row = begin_range(table, span);
    if (row >= 0)
        end_range(table, (size_t)row, span);
    return row < 0 ? (int)row : 0;
}

static int take_range(struct column_table *table, const struct item *item)
{
    if (item->lane == LANE_QUEUE)
        return add_span(table, item);
    bool nested = item->lane != LANE_PROCESS;
    if (item->kind == ITEM_OPENED)
        return nested ? open_nested(table, item) : open_started(table, item);
    if (item->kind == ITEM_SPAN)
        return nested ? close_nested(table, item) : close_started(table, item);
    return 0;
}

/* ---- Other kinds ----------------------------------------------------------------------------- */

static int add_mark(struct column_table *table, const struct item *item)
{
    const struct event *event = item->event;
    bool track = item->lane == LANE_TRACK && event->lane <= INT32_MAX;
    int64_t row = add_row(table, event);
    if (row < 0)
        return (int)row;
    put_number(table, MARK_PAYLOAD, (size_t)row, event);
    put32(table, MARK_TRACK, (size_t)row, track ? (int32_t)event->lane : -1);
    put8(table, MARK_LEVEL, (size_t)row, event->level);
    put32(table, MARK_OBSERVER, (size_t)row, trace_scope(table->trace, event->scope)->observer);
    put32(table, MARK_ROLE, (size_t)row, trace_scope(table->trace, event->scope)->role);
    return put_string(table, MARK_CATEGORY, (size_t)row,
                      trace_scope_category(table->trace, event->scope));
}

static int add_counter(struct column_table *table, const struct event *event)
{
    int64_t row = add_row(table, event);
    if (row >= 0)
        put_number(table, COUNTER_VALUE, (size_t)row, event);
    return row < 0 ? (int)row : 0;
}

static int add_flow(struct column_table *table, const struct event *event)
{
    int64_t row = add_row(table, event);
    if (row < 0)
        return (int)row;
    put64(table, FLOW_ID, (size_t)row, event->id);
    put8(table, FLOW_KIND, (size_t)row, (uint8_t)(event->kind - EVENT_FLOW_BEGIN));
    return 0;
}

static int add_loss(struct column_table *table, const struct event *event)
{
    const char *cause = loss_name(event->level < LOSS_COUNT ? event->level : LOSS_CORRUPT);
    int64_t row = add_row(table, event);
    if (row < 0)
        return (int)row;
    put_time(table, LOSS_END, (size_t)row, event_order_ns(event));
    put64(table, LOSS_RECORDS, (size_t)row, event->value.uint64);
    return put_text(table, OF_NAME, (size_t)row, cause, strlen(cause));
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* -1 for ordinal 0. Returns 0 or -ENOMEM. */
static int put_ordinal(struct column_table *table, unsigned column, size_t row, uint32_t ordinal)
{
    struct column_numbers *numbers = column == SAMPLE_STACK ? &table->stacks : &table->paths;
    const uint64_t *known = map64_find(&numbers->of, (uint64_t)ordinal + 1);
    uint64_t number = known ? *known : numbers->ordinals.count;
    put32(table, column, row, ordinal ? (int32_t)number : -1);
    if (known || ordinal == 0)
        return 0;
    return vec_push(&numbers->ordinals, ordinal) != 0
               ? -ENOMEM
               : map64_put(&numbers->of, (uint64_t)ordinal + 1, number);
}

static int put_reason(struct column_table *table, size_t row, const struct sample *sample)
{
    const char *reason = wait_reason_name(sample->reason);
    if (sample_role(trace_sets_get(table->trace), sample) == SAMPLE_ROLE_OFF_CPU)
        return put_text(table, SAMPLE_REASON, row, reason, strlen(reason));
    put32(table, SAMPLE_REASON, row, -1);
    return 0;
}

static int add_sample(struct column_table *table, const struct sample *sample)
{
    int64_t added = add_empty(table, sample->time_ns, sample->thread);
    size_t row = (size_t)added;
    if (added < 0)
        return (int)added;
    put_time(table, SAMPLE_END, row, sample_order_ns(sample));
    put64(table, SAMPLE_ID, row, sample->id);
    put32(table, SAMPLE_CPU, row, sample->cpu);
    put8(table, SAMPLE_KERNEL, row, (sample->flags & SAMPLE_IN_KERNEL) != 0);
    put8(table, SAMPLE_COLLECTING, row, (sample->flags & SAMPLE_GC) != 0);
    put8(table, SAMPLE_GIL, row, (sample->flags & SAMPLE_HOLDS_GIL) != 0);
    put8(table, SAMPLE_OPEN, row, (sample->flags & SAMPLE_UNFINISHED) != 0);
    for (unsigned i = SAMPLE_VALUES; i < table->column_count; i++) {
        bool has = i - SAMPLE_VALUES < sample->value_count;
        put64(table, i, row, has ? (uint64_t)sample->values[i - SAMPLE_VALUES] : 0);
    }
    int error = put_reason(table, row, sample);
    if (!error)
        error = put_ordinal(table, SAMPLE_STACK, row, sample->stack);
    return error ? error : put_ordinal(table, SAMPLE_RANGES, row, sample->path);
}

static int fill_samples(struct column_table *table)
{
    int status = sample_rows_fill(table->samples), error = 0;
    for (size_t i = 0; status == 1 && !error && i < table->samples->items.count; i++) {
        const struct sample *sample = &table->samples->items.items[i];
        if (sample->set == table->set)
            error = add_sample(table, sample);
    }
    return error ? error : status;
}

int column_table_init_samples(struct column_table *table, struct store_reader *reader, unsigned set)
{
    *table = (struct column_table){
        .trace = store_reader_trace(reader), .set = set, .column_count = SAMPLE_VALUES};
    const struct sample_set *entry = sample_set_get(trace_sets_get(table->trace), set);
    table->begin_ns = trace_begin_ns(table->trace);
    memcpy(table->columns, sample_columns, sizeof(sample_columns));
    for (unsigned i = 0; i < entry->count; i++)
        table->columns[table->column_count++] =
            (struct column_items){.format = 'q', .is_value = true};
    table->samples = sample_rows_create(reader);
    return table->samples ? 0 : -ENOMEM;
}

/* ---- All ------------------------------------------------------------------------------------- */

static int take(void *context, const struct item *item)
{
    struct column_table *table = context;
    switch (table->wanted) {
    case ROW_RANGE:
        return take_range(table, item);
    case ROW_MARK:
        return item->kind == ITEM_INSTANT ? add_mark(table, item) : 0;
    case ROW_COUNTER:
        return item->kind == ITEM_COUNTER ? add_counter(table, item->event) : 0;
    case ROW_FLOW:
        return item->kind == ITEM_FLOW ? add_flow(table, item->event) : 0;
    default:
        return item->kind == ITEM_LOST ? add_loss(table, item->event) : 0;
    }
}

int column_table_init(struct column_table *table, struct store_reader *reader, enum row_kind wanted)
{
    *table = (struct column_table){.trace = store_reader_trace(reader), .wanted = wanted};
    table->begin_ns = trace_begin_ns(table->trace);
    while (table->column_count < COLUMN_TABLE_MAX && columns_of[wanted][table->column_count].name)
        table->column_count++;
    memcpy(table->columns, columns_of[wanted], sizeof(table->columns));
    table->pass = row_pass(reader, take, table);
    return table->pass ? 0 : -ENOMEM;
}

void column_table_fini(struct column_table *table)
{
    pass_destroy(table->pass);
    for (unsigned i = 0; i < table->column_count; i++)
        free(table->columns[i].items);
    for (size_t i = 0; i < table->lanes.count; i++)
        vec_free(&table->lanes.items[i].rows);
    vec_free(&table->lanes);
    map64_free(&table->string_of);
    wide_map_free(&table->lane_of);
    wide_map_free(&table->started);
    strtab_free(&table->strings);
    sample_rows_destroy(table->samples);
    map64_free(&table->stacks.of);
    map64_free(&table->paths.of);
    vec_free(&table->stacks.ordinals);
    vec_free(&table->paths.ordinals);
    *table = (struct column_table){0};
}

int column_table_fill(struct column_table *table)
{
    int status = 1;
    if (table->samples)
        return fill_samples(table);
    for (uint32_t i = 0; status == 1 && i < STEPS_MAX; i++)
        status = pass_step(table->pass);
    return status;
}
