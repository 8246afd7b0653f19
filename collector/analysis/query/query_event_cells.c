/* SPDX-License-Identifier: MIT */
/* The cells of the tables of events. Thread-safety: none. */
#include "query_events_parts.h"

#include "call_label.h"
#include "json_writer.h"

#include <stdio.h>

static void put_value(sqlite3_context *context, const struct trace *trace, uint8_t kind,
                      union value value)
{
    switch (kind) {
    case VALUE_INT64:
        put_integer(context, value.int64);
        break;
    case VALUE_UINT64: /* SQLite has no larger integers */
        if (value.uint64 <= INT64_MAX)
            put_integer(context, (int64_t)value.uint64);
        else
            sqlite3_result_double(context, (double)value.uint64);
        break;
    case VALUE_DOUBLE:
        sqlite3_result_double(context, value.float64);
        break;
    case VALUE_BOOL:
        put_integer(context, value.uint64 != 0);
        break;
    case VALUE_STRING:
        sqlite3_result_text(context, trace_string(trace, value.string)->bytes, -1, SQLITE_STATIC);
        break;
    default:
        sqlite3_result_null(context);
    }
}

static void json_value(struct json_doc *doc, const struct trace *trace, const struct arg *arg)
{
    switch (arg->kind) {
    case VALUE_INT64:
        json_doc_int(doc, NULL, arg->value.int64);
        break;
    case VALUE_UINT64:
        json_doc_uint(doc, NULL, arg->value.uint64);
        break;
    case VALUE_DOUBLE:
        json_doc_double(doc, NULL, arg->value.float64);
        break;
    case VALUE_BOOL:
        json_doc_bool(doc, NULL, arg->value.uint64 != 0);
        break;
    case VALUE_STRING:
        json_doc_text(doc, NULL, trace_string(trace, arg->value.string)->bytes);
        break;
    default:
        json_doc_null(doc, NULL);
    }
}

static void put_args(const struct event_scan *scan, const struct event_row *row,
                     sqlite3_context *context)
{
    struct query *query = scan->scan.cursor->query;
    struct json_doc doc = {.out = query->text};
    if (!row->arg_count) {
        sqlite3_result_null(context);
        return;
    }
    out_stream_memory_reset(query->text);
    json_doc_object(&doc, NULL);
    for (uint32_t i = 0; i < row->arg_count; i++) {
        const struct arg *arg = &scan->args.items[row->first_arg + i];
        const struct trace_string *key = trace_string(scan->scan.trace, arg->key);
        json_doc_key(&doc, key->bytes, key->length, "");
        json_value(&doc, scan->scan.trace, arg);
    }
    json_doc_close(&doc);
    put_made(context, query);
}

static void add_name(const struct event_scan *scan, const struct around *range)
{
    struct out_stream *out = scan->scan.cursor->query->text;
    if (out_bytes(out) > 0)
        out_text(out, "/");
    call_put_range(scan->scan.trace, range->name, range->scope, out);
}

static void put_path(const struct event_scan *scan, const struct event_row *row, bool itself,
                     sqlite3_context *context)
{
    struct query *query = scan->scan.cursor->query;
    const struct around own = {row->event.name, row->event.scope};
    if (!itself && !row->depth) {
        sqlite3_result_null(context);
        return;
    }
    struct out_stream *before = query->text;
    out_stream_memory_reset(before);
    for (uint32_t i = 0; i < row->depth; i++)
        add_name(scan, &scan->around.items[row->first_around + i]);
    if (itself)
        add_name(scan, &own);
    put_made(context, query);
}

static void put_formatted(sqlite3_context *context, const char *format, uint64_t value)
{
    char text[32];
    int length = snprintf(text, sizeof(text), format, (unsigned long long)value);
    put_copy(context, text, (size_t)length);
}

static void put_lane(const struct event_row *row, sqlite3_context *context)
{
    bool has = event_has_lane(row->event.kind) && row->event.lane != EVENT_OWN_LANE;
    if (has)
        put_integer(context, row->event.lane);
    else
        sqlite3_result_null(context);
}

static int64_t plain_difference(int64_t a, int64_t b)
{
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) || difference < 0 ? 0 : difference;
}

static const char *kind_of_lane(uint8_t lane)
{
    return lane == LANE_THREAD    ? "pushed"
           : lane == LANE_PROCESS ? "overlapping"
           : lane == LANE_QUEUE   ? "queue"
                                  : "track";
}

