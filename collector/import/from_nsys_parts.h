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
    struct map64 threads;      /* 1 + globalTid: ordinal */
    struct map64 domains;      /* NVTX domain and process, mixed: its name */
    struct map64 categories;   /* the same of categories */
    struct map64 devices;      /* 1 + device: its name */
    uint64_t ranges;           /* of start and end, so far: their ids */
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

bool nsys_has_table(struct nsys *nsys, const char *table);

/* ---- from_nsys_samples.c, from_nsys_values.c ---- */

/* 0 or -errno. */
int nsys_read_samples(struct nsys *nsys);
/* Says what samples were taken for, where the file does not. */
void nsys_tell_guess(struct nsys *nsys);

/* Adds to the args of the row at hand. 0 or -ENOMEM. */
int nsys_take_json(struct nsys *nsys, const char *bytes, size_t size);

#endif
