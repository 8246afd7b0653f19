/* SPDX-License-Identifier: MIT */
/* The tree of calls for readers: own functions below own functions, with the first library function
 * that each calls, and the causes of its waits. All other time is folded into these.
 *
 * own_time.h defines own code and the waits that count; time below all nodes of a function is the
 * function's own. A recursive function, also through others, is one node. Workers of pools and
 * threads begin at the root. Memory: 12 bytes a stack of the recording and 64 a node, at most
 * OWN_TREE_NODES; further calls then count for the node above. Thread-safety: none. */
#ifndef ANNOT_OWN_TREE_H
#define ANNOT_OWN_TREE_H

#include "own_time.h"

enum { OWN_TREE_NODES = 1 << 18, OWN_NODE_RUNS = 0xff };

struct own_node {
    uint32_t parent; /* row; an outermost row is its own parent */
    uint32_t depth;  /* 0 for outermost rows */
    uint32_t label;  /* 0: not a function; then: */
    uint8_t purpose; /* enum code_purpose, */
    uint8_t reason;  /* or enum wait_reason; else OWN_NODE_RUNS */
    struct own_times self, total;
};

struct own_tree;

/* `own` is finished and outlives the tree. Siblings are sorted, the largest first, by CPU time
 * alone or with waits. NULL: out of memory. destroy accepts NULL. */
struct own_tree *own_tree_create(const struct own_time *own, bool by_wall);
void own_tree_destroy(struct own_tree *tree);

/* Rows in preorder; nodes without time are left out. */
uint32_t own_tree_rows(const struct own_tree *tree, const struct own_node **ret_rows);

#endif
