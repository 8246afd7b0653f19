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

/* The conditions passed to a scan. They are hints: SQLite checks all rows again. */
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

/* A term of GROUP BY or ORDER BY by which rows are sorted. */
struct query_order {
    uint8_t column;
    bool down;
};

struct query_bounds {
    unsigned given;   /* enum bound_bit */
    bool nothing;     /* no row can match */
    uint64_t columns; /* requested columns, a bit each */
    int64_t id, thread, process;
    int64_t from_ns, until_ns, ended_ns; /* relative to the start of the recording */
    const char *name;
    unsigned order_count; /* 0: in any order */
    struct query_order order[ORDER_MAX];
};

/* ---- Tables ---------------------------------------------------------------------------------- */

struct query_cursor;

/* Operations of a kind of tables. */
struct query_rows {
    size_t state_size;                                         /* zeroed memory for `state` */
    double (*count)(const struct query *query, unsigned kind); /* estimated number of rows */
    /* Restarts the scan: 0 or -errno. `bounds` are valid during the call, except their name. */
    int (*filter)(struct query_cursor *cursor, const struct query_bounds *bounds);
    int (*next)(struct query_cursor *cursor); /* 1: row available; 0: end; -errno */
    void (*put)(const struct query_cursor *cursor, unsigned column, sqlite3_context *context);
    int64_t (*number)(const struct query_cursor *cursor); /* row number, the same in any scan */
    /* True if rows with these columns can be sorted by `order`, a bit each. NULL: never. */
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

/* A reader of the recording for one scan. */
struct query_place {
    struct store_reader *reader;
    bool whole; /* with samples, and a separate trace */
    bool busy;
};

struct query {
    struct query_options options;
    const struct trace *trace;
    int64_t begin_ns; /* time zero of the outputs */
    sqlite3 *db;
    VEC(struct query_place *) places; /* the first is the options' reader */
    struct out_stream *text;          /* buffer for generated texts */
    VEC(uint8_t) owners;              /* by label: 1 + enum code_owner; 0: unknown yet */
    struct query_report *report;      /* made on demand */
    bool plain;                       /* row numbers are used, so all scans must be complete */
    bool file_failed;                 /* the last error is of a temporary file */
    bool declares;                    /* SQLite is reading the declaration of a table */
    const char *denied;               /* the forbidden action */
    int read_error;                   /* -errno of reading */
    char error[512], hint[256];
};

#endif