static void put_off(const struct event_scan *scan, const struct event_row *row, unsigned column,
                    sqlite3_context *context)
{
    int64_t duration_ns = plain_difference(row->end_ns, row->begin_ns);
    int64_t off_ns = (int64_t)(row->off.runnable_ns + row->off.blocked_ns);
    if (row->lane != LANE_THREAD || !trace_sampling_get(scan->scan.trace)->off_cpu)
        sqlite3_result_null(context);
    else if (column == RANGE_CPU)
        put_integer(context, plain_difference(duration_ns, off_ns));
    else
        put_integer(context,
                    (int64_t)(column == RANGE_READY ? row->off.runnable_ns : row->off.blocked_ns));
}

/* What ranges and marks have. */
static void put_attribute(const struct event_scan *scan, const struct event_row *row,
                          unsigned column, sqlite3_context *context)
{
    const struct event *event = &row->event;
    switch (column) {
    case RANGE_LANE:
        put_lane(row, context);
        break;
    case RANGE_PAYLOAD:
        put_value(context, scan->scan.trace, event->value_kind, event->value);
        break;
    case RANGE_ARGS:
        put_args(scan, row, context);
        break;
    case RANGE_COLOR:
        if (event->flags & EVENT_HAS_COLOR)
            put_formatted(context, "#%08llx", event->color);
        break;
    default:
        put_cell(context, query_event_cell(scan->scan.trace, event, row->lane, column));
    }
}

/* Of what lies on queues. */
static void put_launch(const struct event_scan *scan, const struct event_row *row, unsigned column,
                       sqlite3_context *context)
{
    struct query *query = scan->scan.cursor->query;
    if (row->lane != LANE_QUEUE)
        return;
    if (column == RANGE_LAUNCH_PATH)
        query_put_path(query, scan->scan.trace, row->path, context);
    else if (column == RANGE_LAUNCH_STACK && row->stack)
        put_integer(context, row->stack);
    else if (column == RANGE_LAUNCHED && row->event.origin_ns != EVENT_NO_ORIGIN)
        put_time(context, query, row->event.origin_ns);
}

static void put_source(const struct event_scan *scan, const struct event_row *row, unsigned column,
                       sqlite3_context *context)
{
    int32_t line;
    uint32_t path = call_source(scan->scan.trace, row->event.name, &line);
    if (path && column == RANGE_LINE)
        put_integer(context, line);
    else if (path)
        sqlite3_result_text(context, trace_string(scan->scan.trace, path)->bytes, -1,
                            SQLITE_STATIC);
}

static void put_range(const struct event_scan *scan, const struct event_row *row, unsigned column,
                      sqlite3_context *context)
{
    int64_t duration_ns = plain_difference(row->end_ns, row->begin_ns);
    switch (column) {
    case RANGE_BEGIN:
        put_time(context, scan->scan.cursor->query, row->begin_ns);
        break;
    case RANGE_END:
        put_time(context, scan->scan.cursor->query, row->end_ns);
        break;
    case RANGE_DURATION:
        put_integer(context, duration_ns);
        break;
    case RANGE_SELF:
        put_integer(context, plain_difference(duration_ns, row->child_ns));
        break;
    case RANGE_CPU:
    case RANGE_READY:
    case RANGE_WAITING:
        put_off(scan, row, column, context);
        break;
    case RANGE_DEPTH:
        put_integer(context, row->depth);
        break;
    case RANGE_PATH:
    case RANGE_PARENT:
        put_path(scan, row, column == RANGE_PATH, context);
        break;
    case RANGE_END_THREAD:
        put_integer(context, row->end_thread);
        break;
    case RANGE_ID:
        if (row->lane == LANE_PROCESS)
            put_formatted(context, "0x%llx", row->event.id);
        break;
    case RANGE_UNFINISHED:
        put_integer(context, (row->flags & ITEM_UNFINISHED) != 0);
        break;
    case RANGE_END_LOST:
        put_integer(context, (row->flags & ITEM_END_LOST) != 0);
        break;
    case RANGE_CUT:
        put_integer(context, (row->flags & (ITEM_CUT_BEGIN | ITEM_CUT_END)) != 0);
        break;
    case RANGE_LAUNCHED:
    case RANGE_LAUNCH_PATH:
    case RANGE_LAUNCH_STACK:
        put_launch(scan, row, column, context);
        break;
    case RANGE_FILE:
    case RANGE_LINE:
        put_source(scan, row, column, context);
        break;
    default:
        put_attribute(scan, row, column, context);
    }
}

