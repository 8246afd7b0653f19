/* SPDX-License-Identifier: MIT */
/* The order of processes for people: trees from their roots, siblings by start, each process
 * followed by its own children. Foreign recordings may hold cycles of parents; every process comes
 * exactly once all the same. No recursion. Thread-safety: reads the trace only. */
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

struct node {
    int64_t start_ns;
    uint32_t process;
    uint32_t first_child, next_sibling; /* process + 1; 0 = none */
    bool placed;
};

static int compare_start(const void *left, const void *right)
{
    const struct node *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

/* Links children to parents; later ones first, so that each list is sorted by start. */
static void link_children(const struct trace *trace, const struct node *by_start,
                          struct node *nodes, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        uint32_t process = by_start[i].process;
        int32_t parent = trace_process_get(trace, process)->parent;
        if (parent < 0 || (uint32_t)parent >= count || (uint32_t)parent == process)
            continue;
        nodes[process].next_sibling = nodes[parent].first_child;
        nodes[parent].first_child = process + 1;
    }
}

/* Appends a process and all below it. `stack` holds the siblings that are still to come. */
static uint32_t place_tree(struct node *nodes, uint32_t root, uint32_t *order, uint32_t placed,
                           uint32_t *stack)
{
    uint32_t depth = 0;
    for (uint32_t at = root + 1; at != 0 || depth > 0;) {
        if (at == 0) {
            at = stack[--depth];
            continue;
        }
        struct node *node = &nodes[at - 1];
        uint32_t sibling = at - 1 == root ? 0 : node->next_sibling;
        if (node->placed) {
            at = sibling;
            continue;
        }
        node->placed = true;
        order[placed++] = at - 1;
        if (sibling)
            stack[depth++] = sibling;
        at = node->first_child;
    }
    return placed;
}

static bool is_root(const struct trace *trace, uint32_t process)
{
    int32_t parent = trace_process_get(trace, process)->parent;
    return parent < 0 || !trace_process_get(trace, (uint32_t)parent);
}

int trace_process_order(const struct trace *trace, uint32_t *order)
{
    uint32_t count = trace_process_count(trace), placed = 0;
    struct node *by_start = calloc(count + 1, sizeof(*by_start));
    struct node *nodes = calloc(count + 1, sizeof(*nodes));
    uint32_t *stack = calloc(count + 1, sizeof(*stack));
    int error = by_start && nodes && stack ? 0 : -ENOMEM;
    if (error)
        goto out;
    for (uint32_t i = 0; i < count; i++)
        by_start[i] =
            (struct node){.process = i, .start_ns = trace_process_get(trace, i)->start_ns};
    qsort(by_start, count, sizeof(*by_start), compare_start);
    link_children(trace, by_start, nodes, count);
    for (uint32_t i = 0; i < count; i++)
        if (is_root(trace, by_start[i].process))
            placed = place_tree(nodes, by_start[i].process, order, placed, stack);
    for (uint32_t i = 0; i < count; i++) /* cycles */
        if (!nodes[by_start[i].process].placed)
            placed = place_tree(nodes, by_start[i].process, order, placed, stack);
out:
    free(by_start);
    free(nodes);
    free(stack);
    return error;
}
