/* SPDX-License-Identifier: MIT */
/* The state of a query, its tables and its cursors. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_STATE_H
#define ANNOT_QUERY_STATE_H

#include "out_stream.h"
#include "pass.h"
#include "query.h"
#include "query_sort.h"
#include "vec.h"

#include <sqlite3.h>

/* ---- Conditions ------------------------------------------------------------------------------ */

/* What a column is to the pass, if a query compares it with something that is known. */
enum query_bound {
    BOUND_NONE = 0,
    BOUND_ID,      /* = */
    BOUND_BEGIN,   /* >=, <= : when it begins */
    BOUND_END,     /* <= : when it ends */
    BOUND_THREAD,  /* = */
    BOUND_PROCESS, /* = */
    BOUND_NAME,    /* = */
};

/* Which conditions a scan was given. They are hints: SQLite looks at all rows again. */
enum bound_bit {
    BIT_ID = 1 << 0,
    BIT_FROM = 1 << 1,  /* begins then or later */
    BIT_UNTIL = 1 << 2, /* begins then or earlier */
    BIT_ENDED = 1 << 3, /* ends then or earlier */
    BIT_THREAD = 1 << 4,
    BIT_PROCESS = 1 << 5,
    BIT_NAME = 1 << 6,
    BIT_COUNT = 7,
};

enum { ORDER_MAX = 8 };

/* A term of GROUP BY or ORDER BY: the rows come in that order. */
struct query_order {
    uint8_t column;
    bool down;
};

struct query_bounds {
    unsigned given;   /* enum bound_bit */
    bool nothing;     /* no row can be meant */
    uint64_t columns; /* that are asked for, a bit each */
    int64_t id, thread, process;
    int64_t from_ns, until_ns, ended_ns; /* after the recording began */
    const char *name;
    unsigned order_count; /* 0: in any order */
    struct query_order order[ORDER_MAX];
};

/* ---- Tables ---------------------------------------------------------------------------------- */

struct query_cursor;

/* How a kind of tables is read. */
struct query_rows {
    size_t state_size;                                         /* zeroed memory for `state` */
    double (*count)(const struct query *query, unsigned kind); /* about how many rows */
    /* Begins anew: 0 or -errno. `bounds` are valid during the call, but for their name. */
    int (*filter)(struct query_cursor *cursor, const struct query_bounds *bounds);
    int (*next)(struct query_cursor *cursor); /* 1: there is a row; 0, -errno */
    void (*put)(const struct query_cursor *cursor, unsigned column, sqlite3_context *context);
    int64_t (*number)(const struct query_cursor *cursor); /* of the row, the same in any scan */
    /* Can rows with these columns come in the order of those, a bit each? NULL: never. */
    bool (*can_sort)(unsigned kind, uint64_t order, uint64_t columns);
    void (*close)(struct query_cursor *cursor);
};

extern const struct query_rows definition_rows, stack_frame_rows, event_rows, sample_rows,
    report_rows;

struct query_cursor {
    sqlite3_vtab_cursor base; /* first */
    struct query *query;
    const struct query_table *table;
    void *state;
    uint64_t scanned; /* rows so far */
    bool ended;
};

/* ---- The query ------------------------------------------------------------------------------- */

/* A place in the recording. */
struct query_place {
    struct store_reader *reader;
    bool whole; /* with samples, and a trace of its own */
    bool busy;
};

struct query {
    struct query_options options;
    const struct trace *trace;
    int64_t begin_ns; /* the time that outputs call zero */
    sqlite3 *db;
    VEC(struct query_place *) places; /* the first is that of the options */
    struct out_stream *text;          /* where texts are made */
    VEC(uint8_t) owners;              /* by label: 1 + enum code_owner; 0: not looked at */
    struct query_report *report;      /* made when it is asked for */
    bool plain;         /* rows are asked for their numbers, so all scans are of all rows */
    bool file_failed;   /* that error is of a temporary file */
    bool declares;      /* SQLite reads what a table of ours is */
    const char *denied; /* what SQL wanted to do */
    int read_error;     /* -errno of reading */
    char error[512], hint[256];
};

#endif
