/* SPDX-License-Identifier: MIT */
/* The tree of calls as people read it: own functions below own functions, with the first function
 * of a library that each calls, and what it waits for. All else is folded into these.
 *
 * What is own, and which waits count, is own_time.h's: the time below all nodes of a function is
 * that function's there. A function that calls itself, by others too, is one node. Workers of pools
 * and threads begin at the root. Memory: 12 bytes a stack of the recording and 64 a node, of which
 * there are OWN_TREE_NODES at most; further calls then count for the node above. Thread-safety:
 * none. */
#ifndef ANNOT_OWN_TREE_H
#define ANNOT_OWN_TREE_H

#include "own_time.h"

enum { OWN_TREE_NODES = 1 << 18, OWN_NODE_RUNS = 0xff };

struct own_node {
    uint32_t parent; /* row; of the outermost their own */
    uint32_t depth;  /* of the outermost 0 */
    uint32_t label;  /* 0: none; then: */
    uint8_t purpose; /* enum code_purpose, */
    uint8_t reason;  /* or enum wait_reason; else OWN_NODE_RUNS */
    struct own_times self, total;
};

struct own_tree;

/* Of finished times, which outlive it. Siblings are in order, the largest first, by CPU time alone
 * or with waits. NULL: out of memory. destroy accepts NULL. */
struct own_tree *own_tree_create(const struct own_time *own, bool by_wall);
void own_tree_destroy(struct own_tree *tree);

/* Each node before what it calls. Those without time are left out. */
uint32_t own_tree_rows(const struct own_tree *tree, const struct own_node **ret_rows);

#endif
