/* SPDX-License-Identifier: MIT */
/* The database that the exporter for Nsight Systems fills, with rows and columns in order. Errors
 * are kept. Thread-safety: one thread per database. */
#ifndef ANNOT_NSYS_DATABASE_H
#define ANNOT_NSYS_DATABASE_H

#include "strtab.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out_stream;
struct trace;

enum nsys_table {
    NSYS_TABLE_STRINGS,
    NSYS_TABLE_THREADS,
    NSYS_TABLE_PROCESSES,
    NSYS_TABLE_ANALYSIS,
    NSYS_TABLE_START_TIME,
    NSYS_TABLE_GPU,
    NSYS_TABLE_CUDA_DEVICE,
    NSYS_TABLE_CUDA_CONTEXT,
    NSYS_TABLE_CUDA_STREAM,
    NSYS_TABLE_CAPTURE,
    NSYS_TABLE_EXPORT,
    NSYS_TABLE_NVTX,
    NSYS_TABLE_CALLS,
    NSYS_TABLE_KERNELS,
    NSYS_TABLE_COPIES,
    NSYS_TABLE_SETS,
    NSYS_TABLE_WAITS,
    NSYS_TABLE_GRAPHS,
    NSYS_TABLE_MEMORY,
    NSYS_TABLE_OVERHEAD,
    NSYS_TABLE_OSRT,
    NSYS_TABLE_OSRT_CHAINS,
    NSYS_TABLE_SWITCHES,
    NSYS_TABLE_SAMPLES,
    NSYS_TABLE_CHAINS,
    NSYS_TABLE_LAUNCHED, /* private, not in the output: launches by thread and time */
    NSYS_TABLE_CALLED,   /* likewise: numbers of calls by process */
    NSYS_TABLES
};

/* Rows are inserted in batches; the first rows of a table one by one. */
enum { NSYS_ROWS_MAX = 32 };

struct nsys_rows {
    sqlite3_stmt *insert;        /* NULL until made */
    int columns, size;           /* size: rows per statement */
    int waiting, seen;           /* seen: counts the first rows */
    uint64_t put[NSYS_ROWS_MAX]; /* bit mask of columns that are not NULL */
};

struct nsys_database {
    sqlite3 *file;
    int fd; /* of the same file, or -1 */
    sigset_t signals;
    bool holds_signals;
    struct nsys_rows tables[NSYS_TABLES];
    sqlite3_stmt *find_launch;
    struct nsys_rows *rows; /* of the open row */
    int column;
    uint64_t put; /* bit mask of the open row */
    const struct trace *trace;
    uint8_t *written; /* by string: in StringIds */
    uint32_t string_count;
    struct strtab made; /* texts that are not strings of the trace */
    int error;          /* the first error; turns all later calls into no-ops */
};

/* 0 or -errno. Call fini in both cases. */
int nsys_database_init(struct nsys_database *db, const struct trace *trace);
void nsys_database_fini(struct nsys_database *db);

/* Runs statements without results. */
void nsys_run(struct nsys_database *db, const char *sql);

/* Ends the transaction and copies the file. 0 or -errno. */
int nsys_database_copy(struct nsys_database *db, struct out_stream *out);

/* Writes a row: columns in order, NULL if not put. The insert may be delayed, but statements see
 * all rows. */
void nsys_begin_row(struct nsys_database *db, enum nsys_table table);
void nsys_put(struct nsys_database *db, int64_t number);
void nsys_put_real(struct nsys_database *db, double number);

/* nsys_put_text copies the text; that of nsys_put_lasting must stay valid until
 * nsys_database_copy. */
void nsys_put_text(struct nsys_database *db, const char *bytes, size_t length);
void nsys_put_lasting(struct nsys_database *db, const char *bytes, size_t length);
void nsys_skip(struct nsys_database *db, int columns);
void nsys_end_row(struct nsys_database *db);

/* Return the id in StringIds, adding the text if new: a string of the trace, or any other text.
 * Must not be called inside a row. */
int64_t nsys_string(struct nsys_database *db, uint32_t string);
int64_t nsys_text(struct nsys_database *db, const char *text);

#endif
