/* SPDX-License-Identifier: MIT */
/* Memory of the unwind rows and rules that the BPF program reads: written once per module.
 *
 * Rows lie in segments of SAMPLER_SEGMENT_ROWS, made when needed; rules are shared by all modules.
 * A slice never moves. The program may read during writes: a slice is written before anything
 * points at it, and given back only when it was unreferenced for a while (the caller ensures that).
 * Thread-safety: main, and one thread that reads tables; only one of them calls add. */
#ifndef ANNOT_ROW_MEMORY_H
#define ANNOT_ROW_MEMORY_H

#include "hash_map.h"
#include "sampler_abi.h"
#include "unwind_table.h"
#include "vec.h"

#include <pthread.h>
#include <stdint.h>

/* ---- Numbers in use in a range: slots of a map, rows of a segment ---------------------------- */

/* First fit; merges free neighbours. */

struct extent {
    uint32_t first, count;
};

struct extents {
    VEC(struct extent) free; /* sorted, never touching */
};

/* [0, count) is free. 0 or -ENOMEM. */
int extents_init(struct extents *extents, uint32_t count);
void extents_fini(struct extents *extents);

/* The first of `count` numbers; -ENOSPC. */
int64_t extents_take(struct extents *extents, uint32_t count);

/* 0, or -ENOMEM: then they stay in use. */
int extents_give(struct extents *extents, uint32_t first, uint32_t count);

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The provider of the memory. */
struct row_source {
    /* Allocates the rows of a new segment, SAMPLER_SEGMENT_ROWS of them, zeroed. 0 or -errno. */
    int (*add_segment)(void *context, uint32_t index, struct unwind_row **ret_rows);
    /* The memory of rule `index`, zeroed. NULL: no room. */
    struct unwind_rule *(*rule)(void *context, uint32_t index);
    void *context;
};

struct row_segment {
    struct unwind_row *rows;
    struct extents extents;
};

struct row_memory {
    struct row_source source;
    pthread_mutex_t lock; /* of all below; contents of segments and rules are written once */
    struct row_segment segments[SAMPLER_SEGMENTS_MAX];
    uint32_t segment_count;
    struct unwind_rule *rules; /* our own copy, for the collector's walks */
    struct map64 rule_index;   /* hash of a rule -> its number */
    uint32_t rule_count;       /* 0 is the unknown rule */

    struct row_counts {
        uint64_t rows_used;
        uint64_t rules_refused; /* did not fit, and count as unknown */
    } counts;
};

struct row_slice {
    uint32_t segment, first, count;
};

/* 0 or -ENOMEM. fini does not free the source's memory. */
int row_memory_init(struct row_memory *memory, const struct row_source *source);
void row_memory_fini(struct row_memory *memory);

/* Copies `count` rows of the table from `first` on. 0, -ENOSPC, -ENOMEM, -errno of the source. try:
 * without a new segment, which takes the kernel tens of milliseconds; -EAGAIN: it needs one. */
int row_memory_try(struct row_memory *memory, const struct unwind_table *table, uint32_t first,
                   uint32_t count, struct row_slice *ret_slice);
int row_memory_add(struct row_memory *memory, const struct unwind_table *table, uint32_t first,
                   uint32_t count, struct row_slice *ret_slice);
void row_memory_remove(struct row_memory *memory, const struct row_slice *slice);
struct row_counts row_memory_count(struct row_memory *memory);

#endif
