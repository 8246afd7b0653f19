/* SPDX-License-Identifier: MIT */
/* The path tree of path_tree.h: an array of nodes and an open-addressing table of their numbers.
 *
 * Loops ask for the same child again and again, so each node remembers the last answer. */
#include "path_tree.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t first_slot(const struct path_tree *tree, const struct path_node *node)
{
    uint64_t key = (uint64_t)node->parent << 32 | node->name;
    return (uint32_t)hash_u64(key ^ hash_u64(node->domain + 1ull)) & tree->slot_mask;
}

/* The slot that holds the node, or the free one where it belongs. */
static uint32_t find_slot(const struct path_tree *tree, const struct path_node *wanted)
{
    uint32_t slot = first_slot(tree, wanted);
    for (;; slot = (slot + 1) & tree->slot_mask) {
        if (tree->slots[slot] == PATH_NONE)
            return slot;
        const struct path_node *node = &tree->nodes[tree->slots[slot]];
        if (node->parent == wanted->parent && node->name == wanted->name &&
            node->domain == wanted->domain)
            return slot;
    }
}

/* Twice the nodes, and a table at most half full. */
static int grow(struct path_tree *tree)
{
    uint32_t capacity = tree->capacity ? tree->capacity * 2 : 64;
    struct path_node *nodes = realloc(tree->nodes, capacity * sizeof(*nodes));
    if (!nodes)
        return -ENOMEM;
    tree->nodes = nodes;
    uint32_t *slots = malloc((size_t)capacity * 2 * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(tree->slots);
    tree->slots = slots;
    tree->slot_mask = capacity * 2 - 1;
    tree->capacity = capacity;
    memset(slots, 0xff, (size_t)capacity * 2 * sizeof(*slots));
    for (uint32_t i = 1; i < tree->count; i++)
        slots[find_slot(tree, &nodes[i])] = i;
    return 0;
}

int path_tree_init(struct path_tree *tree, uint32_t limit)
{
    *tree = (struct path_tree){.limit = limit};
    int rc = grow(tree);
    if (rc < 0)
        return rc;
    tree->nodes[PATH_OTHER] = (struct path_node){.parent = PATH_NONE, .last_child = PATH_NONE};
    tree->count = 1;
    return 0;
}

void path_tree_fini(struct path_tree *tree)
{
    free(tree->nodes);
    free(tree->slots);
    *tree = (struct path_tree){0};
}

static uint32_t add(struct path_tree *tree, const struct path_node *node, uint32_t slot)
{
    if (tree->count >= tree->limit || tree->error)
        return PATH_OTHER;
    if (tree->count == tree->capacity) {
        tree->error = grow(tree);
        if (tree->error)
            return PATH_OTHER;
        slot = find_slot(tree, node);
    }
    struct path_node *added = &tree->nodes[tree->count];
    *added = *node;
    if (node->parent != PATH_NONE) {
        added->depth = tree->nodes[node->parent].depth + 1;
        added->head = added->depth == PATH_HEAD ? tree->count : tree->nodes[node->parent].head;
    }
    tree->slots[slot] = tree->count;
    return tree->count++;
}

uint32_t path_tree_child(struct path_tree *tree, uint32_t parent, uint32_t name, uint32_t domain)
{
    if (parent == PATH_OTHER)
        return PATH_OTHER;
    if (parent != PATH_NONE && tree->nodes[parent].last_child != PATH_NONE) {
        const struct path_node *last = &tree->nodes[tree->nodes[parent].last_child];
        if (last->name == name && last->domain == domain && last->parent == parent)
            return tree->nodes[parent].last_child;
    }
    struct path_node node = {parent, name, domain, PATH_NONE, 0, 0};
    uint32_t slot = find_slot(tree, &node);
    uint32_t found = tree->slots[slot];
    if (found == PATH_NONE)
        found = add(tree, &node, slot);
    if (parent != PATH_NONE && found != PATH_OTHER)
        tree->nodes[parent].last_child = found;
    return found;
}
