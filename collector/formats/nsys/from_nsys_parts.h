/* SPDX-License-Identifier: MIT */
/* What the files of the reader of Nsight Systems' databases share. */
#ifndef ANNOT_IMPORT_NSYS_PARTS_H
#define ANNOT_IMPORT_NSYS_PARTS_H

#include "import_parts.h"

#include <sqlite3.h>

enum { NSYS_COLUMNS = 20 };

struct nsys {
    struct import_sink *sink;
    sqlite3 *database;
    bool has_texts, has_calls; /* tables that others are joined with */
    bool any;                  /* a table that is known was there */
    bool is_ours;              /* annot export wrote it */
    bool guessed;              /* what samples stand for */
    bool waits;                /* there are some */
    struct map64 threads;      /* 1 + globalTid: ordinal */
    struct map64 domains;      /* NVTX domain and process, mixed: its name */
    struct map64 categories;   /* the same of categories */
    struct map64 devices;      /* 1 + device: its name */
    struct map64 held;         /* process, device and kind of memory, mixed: bytes */
    uint64_t endless;          /* waits without an end */
    uint64_t ranges;           /* of start and end, so far: their ids */
    VEC(const char *) asked;   /* tables that are known, whether they are there or not */
    VEC(struct arg) args;      /* of the row at hand */
    int64_t values[2];         /* of the sample at hand */
};

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

/* `table` stays: it is known from here on. */
bool nsys_has_table(struct nsys *nsys, const char *table);

/* Names the tables that are not known and have rows. 0 or -ENOMEM. */
int nsys_tell_left(struct nsys *nsys);

/* ---- Columns and rows: from_nsys_take.c ---- */

static inline bool nsys_is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

/* A string; 0: there is none, "(no name)". */
uint32_t nsys_text_at(struct nsys *nsys, sqlite3_stmt *row, int column);
uint32_t nsys_name_at(struct nsys *nsys, sqlite3_stmt *row, int column);
/* Whether the row has a time that can be, and an end that is not before it; without one: INT64_MAX.
 */
bool nsys_times_at(struct nsys *nsys, sqlite3_stmt *row, struct event *event);

uint32_t nsys_scope(struct nsys *nsys, uint16_t observer, uint8_t role, const char *category);
void nsys_add_arg(struct nsys *nsys, const char *key, struct arg arg);
void nsys_add_number(struct nsys *nsys, const char *key, int64_t number);

/* Names of new lanes: of a queue, and of its device. */
void nsys_name_lanes(struct nsys *nsys, const struct import_lanes *lanes, int64_t device,
                     const char *queue);

/* ---- from_nsys_usage.c ---- */

/* Memory of a GPU that was taken or given back: start, start, globalPid, deviceId, bytes, memKind,
 * memoryOperationType, address, name. */
int nsys_take_usage(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row);
/* What the profiler did on a thread: start, end, globalTid, @nameId. */
int nsys_take_overhead(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row);

/* ---- from_nsys_samples.c, from_nsys_waits.c, from_nsys_values.c ---- */

/* 0 or -errno. */
int nsys_read_samples(struct nsys *nsys);
/* Waits: from where a thread left a CPU to where it came back. 0 or -errno. */
int nsys_read_waits(struct nsys *nsys);
/* Says what samples and waits were taken for, where the file does not. */
void nsys_tell_guess(struct nsys *nsys);

/* Adds to the args of the row at hand. 0 or -ENOMEM. */
int nsys_take_json(struct nsys *nsys, const char *bytes, size_t size);

#endif
