/* SPDX-License-Identifier: MIT */
/* Sums of samples.
 *
 * Time by slot, thread, node of a tree, path of ranges and cause, in bounded memory: where there
 * are too many different ones, slots are joined, small nodes count for their parents, and in the
 * end lines, paths and threads are joined. Every sum over all of them stays exact.
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
    uint32_t line;  /* of source: page_sources.h; 0: of none */
    uint8_t cause;  /* enum wait_kind, PAGE_READY or PAGE_CPU; of samples enum wait_reason */
    uint8_t reason; /* PAGE_READY: what it had waited for */
    bool idle;      /* in no row of own functions */
    uint64_t count, time_ns, max_ns;
};

struct page_sums {
    VEC(struct page_sum) items;
    struct wide_map index;
    size_t limit;
    const uint32_t *parents; /* of nodes, each smaller than its child; the root's own is itself */
    uint32_t node_count;
    /* Nodes of one path differ by lines alone; one of them stands for all. NULL: none differ so. */
    const uint32_t *path_of_node, *node_of_path;
    uint32_t *into; /* nodes that count for others; NULL: none does */
    unsigned slot_shift;
    unsigned step;       /* of those that make room */
    unsigned node_steps; /* of these: nodes were joined */
    bool no_lines, no_paths, no_threads;
};

struct page_paths {
    uint32_t *of_stack, *stack_parents; /* by stack */
    uint32_t stack_count;
    VEC(uint32_t) parents, labels, stacks; /* by path; 0: none. stacks: one with samples, or any */
};

struct page_samples {
    const struct trace *trace;
    struct page_span span;
    const char *range; /* of ranges of this name alone; NULL: all */
    struct path_matches matches;
    struct page_paths paths;
    struct page_sums sums; /* their nodes are stacks */
};

void page_sums_fini(struct page_sums *sums);
int page_sums_add(struct page_sums *sums, const struct page_sum *sum);

/* Makes room until there are at most so many; until at most so many nodes have sums. */
int page_sums_limit(struct page_sums *sums, size_t limit);
int page_sums_limit_nodes(struct page_sums *sums, uint32_t limit);

/* In the order of slots, threads, nodes. */
void page_sums_sort(struct page_sums *sums);
int page_samples_init(struct page_samples *samples, const struct trace *trace, const char *range,
                      const struct page_span *span);
void page_samples_fini(struct page_samples *samples);
struct sink page_samples_sink(struct page_samples *samples);

#endif
