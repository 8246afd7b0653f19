/* SPDX-License-Identifier: MIT */
/* The tables of events: ranges, marks, counters, flows, losses. Each is a pass that makes the next
 * rows step by step, after the previous ones were taken. Thread-safety: none. */

#include "call_label.h"
#include "call_path.h"
#include "event.h"
#include "hash_map.h"
#include "json_writer.h"
#include "query_cells.h"
#include "query_report.h"
#include "query_samples.h"
#include "query_scan.h"
#include "query_state.h"
#include "reader.h"
#include "row_schema.h"
#include "sample.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum event_table { TABLE_RANGES, TABLE_MARKS, TABLE_COUNTERS, TABLE_FLOWS, TABLE_LOSSES };

/* An outer range, for the path. */
struct around {
    uint32_t name, scope;
};

struct event_row {
    struct event event;
    struct schema_row values; /* of the event; points to it while it is read */
    size_t first_arg, first_around;
    uint32_t arg_count;
    uint32_t path; /* of the launch */
};

struct event_scan {
    struct query_scan scan; /* first */
    unsigned kind;          /* enum event_table */
    bool keeps_args, keeps_path, keeps_shares;
    const struct wide_key *group; /* of the current row, if sorted */
    char *name;                   /* owned; NULL: any */
    VEC(uint8_t) names;           /* by string: NAME_UNKNOWN, NAME_MEANT, NAME_OTHER */
    VEC(struct event_row) rows;
    VEC(struct arg) args;
    VEC(struct around) around;
};

/* ---- Cells ----------------------------------------------------------------------------------- */

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
    if (!itself && !row->values.depth) {
        sqlite3_result_null(context);
        return;
    }
    struct out_stream *before = query->text;
    out_stream_memory_reset(before);
    for (uint32_t i = 0; i < row->values.depth; i++)
        add_name(scan, &scan->around.items[row->first_around + i]);
    if (itself)
        add_name(scan, &own);
    put_made(context, query);
}

static void put_source(const struct event_scan *scan, const struct event_row *row, unsigned column,
                       sqlite3_context *context)
{
    int32_t line;
    uint32_t path = call_source(scan->scan.trace, row->event.name, &line);
    if (path && column == RANGES_LINE)
        put_integer(context, line);
    else if (path)
        sqlite3_result_text(context, trace_string(scan->scan.trace, path)->bytes, -1,
                            SQLITE_STATIC);
}

/* Columns of ranges and marks that the schema leaves to SQL. */
static void put_text(const struct event_scan *scan, const struct event_row *row, unsigned column,
                     sqlite3_context *context)
{
    if (scan->kind == TABLE_MARKS || column == RANGES_ARGS)
        put_args(scan, row, context);
    else if (column == RANGES_PATH || column == RANGES_PARENT)
        put_path(scan, row, column == RANGES_PATH, context);
    else if (column == RANGES_LAUNCH_PATH && row->values.lane == LANE_QUEUE)
        query_put_path(scan->scan.cursor->query, scan->scan.trace, row->path, context);
    else if (column == RANGES_FILE || column == RANGES_LINE)
        put_source(scan, row, column, context);
}

