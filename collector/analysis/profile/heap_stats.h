/* SPDX-License-Identifier: MIT */
/* Who allocates memory, and who held it when the program used most of it: sums of the sets "heap"
 * and "heap-freed" by process and function.
 *
 * A function is the innermost own function of the allocation's stack, else its innermost Python
 * function, else the function that called the allocator. The peak is that of all processes at one
 * instant; a process that ended holds nothing. All numbers are estimates from samples: each stands
 * for the bytes of its weight.
 *
 * Memory: 24 bytes a sample until finish, 80 bytes a row. Thread-safety: one thread per object. */
#ifndef ANNOT_HEAP_STATS_H
#define ANNOT_HEAP_STATS_H

#include "pass.h"
#include "trace.h"

#include <stdint.h>

struct heap_row {
    uint32_t process, label;            /* label 0: stack unknown */
    int32_t line;                       /* of the allocation in that function; 0: unknown */
    uint64_t allocated, objects, freed; /* bytes, blocks, bytes */
    int64_t peak;                       /* bytes that it held at the peak */
    int64_t live;                       /* at the end of its process or of the recording */
};

struct heap_totals {
    uint64_t samples; /* of allocations */
    uint64_t allocated, objects;
    int64_t peak, peak_ns; /* bytes; time */
};

struct heap_stats;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct heap_stats *heap_stats_create(const struct trace *trace);
void heap_stats_destroy(struct heap_stats *stats);

/* True if the recording has samples of memory. */
bool heap_stats_any(const struct trace *trace);

/* Takes the items of a pass in any order; call finish once after the last. 0 or -ENOMEM. */
struct sink heap_stats_sink(struct heap_stats *stats);
int heap_stats_finish(struct heap_stats *stats);

/* The rows, most bytes at the peak first, then most allocated bytes. */
uint32_t heap_stats_rows(const struct heap_stats *stats, const struct heap_row **ret_rows);
const struct heap_totals *heap_stats_totals(const struct heap_stats *stats);

#endif
