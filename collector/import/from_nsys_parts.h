/* SPDX-License-Identifier: MIT */
/* What the files of the reader of Nsight Systems' databases share. */
#ifndef ANNOT_IMPORT_NSYS_PARTS_H
#define ANNOT_IMPORT_NSYS_PARTS_H

#include "import_parts.h"

#include <sqlite3.h>

enum { NSYS_COLUMNS = 16 };

struct nsys {
    struct import_sink *sink;
    sqlite3 *database;
    bool has_texts, has_calls; /* tables that others are joined with */
    bool any;                  /* a table that is known was there */
    struct map64 threads;      /* 1 + globalTid: ordinal */
    struct map64 domains;      /* NVTX domain and process, mixed: its name */
    struct map64 devices;      /* 1 + device: its name */
    uint64_t ranges;           /* of start and end, so far: their ids */
    VEC(struct arg) args;      /* of the row at hand */
};

/* A table, and the columns that its rows are taken with; NULL behind the last. */
struct nsys_table {
    const char *name;
    const char *columns[NSYS_COLUMNS];
    int (*take)(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row);
    bool is_work; /* of a GPU: begin and thread of its launch follow the columns */
    uint8_t role; /* enum queue_role */
};

/* In the order in which they are read; without a name behind the last. */
extern const struct nsys_table nsys_tables[];

void nsys_fini(struct nsys *nsys);

#endif
