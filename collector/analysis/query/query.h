/* SPDX-License-Identifier: MIT */
/* SQL on a recording: virtual tables of SQLite that read the recording on demand (`annot query`).
 *
 * A table of events or samples is a pass (read/pass.h) that advances as rows are requested, so a
 * query takes the memory of its result, of its sorts, and of a pass. Conditions on times, threads
 * and names are passed on to the pass where that reduces its work. SQL is read-only: no statement
 * changes anything, opens a file or loads code. Thread-safety: one thread per object. */
#ifndef ANNOT_QUERY_H
#define ANNOT_QUERY_H

#include "pass.h"
#include "row_schema.h"
#include "store.h"

#include <signal.h>
#include <stdbool.h>

/* ---- Tables ---------------------------------------------------------------------------------- */

struct query_rows;

struct query_table {
    const char *name;
    const char *help;
    const struct schema_column *columns; /* one without a name ends them */
    const struct query_rows *rows;       /* query_state.h */
    unsigned kind;                       /* selects one of the tables of `rows` */
    bool id_is_row;                      /* the first column is the number of the row */
};

/* NULL ends the list. Does not contain the tables of the report: their names are "report_" followed
 * by the name in `annot report --json`. */
extern const struct query_table *const query_tables[];

/* The names of the report's tables, without "report_"; NULL ends the list. */
extern const char *const query_report_names[];

/* Functions that annot adds to SQLite's own; NULL ends the list. */
struct query_function {
    const char *usage, *help;
};

extern const struct query_function query_functions[];

/* ---- Queries --------------------------------------------------------------------------------- */

struct query;

struct query_options {
    const char *path;            /* of the recording */
    struct store_reader *reader; /* of the recording, at its first event */
    const struct pass_selection *selection;
    const volatile sig_atomic_t *stop; /* nonzero ends the query with -EINTR */
    uint64_t memory_bytes;             /* limit for SQLite */
};

/* The options' pointees outlive it. 0, -ENOMEM; -ENOSYS: built without SQLite. */
int query_open(const struct query_options *options, struct query **ret_query);
void query_close(struct query *query);

enum query_cell_type { QUERY_NULL = 0, QUERY_INTEGER, QUERY_REAL, QUERY_TEXT, QUERY_BLOB };

struct query_cell {
    uint8_t type; /* enum query_cell_type */
    int64_t integer;
    double real;
    const char *bytes; /* TEXT: UTF-8 unless SQL produced other bytes, followed by NUL */
    size_t size;
};

struct query_result {
    unsigned column_count;
    const char *const *names;
    const struct query_cell *cells; /* of a row; NULL in `begin` */
};

/* Receives the results in sequence. A nonzero result ends the query, which returns it. */
struct query_sink {
    int (*begin)(void *context, const struct query_result *result);
    int (*row)(void *context, const struct query_result *result);
    int (*end)(void *context);
    void *context;
};

/* Runs all statements of a text. 0; -errno of reading; -EINTR; -EINVAL: invalid or forbidden SQL,
 * explained by query_error; or the sink's nonzero result. */
int query_run(struct query *query, const char *sql, const struct query_sink *sink);

/* One line, and a hint or "". */
const char *query_error(const struct query *query);
const char *query_hint(const struct query *query);

/* Returns the reader that found most damage. */
const struct store_reader *query_reader(const struct query *query);

/* The columns of a table of the report, as declared in SQL; their help has the titles. The first
 * call reads the whole recording. -ENOENT: this recording's report has no such table. `columns` are
 * owned by the query. */
int query_report_columns(struct query *query, const char *name,
                         const struct schema_column **ret_columns);

#endif
