/* SPDX-License-Identifier: MIT */
/* SQL on a recording: tables of SQLite that read it while they are asked (`annot query`).
 *
 * A table of events or samples is a pass (read/pass.h) that goes on as rows are wanted, so a query
 * takes the memory of its result, of what it sorts, and of a pass. What a query says of times,
 * threads and names is given to the pass where that pays. SQL can read and nothing else: no
 * statement changes anything, opens a file or loads code. Thread-safety: one thread per object. */
#ifndef ANNOT_QUERY_H
#define ANNOT_QUERY_H

#include "pass.h"
#include "store.h"

#include <signal.h>
#include <stdbool.h>

/* ---- Tables ---------------------------------------------------------------------------------- */

struct query_column {
    const char *name; /* NULL ends a list */
    const char *type; /* "INTEGER", "REAL", "TEXT"; "": of several */
    const char *help;
    uint8_t bound; /* what a condition on it is to the pass: query_state.h */
};

struct query_rows;

struct query_table {
    const char *name;
    const char *help;
    const struct query_column *columns;
    const struct query_rows *rows; /* query_state.h */
    unsigned kind;                 /* to these */
    bool id_is_row;                /* the first column is the number of the row */
};

/* NULL ends the list. Of the tables of the report it has none: they are called "report_" and the
 * name that `annot report --json` has. */
extern const struct query_table *const query_tables[];

/* The same of their names, without "report_". */
extern const char *const query_report_names[];

/* What SQL can call beside SQLite's own functions; NULL ends the list. */
struct query_function {
    const char *usage, *help;
};

extern const struct query_function query_functions[];

/* ---- Queries --------------------------------------------------------------------------------- */

struct query;

struct query_options {
    const char *path;            /* of the recording */
    struct store_reader *reader; /* of it, at its first event */
    const struct pass_selection *selection;
    const volatile sig_atomic_t *stop; /* becomes nonzero: the query ends with -EINTR */
    uint64_t memory_bytes;             /* that SQLite may use */
};

/* What the options point to outlives it. 0, -ENOMEM; -ENOSYS: built without SQLite. */
int query_open(const struct query_options *options, struct query **ret_query);
void query_close(struct query *query);

enum query_cell_type { QUERY_NULL = 0, QUERY_INTEGER, QUERY_REAL, QUERY_TEXT, QUERY_BLOB };

struct query_cell {
    uint8_t type; /* enum query_cell_type */
    int64_t integer;
    double real;
    const char *bytes; /* TEXT: UTF-8 unless SQL made it otherwise, and NUL behind it */
    size_t size;
};

struct query_result {
    unsigned column_count;
    const char *const *names;
    const struct query_cell *cells; /* of a row; NULL in `begin` */
};

/* Where results go, one after the other. A nonzero result ends the query, which returns it. */
struct query_sink {
    int (*begin)(void *context, const struct query_result *result);
    int (*row)(void *context, const struct query_result *result);
    int (*end)(void *context);
    void *context;
};

/* All statements of a text. 0; -errno of reading; -EINTR; -EINVAL: the SQL is wrong or asks for
 * what is not allowed, which query_error tells; what the sink returned. */
int query_run(struct query *query, const char *sql, const struct query_sink *sink);

/* One line, and what helps, or "". */
const char *query_error(const struct query *query);
const char *query_hint(const struct query *query);

/* The reader that saw the most damage. */
const struct store_reader *query_reader(const struct query *query);

/* The columns of a table of the report, as SQL declares them; their help has the titles. Read once,
 * which reads all of the recording. -ENOENT: this recording's report has no such table. `columns`
 * are the query's. */
int query_report_columns(struct query *query, const char *name,
                         const struct query_column **ret_columns);

#endif