static void put(const struct query_cursor *cursor, unsigned column, sqlite3_context *context)
{
    const struct event_scan *scan = cursor->state;
    struct event_row *row = &scan->rows.items[scan->scan.at];
    const struct schema_column *schema = &cursor->table->columns[column];
    row->values.event = &row->event;
    if (schema->get)
        put_schema(context, scan->scan.trace, schema->get(&row->values));
    else
        put_text(scan, row, column, context);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

const struct query_table query_ranges = {
    "ranges",      "ranges that have ended, and those that never did",
    schema_ranges, &event_rows,
    TABLE_RANGES,  false};

const struct query_table query_marks = {
    "marks", "marks and messages of logs", schema_marks, &event_rows, TABLE_MARKS, false};

const struct query_table query_counters = {"counters",  "values of counters", schema_counters,
                                           &event_rows, TABLE_COUNTERS,       false};

const struct query_table query_flows = {"flows",     "points of flows", schema_flows,
                                        &event_rows, TABLE_FLOWS,       false};

const struct query_table query_losses = {
    "losses",      "gaps: where records are known to be missing",
    schema_losses, &event_rows,
    TABLE_LOSSES,  false};

/* ---- Rows ------------------------------------------------------------------------------------ */

enum { NAME_UNKNOWN = 0, NAME_MEANT = 1, NAME_OTHER = 2 };

static bool is_meant(struct event_scan *scan, uint32_t name)
{
    while (scan->names.count <= name)
        if (vec_push(&scan->names, NAME_UNKNOWN) != 0)
            return true; /* SQLite checks again */
    uint8_t *known = &scan->names.items[name];
    if (*known == NAME_UNKNOWN)
        *known = strcmp(trace_string(scan->scan.trace, name)->bytes, scan->name) == 0 ? NAME_MEANT
                                                                                      : NAME_OTHER;
    return *known == NAME_MEANT;
}

static int keep_args(struct event_scan *scan, const struct args *args)
{
    if (vec_reserve(&scan->args, args->count) != 0)
        return -ENOMEM;
    memcpy(scan->args.items + scan->args.count, args->items, args->count * sizeof(*args->items));
    scan->args.count += args->count;
    return 0;
}

static int keep_around(struct event_scan *scan, const struct item *item)
{
    for (uint32_t i = 0; i < item->depth; i++) {
        const struct around around = {item->parents[i]->name, item->parents[i]->scope};
        if (vec_push(&scan->around, around) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int keep(struct event_scan *scan, const struct item *item)
{
    int error = 0;
    struct event_row *row;
    if (vec_reserve(&scan->rows, 1) != 0)
        return -ENOMEM;
    row = &scan->rows.items[scan->rows.count];
    row->event = *item->event;
    row->values = schema_row_of(scan->scan.trace, item);
    row->first_arg = scan->args.count;
    row->first_around = scan->around.count;
    row->arg_count = item->args.count;
    row->path = item->path;
    if (scan->keeps_args && item->args.count)
        error = keep_args(scan, &item->args);
    if (!error && scan->keeps_path && item->depth)
        error = keep_around(scan, item);
    scan->rows.count += !error;
    return error;
}

/* ---- Sorting --------------------------------------------------------------------------------- */

/* The sorted bytes of a range; members from `flags` on only if requested. Common values of many
 * ranges are in their group. */
struct sorted_range {
    int64_t begin_ns, end_ns;
    uint32_t depth;
    uint32_t flags;
    int64_t child_ns;
    struct off_share off;
};

#define COLUMN(column) (UINT64_C(1) << (column))

#define GROUP_COLUMNS                                                                              \
    ((COLUMN(AT_FIRST) - 1) | COLUMN(RANGES_KIND) | COLUMN(RANGES_LEVEL) |                         \
     COLUMN(RANGES_OBSERVER) | COLUMN(RANGES_ROLE))

#define SHORT_COLUMNS                                                                              \
    (GROUP_COLUMNS | COLUMN(RANGES_BEGIN) | COLUMN(RANGES_END) | COLUMN(RANGES_DURATION) |         \
     COLUMN(RANGES_DEPTH))

#define SORTED_COLUMNS                                                                             \
    (SHORT_COLUMNS | COLUMN(RANGES_SELF) | COLUMN(RANGES_RUNNING) | COLUMN(RANGES_RUNNABLE) |      \
     COLUMN(RANGES_BLOCKED) | COLUMN(RANGES_UNFINISHED) | COLUMN(RANGES_END_LOST) |                \
     COLUMN(RANGES_CUT))

static bool can_sort(unsigned kind, uint64_t order, uint64_t columns)
{
    return kind == TABLE_RANGES && !(order & ~GROUP_COLUMNS) && !(columns & ~SORTED_COLUMNS);
}

static size_t sorted_size(const struct event_scan *scan)
{
    return scan->keeps_shares ? sizeof(struct sorted_range) : offsetof(struct sorted_range, flags);
}

static int sort_item(struct event_scan *scan, const struct item *item)
{
    const struct event *event = item->event;
    const struct sorted_range range = {item->begin_ns, item->end_ns,   item->depth,
                                       item->flags,    item->child_ns, item->off};
    const struct wide_key *group =
        WIDE_KEY(event->name | (uint64_t)event->scope << 32,
                 event->thread | (uint64_t)item->lane << 32 | (uint64_t)event->level << 40);
    return query_sort_add(scan->scan.sort, group, &range);
}

static struct event event_of_group(const struct wide_key *group)
{
    return (struct event){
        .name = (uint32_t)group->words[0],
        .scope = (uint32_t)(group->words[0] >> 32),
        .thread = (uint32_t)group->words[1],
        .level = (uint8_t)(group->words[1] >> 40),
    };
}

static uint8_t lane_of_group(const struct wide_key *group)
{
    return (uint8_t)(group->words[1] >> 32);
}

/* Rows of a group are consecutive, so its values are written once. */
static int make_row(struct query_scan *base, const struct wide_key *group, const void *bytes)
{
    struct event_scan *scan = (struct event_scan *)base;
    struct sorted_range range = {0};
    if (scan->keeps_shares)
        memcpy(&range, bytes, sizeof(range));
    else
        memcpy(&range, bytes, offsetof(struct sorted_range, flags));
    if (vec_reserve(&scan->rows, 1) != 0)
        return -ENOMEM;
    struct event_row *row = &scan->rows.items[0];
    if (group != scan->group)
        *row = (struct event_row){.event = event_of_group(group),
                                  .values = {.trace = scan->scan.trace,
                                             .zero_ns = trace_begin_ns(scan->scan.trace),
                                             .lane = lane_of_group(group)}};
    scan->group = group;
    row->values.begin_ns = range.begin_ns;
    row->values.end_ns = range.end_ns;
    row->values.child_ns = range.child_ns;
    row->values.off = range.off;
    row->values.depth = range.depth;
    row->values.flags = (uint16_t)range.flags;
    scan->rows.count = 1;
    return 0;
}

static struct query_cell cell_of_group(struct query_scan *scan, const struct wide_key *group,
                                       unsigned column)
{
    const struct event event = event_of_group(group);
    const struct schema_row row = {
        .trace = scan->trace, .event = &event, .lane = lane_of_group(group)};
    return cell_of_schema(scan->trace, schema_ranges[column].get(&row));
}

/* ---- Items ----------------------------------------------------------------------------------- */

static const uint8_t kind_of_item[] = {
    [TABLE_RANGES] = ITEM_SPAN, [TABLE_MARKS] = ITEM_INSTANT, [TABLE_COUNTERS] = ITEM_COUNTER,
    [TABLE_FLOWS] = ITEM_FLOW,  [TABLE_LOSSES] = ITEM_LOST,
};

static int take(void *context, const struct item *item)
{
    struct event_scan *scan = context;
    if (item->kind != kind_of_item[scan->kind] ||
        (scan->name && !is_meant(scan, item->event->name)))
        return 0;
    return scan->scan.sort ? sort_item(scan, item) : keep(scan, item);
}

/* ---- A scan ---------------------------------------------------------------------------------- */

static size_t count_rows(const struct query_scan *scan)
{
    return ((const struct event_scan *)scan)->rows.count;
}

static void forget_rows(struct query_scan *base)
{
    struct event_scan *scan = (struct event_scan *)base;
    scan->rows.count = scan->args.count = scan->around.count = 0;
}

static const struct query_scan_rows scan_rows = {count_rows, forget_rows, make_row, cell_of_group};

#define ASKED(column) ((bounds->columns >> (column)) & 1)

static uint32_t wants_of(struct event_scan *scan, const struct query_bounds *bounds)
{
    bool is_range = scan->kind == TABLE_RANGES;
    scan->keeps_args =
        (is_range && ASKED(RANGES_ARGS)) || (scan->kind == TABLE_MARKS && ASKED(MARKS_ARGS));
    scan->keeps_path = is_range && (ASKED(RANGES_PATH) || ASKED(RANGES_PARENT));
    scan->keeps_shares = bounds->columns & SORTED_COLUMNS & ~SHORT_COLUMNS;
    bool times =
        is_range && (ASKED(RANGES_RUNNING) || ASKED(RANGES_RUNNABLE) || ASKED(RANGES_BLOCKED));
    bool origins = is_range && (ASKED(RANGES_LAUNCH_PATH) || ASKED(RANGES_LAUNCH_STACK));
    return WANT_EVENTS | (times ? WANT_TIMES : 0) | (origins ? WANT_ORIGINS : 0);
}

static int filter(struct query_cursor *cursor, const struct query_bounds *bounds)
{
    struct event_scan *scan = cursor->state;
    struct query_bounds own = *bounds;
    scan->kind = cursor->table->kind;
    scan->group = NULL;
    const struct sink sink = {take, scan, wants_of(scan, bounds)};
    free(scan->name);
    scan->name = bounds->given & BIT_NAME ? strdup(bounds->name) : NULL;
    scan->names.count = 0;
    if ((bounds->given & BIT_NAME) && !scan->name)
        return -ENOMEM;
    if (scan->kind != TABLE_RANGES && (own.given & BIT_UNTIL)) { /* instants end as they begin */
        own.given |= BIT_ENDED;
        own.ended_ns = own.until_ns;
    }
    return query_scan_begin(cursor, &own, &scan_rows, &sink, sorted_size(scan));
}

static double count(const struct query *query, unsigned kind)
{
    struct store_info info;
    store_reader_info(query->places.items[0]->reader, &info);
    return (double)info.event_count / (kind == TABLE_RANGES ? 2 : 4) + 1;
}

static void finish(struct query_cursor *cursor)
{
    struct event_scan *scan = cursor->state;
    query_scan_end(&scan->scan);
    free(scan->name);
    vec_free(&scan->names);
    vec_free(&scan->rows);
    vec_free(&scan->args);
    vec_free(&scan->around);
}

const struct query_rows event_rows = {
    .state_size = sizeof(struct event_scan),
    .count = count,
    .filter = filter,
    .next = query_scan_next,
    .put = put,
    .close = finish,
    .can_sort = can_sort,
};
