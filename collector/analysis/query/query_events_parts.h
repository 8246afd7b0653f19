/* SPDX-License-Identifier: MIT */
/* What the files of the tables of events share. Thread-safety: none. */
#ifndef ANNOT_QUERY_EVENTS_PARTS_H
#define ANNOT_QUERY_EVENTS_PARTS_H

#include "query_parts.h"

enum event_table { TABLE_RANGES, TABLE_MARKS, TABLE_COUNTERS, TABLE_FLOWS, TABLE_LOSSES };

/* The first ones are the same for all. */
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
    RANGE_CPU,
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

/* A range around another, for its path. */
struct around {
    uint32_t name, scope;
};

struct event_row {
    struct event event;
    int64_t begin_ns, end_ns, child_ns;
    struct off_share off;
    size_t first_arg, first_around;
    uint32_t arg_count, depth, end_thread;
    uint32_t path, stack; /* of a launch */
    uint16_t flags;
    uint8_t lane;
};

struct event_scan {
    struct query_scan scan; /* first */
    unsigned kind;          /* enum event_table */
    bool keeps_args, keeps_path, keeps_shares;
    const struct wide_key *group; /* that the present row is of, while they are in order */
    char *name;                   /* owned; NULL: any */
    VEC(uint8_t) names;           /* by string: whether it is that one */
    VEC(struct event_row) rows;
    VEC(struct arg) args;
    VEC(struct around) around;
};

/* ---- Cells: query_event_cells.c -------------------------------------------------------------- */

/* Of the columns that all tables but losses have, and of what else a group has. */
struct query_cell query_event_cell(const struct trace *trace, const struct event *event,
                                   uint8_t lane, unsigned column);

/* A cell of the present row: query_event_cells.c */
void query_put_event(const struct query_cursor *cursor, unsigned column, sqlite3_context *context);

#endif
