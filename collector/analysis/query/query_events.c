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
#include "sample.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Leading columns, the same in all tables but losses. */
enum {
    AT_NAME = 0,
    AT_DOMAIN,
    AT_CATEGORY,
    AT_PROCESS,
    AT_THREAD,
    AT_PID,
    AT_TID,
    AT_FIRST,
};

enum {
    RANGE_BEGIN = AT_FIRST,
    RANGE_END,
    RANGE_DURATION,
    RANGE_SELF,
    RANGE_RUNNING,
    RANGE_READY,
    RANGE_WAITING,
    RANGE_KIND,
    RANGE_DEPTH,
    RANGE_PATH,
    RANGE_PARENT,
    RANGE_LANE,
    RANGE_END_THREAD,
    RANGE_ID,
    RANGE_PAYLOAD,
    RANGE_ARGS,
    RANGE_LEVEL,
    RANGE_COLOR,
    RANGE_OBSERVER,
    RANGE_ROLE,
    RANGE_UNFINISHED,
    RANGE_END_LOST,
    RANGE_CUT,
    RANGE_LAUNCHED,
    RANGE_LAUNCH_PATH,
    RANGE_LAUNCH_STACK,
    RANGE_FILE,
    RANGE_LINE,
    RANGE_COLUMNS,
};

enum {
    MARK_TIME = AT_FIRST,
    MARK_LANE,
    MARK_PAYLOAD,
    MARK_ARGS,
    MARK_LEVEL,
    MARK_COLOR,
    MARK_OBSERVER,
    MARK_ROLE,
    MARK_COLUMNS,
};

enum { COUNTER_TIME = AT_FIRST, COUNTER_VALUE, COUNTER_UNIT, COUNTER_OBSERVER, COUNTER_COLUMNS };

enum { FLOW_TIME = AT_FIRST, FLOW_ID, FLOW_KIND, FLOW_OBSERVER, FLOW_COLUMNS };

enum {
    LOSS_PROCESS = 0,
    LOSS_THREAD,
    LOSS_PID,
    LOSS_TID,
    LOSS_BEGIN,
    LOSS_END,
    LOSS_CAUSE,
    LOSS_RECORDS,
    LOSS_COLUMNS
};

enum event_table { TABLE_RANGES, TABLE_MARKS, TABLE_COUNTERS, TABLE_FLOWS, TABLE_LOSSES };

/* An outer range, for the path. */
struct around {
    uint32_t name, scope;
};

