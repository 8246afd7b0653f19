/* SPDX-License-Identifier: MIT */
/* The tables of Nsight Systems that are read row by row, and their columns. Thread-safety: one
 * thread per reader. */
#ifndef ANNOT_FROM_NSYS_TAKE_H
#define ANNOT_FROM_NSYS_TAKE_H

#include "from_nsys.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { NSYS_COLUMNS = 20 };

/* A table, and the columns that its rows are taken with; NULL behind the last. */
struct nsys_table {
    const char *name;
    const char *columns[NSYS_COLUMNS];
    int (*take)(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row);
    bool is_work; /* of a GPU: begin and thread of its launch follow the columns */
    uint8_t role; /* enum queue_role */
};

/* In the order in which they are read; without a name behind the last. Names come last: they are of
 * processes and threads that told something. */
extern const struct nsys_table nsys_tables[], nsys_names[];

void nsys_fini(struct nsys *nsys);
uint32_t nsys_thread_of(struct nsys *nsys, int64_t global);

static inline bool nsys_is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

#endif
