/* SPDX-License-Identifier: MIT */
/* State of the reader of Nsight Systems databases, shared by its files. Thread-safety: one thread
 * per reader. */
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
    VEC(const char *) asked;   /* known tables, present or not */
    VEC(struct arg) args;      /* of the current row */
    int64_t values[2];         /* of the current sample */
};

#endif
