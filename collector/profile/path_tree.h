/* SPDX-License-Identifier: MIT */
/* Range paths as numbers: a tree of (parent, name, domain), found again by hashing.
 *
 * Nodes count from 0 and stay. Node PATH_OTHER takes everything beyond the node limit, and its
 * children. Memory: about 40 bytes a node. Thread-safety: none. */
#ifndef ANNOT_PATH_TREE_H
#define ANNOT_PATH_TREE_H

#include <stdint.h>

#define PATH_OTHER 0u
#define PATH_NONE  UINT32_MAX

struct path_node {
    uint32_t parent; /* PATH_NONE: a root; then name and domain are the owner's two keys */
    uint32_t name, domain;
    uint32_t last_child; /* most recently asked for; PATH_NONE = none yet */
    uint32_t depth;      /* a root has 0 */
    uint32_t head; /* the node above it, or itself, of depth PATH_HEAD; 0: it is not so deep */
};

/* Where the head of a long path ends: labels show that, and what is innermost. */
enum { PATH_HEAD = 32 };

struct path_tree {
    struct path_node *nodes;
    uint32_t count, capacity, limit;
    uint32_t *slots; /* hash table of node numbers; PATH_NONE = free */
    uint32_t slot_mask;
    int error; /* sticky: -ENOMEM; then new paths are PATH_OTHER */
};

/* 0 or -ENOMEM. fini accepts a zeroed or half-built tree. */
int path_tree_init(struct path_tree *tree, uint32_t limit);
void path_tree_fini(struct path_tree *tree);

/* The node's number; new if not seen before. parent PATH_NONE makes a root. */
uint32_t path_tree_child(struct path_tree *tree, uint32_t parent, uint32_t name, uint32_t domain);

#endif
