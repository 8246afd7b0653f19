/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. Thread-safety: none. */
#ifndef ANNOT_QUERY_PARTS_H
#define ANNOT_QUERY_PARTS_H

#include "out_stream.h"
#include "query.h"
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

struct query_bounds {
    unsigned given;   /* enum bound_bit */
    bool nothing;     /* no row can be meant */
    uint64_t columns; /* that are asked for, a bit each */
    int64_t id, thread, process;
    int64_t from_ns, until_ns, ended_ns; /* after the recording began */
    const char *name;
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
    void (*close)(struct query_cursor *cursor);
};

struct query_cursor {
    sqlite3_vtab_cursor base; /* first */
    struct query *query;
    const struct query_table *table;
    void *state;
    uint64_t scanned; /* rows so far */
    bool ended;
};

extern const struct query_rows definition_rows, stack_frame_rows, event_rows, sample_rows,
    report_rows;

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
    bool declares;      /* SQLite reads what a table of ours is */
    const char *denied; /* what SQL wanted to do */
    int read_error;     /* -errno of reading */
    char error[512], hint[256];
};

/* A place at the first event, for a scan; one with samples if they are wanted. NULL: read_error. */
struct query_place *query_take_place(struct query *query, bool samples);
void query_give_place(struct query_place *place);

/* Modules of all tables, and the functions. An SQLite status. */
int query_register_tables(struct query *query);
int query_register_functions(sqlite3 *db);

void query_report_destroy(struct query_report *report);

/* ---- Cells ----------------------------------------------------------------------------------- */

static inline void put_integer(sqlite3_context *context, int64_t value)
{
    sqlite3_result_int64(context, value);
}

/* Texts of the trace stay where they are. */
void put_string(sqlite3_context *context, const struct trace *trace, uint32_t ordinal);
void put_constant(sqlite3_context *context, const char *text);
void put_copy(sqlite3_context *context, const char *text, size_t size);
/* What was made in query->text. */
void put_made(sqlite3_context *context, const struct query *query);
/* Times from the recording's begin on. */
void put_time(sqlite3_context *context, const struct query *query, int64_t time_ns);

/* For a pass: the times that are meant, with a little around them. */
void query_select_times(struct pass_selection *selection, const struct query_bounds *bounds,
                        int64_t begin_ns);
/* A sum of foreign times. */
int64_t query_time_plus(int64_t a, int64_t b);

/* What a frame is, for the tables that show frames: query_frames.c. */
enum frame_part {
    FRAME_FUNCTION,
    FRAME_FILE,
    FRAME_LINE,
    FRAME_OWNER,
    FRAME_KIND_NAME,
    FRAME_MODULE,
    FRAME_FIRST_LINE,
};

/* A cell of a frame; NULL of frame 0. */
void put_frame(sqlite3_context *context, struct query *query, uint32_t frame, enum frame_part part);

/* ---- Owners of code: query_frames.c -----------------------------------------------------------
 */

/* Whose a label is (enum code_owner), looked up once for each. */
unsigned query_owner_of(struct query *query, uint32_t label);

/* The innermost frame of a stack that is of own code, 0: there is none. */
uint32_t query_own_frame(struct query *query, uint32_t stack);

#endif
