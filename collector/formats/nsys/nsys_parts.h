/* SPDX-License-Identifier: MIT */
/* What the files of the exporter for Nsight Systems share with each other only.
 *
 * The database is made in a temporary file, in one transaction, and then copied to the output: a
 * database cannot be written in order. A table is there if it has rows. Columns are those of 2022.4
 * to 2024.2 together. Thread-safety: none. */
#ifndef ANNOT_NSYS_PARTS_H
#define ANNOT_NSYS_PARTS_H

#include "chosen_frames.h"
#include "export.h"
#include "export_ids.h"
#include "gpu_work.h"
#include "hash_map.h"
#include "nsys_shape.h"
#include "strtab.h"
#include "vec.h"

#include <signal.h>
#include <sqlite3.h>

/* ---- The database: nsys_database.c ----------------------------------------------------------- */

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

/* ---- What the files have in common ----------------------------------------------------------- */

struct nsys_device {
    uint32_t number;
    uint32_t lane;                      /* its name */
    struct arg values[GPU_VALUE_COUNT]; /* by enum gpu_value; without kind: not known */
};

/* Where and when something was launched. */
struct nsys_launch {
    int64_t thread, start_ns; /* globalTid, since the begin of the recording */
    int64_t told;             /* the driver's number; 0: not recorded */
    int64_t number;           /* that joins it with what was launched */
};

struct nsys {
    struct nsys_database db;
    const struct export_job *job;
    const struct trace *trace;
    struct export_ids ids;
    struct gpu_keys keys;
    struct chosen_frames chosen;
    int64_t begin_ns;
    struct out_stream *json;  /* memory */
    struct map64 scopes;      /* of processes, whose names are there */
    struct wide_map names;    /* of domains and categories of processes: they have their row */
    struct map64 short_names; /* of kernels: by string, their id */
    struct map64 contexts;    /* process and context: 1 + device */
    VEC(struct nsys_device) devices;
    uint8_t *chains; /* by stack: its callchain is there */
    uint32_t stack_count;
    int64_t sample_count;
    struct nsys_launch last_launch; /* without number: none yet */
    int64_t own_launches;
};

enum { NSYS_NOBODY = -1 };

/* Contexts of CUDA have smaller numbers: others stand for something else. */
#define NSYS_CONTEXTS UINT32_C(0xffffff00)

/* A globalTid; NSYS_NOBODY: the recording does not know the thread. A globalPid, of a process. */
int64_t nsys_thread(const struct nsys *nsys, uint32_t thread);
int64_t nsys_process(const struct nsys *nsys, uint32_t process);
/* The next column: a time since the begin of the recording; a globalTid or globalPid. */
void nsys_put_time(struct nsys *nsys, int64_t time_ns);
void nsys_put_who(struct nsys *nsys, int64_t global);

/* ---- Ranges, marks: nsys_ranges.c; samples: nsys_samples.c; GPUs: nsys_gpu.c ----------------- */

void nsys_take_range(struct nsys *nsys, const struct item *item);
void nsys_take_mark(struct nsys *nsys, const struct item *item);
void nsys_take_sample(struct nsys *nsys, const struct sample *sample);

/* 0 or -ENOMEM. */
int nsys_gpu_init(struct nsys *nsys);
/* False: it is none of what a GPU did, or was asked for. */
bool nsys_gpu_take(struct nsys *nsys, const struct item *item);
/* What it says of a device. */
void nsys_gpu_mark(struct nsys *nsys, const struct item *item);
/* Launches whose calls were not recorded. */
void nsys_gpu_finish(struct nsys *nsys);

/* ---- What is told of the whole: nsys_facts.c ------------------------------------------------- */

void nsys_put_facts(struct nsys *nsys);

#endif
