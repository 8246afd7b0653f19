/* SPDX-License-Identifier: MIT */
/* The columns of ranges, marks, counters, flows, losses and samples: name, type, help and getter of
 * each, for all outputs of rows. An output converts cells and adds texts that it makes itself.
 * Thread-safety: pure functions. */
#ifndef ANNOT_ROW_SCHEMA_H
#define ANNOT_ROW_SCHEMA_H

#include "pass.h"

/* ---- Cells ----------------------------------------------------------------------------------- */

enum schema_cell_kind {
    SCHEMA_NULL = 0,
    SCHEMA_INTEGER,
    SCHEMA_REAL,
    SCHEMA_STRING,   /* a string of the trace */
    SCHEMA_CONSTANT, /* a text that outlives the row */
    SCHEMA_ID,       /* bits, printed as "0x1f" */
    SCHEMA_COLOR,    /* bits, printed as "#aarrggbb" */
};

struct schema_cell {
    uint8_t kind; /* enum schema_cell_kind */

    union {
        int64_t integer;
        double real;
        uint32_t string;
        const char *constant;
        uint64_t bits;
    };
};

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The members of an item that columns are made of. */
struct schema_row {
    const struct trace *trace;
    const struct event *event;
    int64_t zero_ns; /* time zero of the output */
    int64_t begin_ns, end_ns, child_ns;
    struct off_share off;
    uint32_t depth, end_thread, stack;
    uint16_t flags; /* enum item_flags */
    uint8_t lane;   /* enum lane_kind */
};

struct schema_row schema_row_of(const struct trace *trace, const struct item *item);

/* A range's kind: "pushed", "overlapping", "track", "queue". */
const char *schema_range_kind(unsigned lane);

/* ---- Columns --------------------------------------------------------------------------------- */

/* The effect on a pass of comparing a column with a known value. */
enum schema_bound {
    BOUND_NONE = 0,
    BOUND_ID,      /* = */
    BOUND_BEGIN,   /* >=, <= : start */
    BOUND_END,     /* <= : end */
    BOUND_THREAD,  /* = */
    BOUND_PROCESS, /* = */
    BOUND_NAME,    /* = */
};

struct schema_column {
    const char *name;
    const char *type; /* in SQL; "": INTEGER, REAL or TEXT */
    const char *help;
    unsigned char bound;                                     /* enum schema_bound */
    struct schema_cell (*get)(const struct schema_row *row); /* NULL: made by the output */
};

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
    RANGES_BEGIN = AT_FIRST,
    RANGES_END,
    RANGES_DURATION,
    RANGES_SELF,
    RANGES_RUNNING,
    RANGES_RUNNABLE,
    RANGES_BLOCKED,
    RANGES_KIND,
    RANGES_DEPTH,
    RANGES_PATH,
    RANGES_PARENT,
    RANGES_LANE,
    RANGES_END_THREAD,
    RANGES_ID,
    RANGES_PAYLOAD,
    RANGES_ARGS,
    RANGES_LEVEL,
    RANGES_COLOR,
    RANGES_OBSERVER,
    RANGES_ROLE,
    RANGES_UNFINISHED,
    RANGES_END_LOST,
    RANGES_CUT,
    RANGES_LAUNCHED,
    RANGES_LAUNCH_PATH,
    RANGES_LAUNCH_STACK,
    RANGES_FILE,
    RANGES_LINE,
    RANGES_COLUMNS,
};

enum {
    MARKS_TIME = AT_FIRST,
    MARKS_LANE,
    MARKS_PAYLOAD,
    MARKS_ARGS,
    MARKS_LEVEL,
    MARKS_COLOR,
    MARKS_OBSERVER,
    MARKS_ROLE,
    MARKS_COLUMNS,
};

enum {
    COUNTERS_TIME = AT_FIRST,
    COUNTERS_VALUE,
    COUNTERS_UNIT,
    COUNTERS_OBSERVER,
    COUNTERS_COLUMNS,
};

enum { FLOWS_TIME = AT_FIRST, FLOWS_ID, FLOWS_KIND, FLOWS_OBSERVER, FLOWS_COLUMNS };

enum {
    LOSSES_PROCESS = 0,
    LOSSES_THREAD,
    LOSSES_PID,
    LOSSES_TID,
    LOSSES_BEGIN,
    LOSSES_END,
    LOSSES_CAUSE,
    LOSSES_RECORDS,
    LOSSES_COLUMNS,
};

/* The table of waits lacks the columns from SAMPLES_ONLY on. */
enum {
    SAMPLES_PROCESS,
    SAMPLES_THREAD,
    SAMPLES_PID,
    SAMPLES_TID,
    SAMPLES_BEGIN,
    SAMPLES_END,
    SAMPLES_DURATION,
    SAMPLES_RUNNABLE,
    SAMPLES_BLOCKED,
    SAMPLES_REASON,
    SAMPLES_PATH,
    SAMPLES_STACK,
    SAMPLES_FUNCTION,
    SAMPLES_FILE,
    SAMPLES_LINE,
    SAMPLES_OWNER,
    SAMPLES_OWN_FUNCTION,
    SAMPLES_OWN_FILE,
    SAMPLES_OWN_LINE,
    SAMPLES_PROCESSOR,
    SAMPLES_OPEN,
    SAMPLES_ONLY,
    SAMPLES_SET = SAMPLES_ONLY,
    SAMPLES_CPU,
    SAMPLES_VALUES_OF,
    SAMPLES_ID,
    SAMPLES_KERNEL,
    SAMPLES_COLLECTING,
    SAMPLES_GIL,
    SAMPLES_NATIVE_END,
    SAMPLES_PYTHON_END,
    SAMPLES_COLUMNS,
};

/* Each ends with a column without a name. Those of samples have no getters. */
extern const struct schema_column schema_ranges[RANGES_COLUMNS + 1];
extern const struct schema_column schema_marks[MARKS_COLUMNS + 1];
extern const struct schema_column schema_counters[COUNTERS_COLUMNS + 1];
extern const struct schema_column schema_flows[FLOWS_COLUMNS + 1];
extern const struct schema_column schema_losses[LOSSES_COLUMNS + 1];
extern const struct schema_column schema_samples[SAMPLES_COLUMNS + 1];
extern const struct schema_column schema_waits[SAMPLES_ONLY + 1];

#endif
