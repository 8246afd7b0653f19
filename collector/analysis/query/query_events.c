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
            return true; /* SQLite looks again */
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

/* ---- In order -------------------------------------------------------------------------------- */

/* What is sorted of a range; those behind `flags` only if they are asked for. What is the same for
 * many ranges is in their group. */
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
    (SHORT_COLUMNS | COLUMN(RANGE_SELF) | COLUMN(RANGE_CPU) | COLUMN(RANGE_READY) |                \
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

/* Rows of a group come one after the other: what it says is written once. */
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
    bool times = is_range && (ASKED(RANGE_CPU) || ASKED(RANGE_READY) || ASKED(RANGE_WAITING));
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
    if (scan->kind != TABLE_RANGES && (own.given & BIT_UNTIL)) { /* instants end at once */
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
