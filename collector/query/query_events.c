/* SPDX-License-Identifier: MIT */
/* The tables of events: ranges, marks, counters, flows, losses. Each is a pass that goes on when
 * its rows were taken; a step of it makes the next ones. Thread-safety: none. */
#include "query_events_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    [RANGE_CPU] = {"cpu_ns", "INTEGER",
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
            return true; /* SQLite looks again */
    uint8_t *known = &scan->names.items[name];
    if (*known == NAME_UNKNOWN)
        *known = strcmp(trace_string(scan->trace, name)->bytes, scan->name) == 0 ? NAME_MEANT
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
    if (scan->keeps_args && item->args.count)
        error = keep_args(scan, &item->args);
    if (!error && scan->keeps_path && item->depth)
        error = keep_around(scan, item);
    scan->rows.count += !error;
    return error;
}

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
    return keep(scan, item);
}

static bool wants_thread(void *context, uint32_t thread)
{
    const struct event_scan *scan = context;
    const struct trace_thread *entry = trace_thread_get(scan->trace, thread);
    if (scan->has_thread && scan->thread != (int64_t)thread)
        return false;
    if (scan->has_process && (!entry || scan->process != (int64_t)entry->process))
        return false;
    return pass_selects_thread(scan->chosen, thread);
}

/* ---- A scan ---------------------------------------------------------------------------------- */

int64_t query_time_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* What the pass is asked for is a little more, so that what it cuts off at these times is not
 * meant: SQLite looks at the rows again. A range that begins before the time has another begin
 * there. */
void query_select_times(struct pass_selection *selection, const struct query_bounds *bounds,
                        int64_t begin_ns)
{
    if (bounds->given & BIT_FROM) {
        int64_t from_ns = query_time_plus(query_time_plus(bounds->from_ns, begin_ns), -1);
        selection->from_ns = from_ns > selection->from_ns ? from_ns : selection->from_ns;
    }
    if (bounds->given & BIT_ENDED) {
        int64_t to_ns = query_time_plus(query_time_plus(bounds->ended_ns, begin_ns), 2);
        selection->to_ns = to_ns < selection->to_ns ? to_ns : selection->to_ns;
    }
}

/* Instants begin and end at once. */
static void select_events(struct event_scan *scan, const struct query_bounds *bounds)
{
    struct query_bounds own = *bounds;
    if (scan->kind != TABLE_RANGES && (own.given & BIT_UNTIL)) {
        own.given |= BIT_ENDED;
        own.ended_ns = own.until_ns;
    }
    scan->selection = *scan->chosen;
    query_select_times(&scan->selection, &own, scan->cursor->query->begin_ns);
    scan->has_thread = bounds->given & BIT_THREAD;
    scan->has_process = bounds->given & BIT_PROCESS;
    scan->thread = bounds->thread;
    scan->process = bounds->process;
    if (scan->has_thread || scan->has_process) {
        scan->selection.wants = wants_thread;
        scan->selection.context = scan;
    }
}

static void scan_reset(struct event_scan *scan)
{
    pass_destroy(scan->pass);
    if (scan->place)
        query_give_place(scan->place);
    free(scan->name);
    scan->pass = NULL;
    scan->place = NULL;
    scan->name = NULL;
    scan->names.count = scan->rows.count = scan->args.count = scan->around.count = 0;
    scan->at = 0;
    scan->done = false;
}

#define ASKED(column) ((bounds->columns >> (column)) & 1)

static uint32_t wants_of(struct event_scan *scan, const struct query_bounds *bounds)
{
    bool is_range = scan->kind == TABLE_RANGES;
    scan->keeps_args =
        (is_range && ASKED(RANGE_ARGS)) || (scan->kind == TABLE_MARKS && ASKED(MARK_ARGS));
    scan->keeps_path = is_range && (ASKED(RANGE_PATH) || ASKED(RANGE_PARENT));
    bool times = is_range && (ASKED(RANGE_CPU) || ASKED(RANGE_READY) || ASKED(RANGE_WAITING));
    return times ? WANT_EVENTS | WANT_TIMES : WANT_EVENTS;
}

static int filter(struct query_cursor *cursor, const struct query_bounds *bounds)
{
    struct event_scan *scan = cursor->state;
    struct query *query = cursor->query;
    scan_reset(scan);
    scan->cursor = cursor;
    scan->kind = cursor->table->kind;
    scan->chosen = query->options.selection;
    const struct sink sink = {take, scan, wants_of(scan, bounds)};
    if (bounds->given & BIT_NAME) {
        scan->name = strdup(bounds->name);
        if (!scan->name)
            return -ENOMEM;
    }
    scan->place = query_take_place(query, sink.wants & WANT_TIMES);
    if (!scan->place)
        return query->read_error;
    scan->trace = store_reader_trace(scan->place->reader);
    select_events(scan, bounds);
    const struct pass_source source = recording_pass_source(scan->place->reader);
    scan->pass = pass_create(&source, &scan->selection, &sink, 1);
    return scan->pass ? 0 : -ENOMEM;
}

static int next(struct query_cursor *cursor)
{
    struct event_scan *scan = cursor->state;
    if (scan->at + 1 < scan->rows.count) {
        scan->at++;
        return 1;
    }
    scan->rows.count = scan->args.count = scan->around.count = scan->at = 0;
    int status = 1;
    while (status == 1 && !scan->rows.count && !*cursor->query->options.stop)
        status = pass_step(scan->pass);
    if (*cursor->query->options.stop)
        return -EINTR;
    return status < 0 ? status : scan->rows.count > 0;
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
    scan_reset(scan);
    vec_free(&scan->names);
    vec_free(&scan->rows);
    vec_free(&scan->args);
    vec_free(&scan->around);
}

const struct query_rows event_rows = {
    .state_size = sizeof(struct event_scan),
    .count = count,
    .filter = filter,
    .next = next,
    .put = query_put_event,
    .close = finish,
};
