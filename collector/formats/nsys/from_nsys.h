/* SPDX-License-Identifier: MIT */
/* State of the reader of databases of Nsight Systems, which its files share. Thread-safety: one
 * thread per reader. */
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

#endif
