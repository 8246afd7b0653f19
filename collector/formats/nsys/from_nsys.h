/* SPDX-License-Identifier: MIT */
/* The reader of Nsight Systems databases: its state, and the tables that it reads. Thread-safety:
 * one thread per reader. */
#ifndef ANNOT_FROM_NSYS_H
#define ANNOT_FROM_NSYS_H

#include "event.h"
#include "hash_map.h"
#include "vec.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct import_sink;

struct nsys {
    struct import_sink *sink;
    sqlite3 *database;
    bool has_texts, has_calls; /* tables used in joins exist */
    bool any;                  /* found a known table */
    bool is_ours;              /* written by annot export */
    bool guessed;              /* the weight of samples was assumed */
    bool waits;                /* read some waits */
    struct map64 threads;      /* 1 + globalTid: ordinal */
    struct map64 domains;      /* NVTX domain and process, mixed, to name */
    struct map64 categories;   /* the same for categories */
    struct map64 devices;      /* 1 + device to name */
    struct map64 held;         /* process, device and kind of memory, mixed, to bytes in use */
    uint64_t endless;          /* waits without an end */
    uint64_t ranges;           /* start-end ranges so far; used as ids */
    VEC(const char *) known;   /* known tables, present or not */
    VEC(struct arg) args;      /* of the current row */
    int64_t values[2];         /* of the current sample */
};

/* ---- Tables read row by row ------------------------------------------------------------------ */

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