struct event_row {
    struct event event;
    int64_t begin_ns, end_ns, child_ns;
    struct off_share off;
    size_t first_arg, first_around;
    uint32_t arg_count, depth, end_thread;
    uint32_t path, stack; /* of the launch */
    uint16_t flags;
    uint8_t lane;
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

static struct query_cell query_event_cell(const struct trace *trace, const struct event *event,
                                          uint8_t lane, unsigned column);

/* ---- Cells ----------------------------------------------------------------------------------- */

/* The cells of the tables of events. */

static void put_value(sqlite3_context *context, const struct trace *trace, uint8_t kind,
                      union value value)
{
    switch (kind) {
    case VALUE_INT64:
        put_integer(context, value.int64);
        break;
    case VALUE_UINT64: /* SQLite's integers are signed */
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
    else if (column == RANGE_RUNNING)
        put_integer(context, plain_difference(duration_ns, off_ns));
    else
        put_integer(context,
                    (int64_t)(column == RANGE_READY ? row->off.runnable_ns : row->off.blocked_ns));
}

/* Columns common to ranges and marks. */
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

/* Columns for ranges on queues. */
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
    case RANGE_RUNNING:
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

/* Columns common to all tables but losses, and the other columns of a group. */
static struct query_cell query_event_cell(const struct trace *trace, const struct event *event,
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

/* Puts a cell of the current row. */
static void query_put_event(const struct query_cursor *cursor, unsigned column,
                            sqlite3_context *context)
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

/* ---- Columns --------------------------------------------------------------------------------- */

#define COMMON_COLUMNS(what)                                                                       \
    [AT_NAME] = {"name", "TEXT", what, BOUND_NAME},                                                \
    [AT_DOMAIN] = {"domain", "TEXT", "its domain; NULL: none", BOUND_NONE},                        \
    [AT_CATEGORY] = {"category", "TEXT", "its category; NULL: none", BOUND_NONE},                  \
    [AT_PROCESS] = {"process", "INTEGER", "processes.id", BOUND_PROCESS},                          \
    [AT_THREAD] = {"thread", "INTEGER", "threads.id of the thread that emitted it", BOUND_THREAD}, \
    [AT_PID] = {"pid", "INTEGER", "process ID", BOUND_NONE},                                       \
    [AT_TID] = {"tid", "INTEGER", "thread ID", BOUND_NONE}

static const struct query_column range_columns[] = {
    COMMON_COLUMNS("what the program calls it"),
    [RANGE_BEGIN] = {"begin_ns", "INTEGER", "when it began", BOUND_BEGIN},
    [RANGE_END] = {"end_ns", "INTEGER", "when it ended, or the recording did", BOUND_END},
    [RANGE_DURATION] = {"duration_ns", "INTEGER", "end_ns - begin_ns", BOUND_NONE},
    [RANGE_SELF] = {"self_ns", "INTEGER", "duration without the ranges directly inside",
                    BOUND_NONE},
    [RANGE_RUNNING] = {"running_ns", "INTEGER",
                       "its thread was on a CPU: duration_ns - ready_ns - waiting_ns", BOUND_NONE},
    [RANGE_READY] = {"ready_ns", "INTEGER", "its thread could have run, others had the CPUs",
                     BOUND_NONE},
    [RANGE_WAITING] = {"waiting_ns", "INTEGER",
                       "its thread waited; these three are NULL without data about waits, and of "
                       "ranges of kinds other than \"pushed\"",
                       BOUND_NONE},
    [RANGE_KIND] = {"kind", "TEXT", "\"pushed\", \"overlapping\", \"track\", \"queue\"",
                    BOUND_NONE},
    [RANGE_DEPTH] = {"depth", "INTEGER", "ranges around it", BOUND_NONE},
    [RANGE_PATH] = {"path", "TEXT", "the names of those and its own, outermost first: \"job/load\"",
                    BOUND_NONE},
    [RANGE_PARENT] = {"parent", "TEXT", "the path around it; NULL: it is an outermost one",
                      BOUND_NONE},
    [RANGE_LANE] = {"lane", "INTEGER", "lanes.id of a range on a track or queue; else NULL",
                    BOUND_NONE},
    [RANGE_END_THREAD] = {"end_thread", "INTEGER", "threads.id of the thread that ended it",
                          BOUND_NONE},
    [RANGE_ID] = {"id", "TEXT", "of an overlapping range, as the program knows it: \"0x1f\"",
                  BOUND_NONE},
    [RANGE_PAYLOAD] = {"payload", "", "its value; NULL: none", BOUND_NONE},
    [RANGE_ARGS] = {"args", "TEXT", "its key-values as a JSON object; NULL: none", BOUND_NONE},
    [RANGE_LEVEL] = {"level", "INTEGER", "its level", BOUND_NONE},
    [RANGE_COLOR] = {"color", "TEXT", "\"#aarrggbb\"; NULL: none", BOUND_NONE},
    [RANGE_OBSERVER] = {"observer", "TEXT", "who reported it: \"program\", \"gc\", \"import\", ...",
                        BOUND_NONE},
    [RANGE_ROLE] = {"role", "INTEGER", "what it is to its observer (annot/observers.h)",
                    BOUND_NONE},
    [RANGE_UNFINISHED] = {"unfinished", "INTEGER", "1: nobody ended it", BOUND_NONE},
    [RANGE_END_LOST] = {"end_lost", "INTEGER", "1: its end was lost; end_ns is the end of the gap",
                        BOUND_NONE},
    [RANGE_CUT] =
        {"cut", "INTEGER",
         "1: it goes on outside of --from or --to; begin_ns and end_ns are what is inside",
         BOUND_NONE},
    [RANGE_LAUNCHED] = {"launched_ns", "INTEGER",
                        "of a range on a queue: when its thread launched it; NULL: not known",
                        BOUND_NONE},
    [RANGE_LAUNCH_PATH] = {"launch_path", "TEXT",
                           "the ranges that its thread had open then; NULL: none", BOUND_NONE},
    [RANGE_LAUNCH_STACK] = {"launch_stack", "INTEGER",
                            "stacks.id of its stack then; NULL: not sampled", BOUND_NONE},
    [RANGE_FILE] = {"file", "TEXT", "of a call: the file of its function; else NULL", BOUND_NONE},
    [RANGE_LINE] = {"line", "INTEGER", "of a call: the line at which that begins", BOUND_NONE},
    [RANGE_COLUMNS] = {0},
};

static const struct query_column mark_columns[] = {
    COMMON_COLUMNS("what the program calls it; of a message of a log its text"),
    [MARK_TIME] = {"time_ns", "INTEGER", "when it was", BOUND_BEGIN},
    [MARK_LANE] = {"lane", "INTEGER", "lanes.id of a mark on a track; else NULL", BOUND_NONE},
    [MARK_PAYLOAD] = {"payload", "", "its value; NULL: none", BOUND_NONE},
    [MARK_ARGS] = {"args", "TEXT", "its key-values as a JSON object; NULL: none", BOUND_NONE},
    [MARK_LEVEL] = {"level", "INTEGER", "its level", BOUND_NONE},
    [MARK_COLOR] = {"color", "TEXT", "\"#aarrggbb\"; NULL: none", BOUND_NONE},
    [MARK_OBSERVER] = {"observer", "TEXT", "who reported it; \"log\": it is a message of a log",
                       BOUND_NONE},
    [MARK_ROLE] = {"role", "INTEGER", "what it is to its observer; of a log 1 + the severity",
                   BOUND_NONE},
    [MARK_COLUMNS] = {0},
};

static const struct query_column counter_columns[] = {
    COMMON_COLUMNS("what the program calls it"),
    [COUNTER_TIME] = {"time_ns", "INTEGER", "from when on it had this value", BOUND_BEGIN},
    [COUNTER_VALUE] = {"value", "", "INTEGER or REAL, as the program set it", BOUND_NONE},
    [COUNTER_UNIT] = {"unit", "TEXT", "what it counts; NULL: not known", BOUND_NONE},
    [COUNTER_OBSERVER] = {"observer", "TEXT", "who reported it", BOUND_NONE},
    [COUNTER_COLUMNS] = {0},
};

static const struct query_column flow_columns[] = {
    COMMON_COLUMNS("what the program calls it; NULL: nothing"),
    [FLOW_TIME] = {"time_ns", "INTEGER", "when it was", BOUND_BEGIN},
    [FLOW_ID] = {"flow", "TEXT", "points of one flow have the same: \"0x1f\"", BOUND_NONE},
    [FLOW_KIND] = {"kind", "TEXT", "\"begin\", \"step\", \"end\"", BOUND_NONE},
    [FLOW_OBSERVER] = {"observer", "TEXT", "who reported it", BOUND_NONE},
    [FLOW_COLUMNS] = {0},
};

static const struct query_column loss_columns[] = {
    [LOSS_PROCESS] = {"process", "INTEGER", "processes.id", BOUND_PROCESS},
    [LOSS_THREAD] = {"thread", "INTEGER", "threads.id of the thread whose records are missing",
                     BOUND_THREAD},
    [LOSS_PID] = {"pid", "INTEGER", "process ID", BOUND_NONE},
    [LOSS_TID] = {"tid", "INTEGER", "thread ID", BOUND_NONE},
    [LOSS_BEGIN] = {"begin_ns", "INTEGER", "records are missing from here", BOUND_NONE},
    [LOSS_END] = {"end_ns", "INTEGER", "to here", BOUND_NONE},
    [LOSS_CAUSE] = {"cause", "TEXT", "why: \"buffer full\", ...", BOUND_NONE},
    [LOSS_RECORDS] = {"records", "INTEGER", "how many", BOUND_NONE},
    [LOSS_COLUMNS] = {0},
};

const struct query_table query_ranges = {
    "ranges",      "ranges that have ended, and those that never did",
    range_columns, &event_rows,
    TABLE_RANGES,  false};

const struct query_table query_marks = {
    "marks", "marks and messages of logs", mark_columns, &event_rows, TABLE_MARKS, false};

const struct query_table query_counters = {"counters",  "values of counters", counter_columns,
                                           &event_rows, TABLE_COUNTERS,       false};

const struct query_table query_flows = {"flows",     "points of flows", flow_columns,
                                        &event_rows, TABLE_FLOWS,       false};

const struct query_table query_losses = {
    "losses",     "gaps: where records are known to be missing",
    loss_columns, &event_rows,
    TABLE_LOSSES, false};

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
    row->begin_ns = item->begin_ns;
    row->end_ns = item->end_ns;
    row->child_ns = item->child_ns;
    row->off = item->off;
    row->first_arg = scan->args.count;
    row->first_around = scan->around.count;
    row->arg_count = item->args.count;
    row->depth = item->depth;
    row->end_thread = item->end_thread;
    row->flags = item->flags;
    row->lane = item->lane;
    row->path = item->path;
    row->stack = item->stack;
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
    ((COLUMN(AT_FIRST) - 1) | COLUMN(RANGE_KIND) | COLUMN(RANGE_LEVEL) | COLUMN(RANGE_OBSERVER) |  \
     COLUMN(RANGE_ROLE))

#define SHORT_COLUMNS                                                                              \
    (GROUP_COLUMNS | COLUMN(RANGE_BEGIN) | COLUMN(RANGE_END) | COLUMN(RANGE_DURATION) |            \
     COLUMN(RANGE_DEPTH))

#define SORTED_COLUMNS                                                                             \
    (SHORT_COLUMNS | COLUMN(RANGE_SELF) | COLUMN(RANGE_RUNNING) | COLUMN(RANGE_READY) |            \
     COLUMN(RANGE_WAITING) | COLUMN(RANGE_UNFINISHED) | COLUMN(RANGE_END_LOST) |                   \
     COLUMN(RANGE_CUT))

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
        *row = (struct event_row){.event = event_of_group(group), .lane = lane_of_group(group)};
    scan->group = group;
    row->begin_ns = range.begin_ns;
    row->end_ns = range.end_ns;
    row->child_ns = range.child_ns;
    row->off = range.off;
    row->depth = range.depth;
    row->flags = (uint16_t)range.flags;
    scan->rows.count = 1;
    return 0;
}

static struct query_cell cell_of_group(struct query_scan *scan, const struct wide_key *group,
                                       unsigned column)
{
    const struct event event = event_of_group(group);
    return query_event_cell(scan->trace, &event, lane_of_group(group), column);
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
        (is_range && ASKED(RANGE_ARGS)) || (scan->kind == TABLE_MARKS && ASKED(MARK_ARGS));
    scan->keeps_path = is_range && (ASKED(RANGE_PATH) || ASKED(RANGE_PARENT));
    scan->keeps_shares = bounds->columns & SORTED_COLUMNS & ~SHORT_COLUMNS;
    bool times = is_range && (ASKED(RANGE_RUNNING) || ASKED(RANGE_READY) || ASKED(RANGE_WAITING));
    bool origins = is_range && (ASKED(RANGE_LAUNCH_PATH) || ASKED(RANGE_LAUNCH_STACK));
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
    .put = query_put_event,
    .close = finish,
    .can_sort = can_sort,
};
