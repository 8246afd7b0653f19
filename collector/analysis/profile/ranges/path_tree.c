/* SPDX-License-Identifier: MIT */
/* The tree of paths: an array of nodes and an open-addressing table of their numbers.
 *
 * Each node caches its latest child, as loops look up the same child repeatedly. */
#include "path_tree.h"

#include "hash.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_node(const struct path_node *node)
{
    uint64_t key = (uint64_t)node->parent << 32 | node->name;
    return hash_u64(key ^ hash_u64(node->domain + 1ull));
}

/* Returns the slot that holds the node, or its free slot, and its tag. */
static struct path_slot *find_slot(const struct path_tree *tree, const struct path_node *wanted,
                                   uint32_t *ret_tag)
{
    uint64_t hash = hash_node(wanted);
    uint32_t tag = (uint32_t)(hash >> 32), at = (uint32_t)hash & tree->slot_mask;
    *ret_tag = tag;
    for (;; at = (at + 1) & tree->slot_mask) {
        struct path_slot *slot = &tree->slots[at];
        if (slot->node == PATH_NONE)
            return slot;
        const struct path_node *node = &tree->nodes[slot->node];
        if (slot->tag == tag && node->parent == wanted->parent && node->name == wanted->name &&
            node->domain == wanted->domain)
            return slot;
    }
}

static void fill_slot(const struct path_tree *tree, uint32_t node)
{
    uint32_t tag;
    struct path_slot *slot = find_slot(tree, &tree->nodes[node], &tag);
    *slot = (struct path_slot){tag, node};
}

/* Doubles the nodes, with a table at most half full. */
static int grow_slots(struct path_tree *tree)
{
    uint32_t capacity = tree->capacity ? tree->capacity * 2 : 64;
    struct path_node *nodes = realloc(tree->nodes, capacity * sizeof(*nodes));
    if (!nodes)
        return -ENOMEM;
    tree->nodes = nodes;
    struct path_slot *slots = malloc((size_t)capacity * 2 * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(tree->slots);
    tree->slots = slots;
    tree->slot_mask = capacity * 2 - 1;
    tree->capacity = capacity;
    memset(slots, 0xff, (size_t)capacity * 2 * sizeof(*slots));
    for (uint32_t i = 1; i < tree->count; i++)
        fill_slot(tree, i);
    return 0;
}

int path_tree_init(struct path_tree *tree, uint32_t limit)
{
    *tree = (struct path_tree){.limit = limit};
    int rc = grow_slots(tree);
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
    vec_free(&tree->named);
    *tree = (struct path_tree){0};
}

/* At the node limit, a bit per name rules out most paths of new names; the bits stay in the
 * processor's caches, the table does not. Names from NAMED_MAX on are always looked up. */
enum { NAMED_MAX = 1 << 24 };

static bool may_have_name(const struct path_tree *tree, uint32_t name)
{
    size_t word = name / 64;
    return name >= NAMED_MAX ||
           (word < tree->named.count && (tree->named.items[word] >> name % 64 & 1) != 0);
}

static int remember_name(struct path_tree *tree, uint32_t name)
{
    while (name < NAMED_MAX && tree->named.count <= name / 64)
        if (vec_push(&tree->named, 0) != 0)
            return -ENOMEM;
    if (name < NAMED_MAX)
        tree->named.items[name / 64] |= UINT64_C(1) << name % 64;
    return 0;
}

static uint32_t add_node(struct path_tree *tree, const struct path_node *node)
{
    if (tree->count >= tree->limit || tree->error)
        return PATH_OTHER;
    if (tree->count == tree->capacity)
        tree->error = grow_slots(tree);
    if (!tree->error && node->parent != PATH_NONE)
        tree->error = remember_name(tree, node->name);
    if (tree->error)
        return PATH_OTHER;
    struct path_node *added = &tree->nodes[tree->count];
    *added = *node;
    if (node->parent != PATH_NONE) {
        added->depth = tree->nodes[node->parent].depth + 1;
        added->head = added->depth == PATH_HEAD ? tree->count : tree->nodes[node->parent].head;
    }
    fill_slot(tree, tree->count);
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
    if (parent != PATH_NONE && tree->count >= tree->limit && !may_have_name(tree, name))
        return PATH_OTHER;
    struct path_node node = {parent, name, domain, PATH_NONE, 0, 0};
    uint32_t tag, found = find_slot(tree, &node, &tag)->node;
    if (found == PATH_NONE)
        found = add_node(tree, &node);
    if (parent != PATH_NONE && found != PATH_OTHER)
        tree->nodes[parent].last_child = found;
    return found;
}
