/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. Thread-safety: none. */
#ifndef ANNOT_QUERY_PARTS_H
#define ANNOT_QUERY_PARTS_H

#include "out_stream.h"
#include "pass.h"
#include "query.h"
#include "query_sort_parts.h"
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
    bool file_failed;   /* that error is of a temporary file */
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

/* ---- Scans of a pass: query_scan.c ------------------------------------------------------------
 */

/* What the tables of events and of samples share. A step of the pass makes rows, which are told
 * before the next step. In an order, all rows are sorted first, and made anew one by one. */
struct query_scan {
    struct query_cursor *cursor;
    struct query_place *place;
    const struct trace *trace;
    struct pass *pass;
    struct pass_selection selection;
    const struct pass_selection *chosen; /* by the command's options */
    bool has_process, has_thread;
    int64_t process, thread; /* of a condition */
    int64_t until_ns;        /* no sample that begins later is meant */
    size_t at;               /* of the present row */
    unsigned order_count;
    struct query_order order[ORDER_MAX];
    struct query_sort *sort; /* NULL: as they come */
    bool sorted;
    const struct query_scan_rows *rows;
};

struct query_scan_rows {
    size_t (*count)(const struct query_scan *scan); /* that the last steps made */
    void (*forget)(struct query_scan *scan);        /* these */
    /* Makes the one row that a group and what was sorted are of. 0, -ENOMEM. */
    int (*make)(struct query_scan *scan, const struct wide_key *group, const void *row);
    /* A cell that all rows of a group have. */
    struct query_cell (*cell)(struct query_scan *scan, const struct wide_key *group,
                              unsigned column);
};

/* `scan` is the first member of the cursor's state. `row_size`: of what is sorted. The sink's
 * context is the state. 0 or -errno. */
int query_scan_begin(struct query_cursor *cursor, const struct query_bounds *bounds,
                     const struct query_scan_rows *rows, const struct sink *sink, size_t row_size);
int query_scan_next(struct query_cursor *cursor);
void query_scan_end(struct query_scan *scan);

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Those whose texts stay where they are. */
static inline struct query_cell integer_cell(int64_t value)
{
    return (struct query_cell){.type = QUERY_INTEGER, .integer = value};
}

struct query_cell string_cell(const struct trace *trace, uint32_t ordinal); /* 0: NULL */
struct query_cell constant_cell(const char *text);
void put_cell(sqlite3_context *context, struct query_cell cell);

/* Of a thread that something is of. */
enum owner_part { OWNER_PROCESS, OWNER_THREAD, OWNER_PID, OWNER_TID };

struct query_cell owner_cell(const struct trace *trace, uint32_t thread, enum owner_part part);

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
/* "job/load", of a path of the scan's trace; NULL: none. */
void query_put_path(struct query *query, const struct trace *trace, uint32_t path,
                    sqlite3_context *context);
/* Times from the recording's begin on. */
void put_time(sqlite3_context *context, const struct query *query, int64_t time_ns);

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

/* NULL of frame 0. */
struct query_cell frame_cell(struct query *query, uint32_t frame, enum frame_part part);

/* ---- Owners of code: query_frames.c -----------------------------------------------------------
 */

/* Whose a label is (enum code_owner), looked up once for each. */
unsigned query_owner_of(struct query *query, uint32_t label);

/* The innermost frame of a stack that is of own code, 0: there is none. */
uint32_t query_own_frame(struct query *query, uint32_t stack);

#endif
