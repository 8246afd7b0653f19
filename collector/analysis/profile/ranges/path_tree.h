/* SPDX-License-Identifier: MIT */
/* Range paths as numbers: a tree of (parent, name, domain), found by hashing.
 *
 * Nodes count from 0 and are stable. Node PATH_OTHER takes everything beyond the node limit, and
 * its children. Memory: about 50 bytes a node. Thread-safety: none. */
#ifndef ANNOT_PATH_TREE_H
#define ANNOT_PATH_TREE_H

#include "vec.h"

#include <stdint.h>

#define PATH_OTHER 0u
#define PATH_NONE  UINT32_MAX

struct path_node {
    uint32_t parent; /* PATH_NONE: a root; then name and domain are the owner's two keys */
    uint32_t name, domain;
    uint32_t last_child; /* latest result; PATH_NONE: unset */
    uint32_t depth;      /* 0 for a root */
    uint32_t head;       /* the ancestor (or self) of depth PATH_HEAD; 0: the node is not so deep */
};

/* Depth at which the head of a long path ends; labels show the head and the innermost ranges. */
enum { PATH_HEAD = 32 };

/* Slot of a hash table: the tag rules out most other nodes without reading them, as with many paths
 * they are not in the processor's caches. */
struct path_slot {
    uint32_t tag;  /* more bits of the hash */
    uint32_t node; /* PATH_NONE: free */
};

struct path_tree {
    struct path_node *nodes;
    uint32_t count, capacity, limit;
    struct path_slot *slots;
    VEC(uint64_t) named; /* bits, by name: has nodes other than roots */
    uint32_t slot_mask;
    int error; /* sticky: -ENOMEM; then new paths are PATH_OTHER */
};

/* 0 or -ENOMEM. fini accepts a zeroed or half-built tree. */
int path_tree_init(struct path_tree *tree, uint32_t limit);
void path_tree_fini(struct path_tree *tree);

/* Returns the node's number; adds new nodes. parent PATH_NONE makes a root. */
uint32_t path_tree_child(struct path_tree *tree, uint32_t parent, uint32_t name, uint32_t domain);

#endif
