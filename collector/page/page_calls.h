/* SPDX-License-Identifier: MIT */
/* The tree of calls: call paths below the role of their thread, without functions of the
 * interpreter and of start-up between Python functions. A path counts for the same own function as
 * in the report. Thread-safety: one thread per page. */
#ifndef ANNOT_PAGE_CALLS_H
#define ANNOT_PAGE_CALLS_H

#include "hash_map.h"
#include "json_writer.h"
#include "page_samples.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page;
struct own_time;
struct page_lines;
struct trace;

enum page_function_kind {
    PAGE_FUNCTION = 0,
    PAGE_ROLE,    /* id: role */
    PAGE_PURPOSE, /* id: enum code_purpose, for time outside own functions */
    PAGE_PROGRAM, /* id: string */
};

struct page_function {
    uint8_t kind; /* enum page_function_kind */
    bool mine;    /* counts as own code here (own_time.h) */
    uint32_t id;  /* label */
};

struct page_node {
    uint32_t function,
        own; /* own: function that its time counts for; PAGE_NONE: no stack ends here */
    int32_t line;
    uint64_t line_ns;
};

struct page_nodes {
    const struct trace *trace;
    const struct own_time *own;
    VEC(struct page_node) items; /* 0: the root */
    VEC(uint32_t) parents;
    VEC(struct page_function) functions;
    VEC(char *) roles;
    uint32_t *role_of; /* by thread; PAGE_NONE: not looked up */
    uint32_t thread_count;
    struct wide_map child_by_key;
    struct map64 node_by_path, function_by_key;
    struct page_sums sums; /* with these nodes */
};

/* Makes the tree and the sums by its nodes, from finished times. 0 or -ENOMEM. */
int page_nodes_make(struct page_nodes *nodes, struct page_samples *samples,
                    const struct own_time *own, struct page_lines *lines);
void page_nodes_fini(struct page_nodes *nodes);

/* Cuts the number that distinguishes threads of one role: "worker 3" becomes "worker". */
void page_cut_number(char *name);

/* The common name of a thread and others of its role: "main", "worker". */
void page_role_name(const struct trace *trace, uint32_t thread, char *buffer, size_t size);

/* Writes functions, nodes, paths, lines, cpu, off. */
int page_put_calls(struct page *page, struct json_doc *doc);

#endif
