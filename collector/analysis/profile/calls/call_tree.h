/* SPDX-License-Identifier: MIT */
/* Sums samples into one tree of calls, the source of flame graphs and collapsed stacks.
 *
 * Nodes are functions (call_label.h: all lines of a function are one node, unless lines are
 * wanted), below nodes of the groups: process, thread, path of ranges; a wait has its reason as the
 * leaf, and the time in which it was runnable another leaf. Weights are nanoseconds, or another
 * value of samples (sample_weight.h), which is named time here as well. Memory is bounded by a
 * limit of nodes; samples below that count for the node above and are counted as cut.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_CALL_TREE_H
#define ANNOT_CALL_TREE_H

#include "chosen_frames.h"
#include "sample_weight.h"
#include "trace.h"

#include <stdbool.h>

enum call_group { /* bits; from the root inwards in this order */
                  CALL_BY_PROCESS = 1u << 0,
                  CALL_BY_THREAD = 1u << 1,
                  CALL_BY_RANGE = 1u << 2,
};

enum call_kind {
    CALL_ALL = 0,      /* the root */
    CALL_FUNCTION = 1, /* id: label */
    CALL_PROCESS = 2,  /* id: ordinal */
    CALL_THREAD = 3,
    CALL_RANGE = 4,      /* id: string */
    CALL_NO_RANGE = 5,   /* outside all ranges */
    CALL_REASON = 6,     /* id: enum wait_reason */
    CALL_NO_STACK = 7,   /* a sample without frames */
    CALL_RUNNABLE = 9,   /* runnable without a CPU */
    CALL_NO_ROOM = 8,    /* a sample beyond the node limit */
    CALL_INHERITED = 10, /* around ranges that a forked process inherited */
};

struct call_item {
    uint32_t kind; /* enum call_kind */
    uint32_t id;
    uint32_t domain; /* of a range: string */
    int32_t line;    /* of a function, with options.lines; 0: unknown, or all lines */
};

struct call_node {
    uint32_t item; /* call_tree_item() */
    uint32_t parent;
    uint32_t first_child, next_sibling; /* 0: unset; after finish, sorted by label */
    uint64_t self_ns, total_ns;         /* total after finish */
    uint64_t count;                     /* samples that end here; after finish: at or below it */
};

struct call_tree_options {
    unsigned groups;             /* enum call_group */
    struct sample_weight weight; /* of a set; all zero: time, as call_sample_weight_ns */
    const char *prefixes;        /* of file names, as in call_label.h */
    uint32_t node_limit;         /* 0 = 1,000,000: about 110 MiB */
    bool lines;                  /* a node is a line of a function */
    enum frame_choice frames;    /* frames left out count for their caller */
};

struct call_tree;

/* `trace` and the options' texts outlive the tree. NULL: out of memory. destroy accepts NULL. */
struct call_tree *call_tree_create(const struct trace *trace,
                                   const struct call_tree_options *options);
void call_tree_destroy(struct call_tree *tree);

/* Returns the time of a sample: CPU time, or the time off the CPU; 0 for other sets. */
uint64_t call_sample_weight_ns(const struct sample_sets *sets, const struct sample *sample);

/* Add samples in any order, then call finish once. 0 or -ENOMEM. */
int call_tree_add(struct call_tree *tree, const struct sample *sample);
int call_tree_finish(struct call_tree *tree);

/* Node 0 is the root; a parent has a smaller number than its children. */
uint32_t call_tree_node_count(const struct call_tree *tree);
const struct call_node *call_tree_node(const struct call_tree *tree, uint32_t index);
const struct call_item *call_tree_item(const struct call_tree *tree, uint32_t item);

/* Weights of CPU samples by the colour of the innermost code, independent of the chosen frames;
 * samples without a stack at COLOUR_COUNT. After finish, their sum is the root's total without
 * waits. */
const uint64_t *call_tree_colours(const struct call_tree *tree);

/* Samples with innermost frames dropped at the node limit. */
uint64_t call_tree_cut_count(const struct call_tree *tree);

/* The kind of a function's frames, else 0. */
unsigned call_item_frame_kind(const struct call_tree *tree, uint32_t item);

/* At most size - 1 bytes and NUL; returns the length. */
size_t call_item_label(const struct call_tree *tree, uint32_t item, char *buffer, size_t size);

#endif