static const uint8_t attribute_of_mark[] = {
    [MARK_LANE] = RANGE_LANE,   [MARK_PAYLOAD] = RANGE_PAYLOAD, [MARK_ARGS] = RANGE_ARGS,
    [MARK_LEVEL] = RANGE_LEVEL, [MARK_COLOR] = RANGE_COLOR,     [MARK_OBSERVER] = RANGE_OBSERVER,
    [MARK_ROLE] = RANGE_ROLE,   [MARK_COLUMNS] = RANGE_COLUMNS,
};

static void put_mark(const struct event_scan *scan, const struct event_row *row, unsigned column,
                     sqlite3_context *context)
{
    if (column == MARK_TIME)
        put_time(context, scan->scan.cursor->query, row->event.time_ns);
    else
        put_attribute(scan, row, attribute_of_mark[column], context);
}

static void put_counter(const struct event_scan *scan, const struct event_row *row, unsigned column,
                        sqlite3_context *context)
{
    const struct event *event = &row->event;
    uint32_t domain = trace_scope_domain(scan->scan.trace, event->scope);
    if (column == COUNTER_TIME)
        put_time(context, scan->scan.cursor->query, event->time_ns);
    else if (column == COUNTER_VALUE)
        put_value(context, scan->scan.trace, event->value_kind, event->value);
    else if (column == COUNTER_UNIT)
        put_string(context, scan->scan.trace,
                   trace_unit_find(scan->scan.trace, domain, event->name));
    else
        put_attribute(scan, row, RANGE_OBSERVER, context);
}

static void put_flow(const struct event_scan *scan, const struct event_row *row, unsigned column,
                     sqlite3_context *context)
{
    const struct event *event = &row->event;
    if (column == FLOW_TIME)
        put_time(context, scan->scan.cursor->query, event->time_ns);
    else if (column == FLOW_ID)
        put_formatted(context, "0x%llx", event->id);
    else if (column == FLOW_KIND)
        put_constant(context, event->kind == EVENT_FLOW_BEGIN  ? "begin"
                              : event->kind == EVENT_FLOW_STEP ? "step"
                                                               : "end");
    else
        put_attribute(scan, row, RANGE_OBSERVER, context);
}

static void put_loss(const struct event_scan *scan, const struct event_row *row, unsigned column,
                     sqlite3_context *context)
{
    const struct event *event = &row->event;
    if (column == LOSS_BEGIN)
        put_time(context, scan->scan.cursor->query, row->begin_ns);
    else if (column == LOSS_END)
        put_time(context, scan->scan.cursor->query, row->end_ns);
    else if (column == LOSS_CAUSE)
        put_constant(context, loss_name(event->level < LOSS_COUNT ? event->level : LOSS_CORRUPT));
    else
        put_value(context, scan->scan.trace, VALUE_UINT64, event->value);
}

struct query_cell query_event_cell(const struct trace *trace, const struct event *event,
                                   uint8_t lane, unsigned column)
{
    switch (column) {
    case AT_NAME:
        return string_cell(trace, event->name);
    case AT_DOMAIN:
        return string_cell(trace, trace_scope_domain(trace, event->scope));
    case AT_CATEGORY:
        return string_cell(trace, trace_scope_category(trace, event->scope));
    case AT_PROCESS:
    case AT_THREAD:
    case AT_PID:
    case AT_TID:
        return owner_cell(trace, event->thread, (enum owner_part)(column - AT_PROCESS));
    case RANGE_KIND:
        return constant_cell(kind_of_lane(lane));
    case RANGE_LEVEL:
        return integer_cell(event->level);
    case RANGE_OBSERVER:
        return constant_cell(observer_name(trace_scope(trace, event->scope)->observer));
    default: /* RANGE_ROLE */
        return integer_cell(trace_scope(trace, event->scope)->role);
    }
}

typedef void put_event(const struct event_scan *scan, const struct event_row *row, unsigned column,
                       sqlite3_context *context);

void query_put_event(const struct query_cursor *cursor, unsigned column, sqlite3_context *context)
{
    static put_event *const put[] = {
        [TABLE_RANGES] = put_range, [TABLE_MARKS] = put_mark,  [TABLE_COUNTERS] = put_counter,
        [TABLE_FLOWS] = put_flow,   [TABLE_LOSSES] = put_loss,
    };
    const struct event_scan *scan = cursor->state;
    const struct event_row *row = &scan->rows.items[scan->scan.at];
    bool is_loss = scan->kind == TABLE_LOSSES;
    unsigned common = is_loss ? column + AT_PROCESS : column;
    if (common < AT_FIRST)
        put_cell(context, query_event_cell(scan->scan.trace, &row->event, row->lane, common));
    else
        put[scan->kind](scan, row, column, context);
}
