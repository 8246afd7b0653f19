/* SPDX-License-Identifier: MIT */
/* The database that the exporter for Nsight Systems fills: rows and their columns in order. Errors
 * stick. Thread-safety: one thread per database. */
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
    NSYS_TABLE_LAUNCHED, /* of ours, not in the output: launches, by thread and time */
    NSYS_TABLE_CALLED,   /* the same: numbers of calls, by process */
    NSYS_TABLES
};

/* Rows of a table that wait to be inserted together: those of a table that has few, one by one. */
enum { NSYS_ROWS_MAX = 32 };

struct nsys_rows {
    sqlite3_stmt *insert;        /* NULL: not made yet */
    int columns, size;           /* size: rows that it takes */
    int waiting, seen;           /* seen: of the first ones */
    uint64_t put[NSYS_ROWS_MAX]; /* columns that are not NULL, a bit each */
};

struct nsys_database {
    sqlite3 *file;
    int fd; /* of the same file; -1: none */
    sigset_t signals;
    bool holds_signals;
    struct nsys_rows tables[NSYS_TABLES];
    sqlite3_stmt *find_launch;
    struct nsys_rows *rows; /* of the row that is made at present */
    int column;
    uint64_t put; /* of it */
    const struct trace *trace;
    uint8_t *told; /* by string: it is in StringIds */
    uint32_t string_count;
    struct strtab made; /* texts that are no strings of the trace */
    int error;          /* the first one sticks, and makes all else a no-op */
};

/* 0 or -errno; then fini all the same. */
int nsys_database_init(struct nsys_database *db, const struct trace *trace);
void nsys_database_fini(struct nsys_database *db);

/* Statements without rows. */
void nsys_run(struct nsys_database *db, const char *sql);

/* Ends the transaction and copies the file. 0 or -errno. */
int nsys_database_copy(struct nsys_database *db, struct out_stream *out);

/* A row: its columns in their order; those that were not put are NULL. It may be inserted later;
 * statements see all rows. */
void nsys_begin_row(struct nsys_database *db, enum nsys_table table);
void nsys_put(struct nsys_database *db, int64_t number);
void nsys_put_real(struct nsys_database *db, double number);

/* The first is copied, the other lasts until the database is copied. */
void nsys_put_text(struct nsys_database *db, const char *bytes, size_t length);
void nsys_put_lasting(struct nsys_database *db, const char *bytes, size_t length);
void nsys_skip(struct nsys_database *db, int columns);
void nsys_end_row(struct nsys_database *db);

/* The id of a text in StringIds, where it is from then on: of a string of the trace; of another
 * one. Not while a row is made. */
int64_t nsys_string(struct nsys_database *db, uint32_t string);
int64_t nsys_text(struct nsys_database *db, const char *text);

#endif
