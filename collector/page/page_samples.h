/* SPDX-License-Identifier: MIT */
/* Sums of samples.
 *
 * Time by slot, thread, tree node, path of ranges and cause, in bounded memory: if there are too
 * many sums, slots are joined, small nodes are merged into their parents, and in the end lines,
 * paths and threads are joined. Every total stays exact.
 *
 * The nodes of samples are stacks; a call path is a stack without the lines of its frames. Memory:
 * 20 bytes a stack of the recording, 12 a path, PAGE_SUMS_READ sums. Thread-safety: one thread per
 * page. */
#ifndef ANNOT_PAGE_SAMPLES_H
#define ANNOT_PAGE_SAMPLES_H

#include "hash_map.h"
#include "page_data.h"
#include "pass.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace;

struct page_sum {
    uint32_t slot, thread, node, path;
    uint32_t line;  /* source line: page_sources.h; 0 if unknown */
    uint8_t cause;  /* enum wait_kind, PAGE_RUNNABLE or PAGE_CPU; of samples enum wait_reason */
    uint8_t reason; /* PAGE_RUNNABLE: reason of the wait before */
    bool idle;      /* not in a row of own functions */
    uint64_t count, time_ns, max_ns;
};

struct page_sums {
    VEC(struct page_sum) items;
    struct wide_map index;
    size_t limit;
    const uint32_t
        *parents; /* parents of nodes, each less than its child; the root is its own parent */
    uint32_t node_count;
    /* Nodes of one path differ only by lines; one of them represents all. NULL if paths are not
     * joined. */
    const uint32_t *path_of_node, *node_of_path;
    uint32_t *into; /* by node: the node it was merged into; NULL without merges */
    unsigned slot_shift;
    unsigned step;       /* next step of make_room */
    unsigned node_steps; /* number of steps that merged nodes */
    bool no_lines, no_paths, no_threads;
};

struct page_paths {
    uint32_t *of_stack, *stack_parents; /* by stack */
    uint32_t stack_count;
    VEC(uint32_t)
    parents, labels, stacks; /* by path; 0 for the root. stacks: one that has samples, or any */
};

struct page_samples {
    const struct trace *trace;
    struct page_span span;
    const char *range; /* only inside ranges of this name; NULL: all */
    struct path_matches matches;
    struct page_paths paths;
    struct page_sums sums; /* by stack */
};

void page_sums_fini(struct page_sums *sums);
int page_sums_add(struct page_sums *sums, const struct page_sum *sum);

/* Reduce the sums to at most `limit`, or the nodes that have sums. */
int page_sums_limit(struct page_sums *sums, size_t limit);
int page_sums_limit_nodes(struct page_sums *sums, uint32_t limit);

/* Sorts by slot, thread, node. */
void page_sums_sort(struct page_sums *sums);
int page_samples_init(struct page_samples *samples, const struct trace *trace, const char *range,
                      const struct page_span *span);
void page_samples_fini(struct page_samples *samples);
struct sink page_samples_sink(struct page_samples *samples);

#endif
