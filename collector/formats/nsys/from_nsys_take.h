/* SPDX-License-Identifier: MIT */
/* The tables of Nsight Systems that are read row by row, with their columns. Thread-safety: one
 * thread per reader. */
#ifndef ANNOT_FROM_NSYS_TAKE_H
#define ANNOT_FROM_NSYS_TAKE_H

#include "from_nsys.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { NSYS_COLUMNS = 20 };

/* A table and the columns passed to `take`, NULL-terminated. */
struct nsys_table {
    const char *name;
    const char *columns[NSYS_COLUMNS];
    int (*take)(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row);
    bool is_work; /* GPU work: begin and thread of the launch follow the columns */
    uint8_t role; /* enum queue_role */
};

/* In reading order, terminated by an entry without a name. nsys_names comes last, as it names only
 * processes and threads that have events. */
extern const struct nsys_table nsys_tables[], nsys_names[];

void nsys_fini(struct nsys *nsys);
uint32_t nsys_thread_of(struct nsys *nsys, int64_t global);

static inline bool nsys_is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

#endif
