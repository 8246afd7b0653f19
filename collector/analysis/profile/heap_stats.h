/* SPDX-License-Identifier: MIT */
/* Who allocates memory, and who held it when the program used most of it: sums of the sets with
 * SAMPLE_SET_HEAP by process, function and line.
 *
 * A function is the innermost own function of the allocation's stack, else its innermost Python
 * function, else the function that called the allocator. The peak is that of all processes at one
 * instant; a process that ended holds nothing then. What a process held at its end is its last
 * known state: at its exit, its exec, or when it was killed. As trace_heap_window() says, blocks
 * allocated earlier are left out, and the state at another instant is taken instead of the end.
 *
 * Sums of sampled blocks are estimates; the variances are those of the sampling.
 *
 * Memory: 40 bytes for each of the last CHANGES_MAX samples, 128 bytes a row. Thread-safety: one
 * thread per object. */
#ifndef ANNOT_HEAP_STATS_H
#define ANNOT_HEAP_STATS_H

#include "pass.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

enum { HEAP_LINE_ANNOT = -1 }; /* with label 0: allocated by annot in the program */

struct heap_row {
    uint32_t process, label;     /* label 0: stack unknown */
    int32_t line;                /* of the allocation in that function; 0: unknown */
    uint64_t allocated, objects; /* bytes, blocks */
    uint64_t temporary;          /* bytes of blocks freed within HEAP_TEMPORARY_NS */
    int64_t peak, held;          /* bytes at the peak; at the end of its process */
    double peak_variance, held_variance, allocated_variance; /* square bytes */
};

struct heap_process {
    struct heap_row sums;  /* of its rows */
    int64_t peak, peak_ns; /* its own: bytes, time */
};

struct heap_totals {
    uint64_t samples; /* of allocations */
    struct heap_row sums;
    int64_t peak_ns;
    uint32_t peak_path; /* open ranges of the allocation that made the peak; 0: outside of ranges */
    bool exact;         /* no number is an estimate */
    bool counted;       /* the samples are sums of all blocks */
    bool has_lifetimes; /* temporary blocks are known */
};

struct heap_stats;

/* `trace` outlives it; its processes are complete. NULL: out of memory. destroy accepts NULL. */
struct heap_stats *heap_stats_create(const struct trace *trace);
void heap_stats_destroy(struct heap_stats *stats);

/* Takes the items of a pass; call finish once after the last. 0 or -ENOMEM. */
struct sink heap_stats_sink(struct heap_stats *stats);
int heap_stats_finish(struct heap_stats *stats);

/* The rows, most bytes at the peak first, then most held, then most allocated bytes. */
uint32_t heap_stats_rows(const struct heap_stats *stats, const struct heap_row **ret_rows);

/* The same with all processes in one row, whose `process` has no meaning; and the processes with
 * samples, the largest peak first. */
uint32_t heap_stats_places(const struct heap_stats *stats, const struct heap_row **ret_rows);
uint32_t heap_stats_processes(const struct heap_stats *stats,
                              const struct heap_process **ret_processes);
const struct heap_totals *heap_stats_totals(const struct heap_stats *stats);

/* Sets peak_ns of the trace's heap window to the peak of the selected samples, 0 without samples.
 * find: cost: a pass over the samples. choose: the same of a recording, which is rewound then. 0 or
 * -errno. */
int heap_stats_find_peak(const struct pass_source *source, const struct pass_selection *selection);
int heap_stats_choose_peak(struct store_reader *reader, const struct pass_selection *selection);

#endif
