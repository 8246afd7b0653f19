/* SPDX-License-Identifier: MIT */
/* Calls that are counted: a tree of calling contexts for each thread.
 *
 * A node is a function and who called it, whoever called that, and so on. What it has counted is
 * told about once a second, from within the thread's own calls, so that memory is the tree alone.
 * Nodes of all threads are at most NODES_MAX; a call that finds no room for one counts at
 * "(other)".
 *
 * Threads: each its own tree. */
#include "tracing_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = 250000, /* of the process: 48 bytes, and 8 to 16 of a table */
    PART_NODES = 256,
    DEPTH_MAX = 2000, /* below what a STACK may have */
    FIRST_SLOTS = 256,
};

struct trace_node {
    struct trace_node *parent;
    struct trace_node *latest; /* of the places it called, the last one */
    annot_name name, stack;
    uint64_t calls, ticks; /* not told yet */
    uint32_t depth;
    uint32_t is_open; /* beyond the tree: calls that are not there any more */
};

struct part {
    struct part *next;
    uint32_t count;
    struct trace_node nodes[PART_NODES];
};

struct trace_tree {
    struct trace_node root; /* the thread itself, with time that is nobody's */
    struct trace_node *now;
    struct trace_node *other;
    struct part *parts;
    struct trace_node **slots; /* by parent and name */
    uint32_t slot_count, node_count;
    uint64_t since; /* of the time that is not counted yet */
    uint64_t told;  /* when all was told last */
};

static uint32_t nodes_left = NODES_MAX; /* W: all, atomic */

/* ---- Nodes ----------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct trace_tree *tree, const struct trace_node *parent,
                        annot_name name)
{
    uint64_t hash = ((uint64_t)(uintptr_t)parent ^ (uint64_t)name << 40) + name;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) & (tree->slot_count - 1);
}

static void place(struct trace_tree *tree, struct trace_node *node)
{
    uint32_t slot = slot_of(tree, node->parent, node->name);
    while (tree->slots[slot] != NULL)
        slot = (slot + 1) & (tree->slot_count - 1);
    tree->slots[slot] = node;
}

/* Three of four slots are in use at most. */
static bool grow(struct trace_tree *tree)
{
    if (tree->node_count < tree->slot_count / 4 * 3)
        return true;
    uint32_t count = tree->slot_count ? 2 * tree->slot_count : (uint32_t)FIRST_SLOTS;
    struct trace_node **old = tree->slots;
    uint32_t old_count = tree->slot_count;
    tree->slots = calloc(count, sizeof(*tree->slots));
    if (tree->slots == NULL) {
        tree->slots = old;
        return false;
    }
    tree->slot_count = count;
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i] != NULL)
            place(tree, old[i]);
    free(old);
    return true;
}

static bool take_share(void)
{
    uint32_t left = __atomic_load_n(&nodes_left, __ATOMIC_RELAXED);
    while (left > 0)
        /* Partner: itself. */
        if (__atomic_compare_exchange_n(&nodes_left, &left, left - 1, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

static struct trace_node *add(struct trace_tree *tree, struct trace_node *parent, annot_name name)
{
    annot_name stack = parent->depth < DEPTH_MAX ? annot_stack_name(parent->stack, name, 0) : 0;
    if (stack == 0 || !grow(tree) || !take_share())
        return NULL;
    struct part *part = tree->parts;
    if (part == NULL || part->count == PART_NODES) {
        part = malloc(sizeof(*part));
        if (part == NULL)
            return NULL;
        part->count = 0;
        part->next = tree->parts;
        tree->parts = part;
    }
    struct trace_node *node = &part->nodes[part->count++];
    *node = (struct trace_node){
        .parent = parent, .name = name, .stack = stack, .depth = parent->depth + 1};
    tree->node_count++;
    place(tree, node);
    return node;
}

static __attribute__((noinline)) struct trace_node *find(struct trace_tree *tree,
                                                         struct trace_node *parent, annot_name name)
{
    if (tree->slot_count > 0) {
        uint32_t slot = slot_of(tree, parent, name);
        for (; tree->slots[slot] != NULL; slot = (slot + 1) & (tree->slot_count - 1)) {
            struct trace_node *node = tree->slots[slot];
            if (node->parent == parent && node->name == name)
                return parent->latest = node;
        }
    }
    struct trace_node *made = add(tree, parent, name);
    if (made != NULL)
        parent->latest = made;
    return made;
}

static struct trace_tree *make_tree(struct trace_thread *thread)
{
    struct trace_tree *tree = calloc(1, sizeof(*tree));
    if (tree == NULL)
        return NULL;
    tree->now = &tree->root;
    tree->since = tree->told = trace_time();
    tree->other = add(tree, &tree->root, annot_code_name("(other)", "", 0, ANNOT_CODE_C));
    return thread->tree = tree;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void spend(struct trace_tree *tree, uint64_t now)
{
    tree->now->ticks += now - tree->since;
    tree->since = now;
}

void trace_tree_flush(struct trace_thread *thread)
{
    struct trace_tree *tree = thread->tree;
    if (tree == NULL)
        return;
    uint64_t told = tree->told;
    spend(tree, trace_time());
    tree->told = tree->since;
    for (struct part *part = tree->parts; part; part = part->next) {
        for (uint32_t i = 0; i < part->count; i++) {
            struct trace_node *node = &part->nodes[i];
            if (node->calls == 0 && node->ticks == 0)
                continue;
            annot_aggregate(ANNOT_AGGREGATE_CALLS, node->stack, node->calls, node->ticks, told);
            node->calls = node->ticks = 0;
        }
    }
}

void trace_tree_skip(struct trace_thread *thread)
{
    if (thread->tree != NULL)
        thread->tree->since = trace_time();
}

void trace_tree_restart(struct trace_thread *thread)
{
    struct trace_tree *tree = thread->tree;
    if (tree == NULL)
        return;
    for (struct part *part = tree->parts; part; part = part->next)
        for (uint32_t i = 0; i < part->count; i++)
            part->nodes[i].calls = part->nodes[i].ticks = 0;
    tree->now = &tree->root;
    tree->since = tree->told = trace_time();
}

void trace_tree_free(struct trace_thread *thread)
{
    struct trace_tree *tree = thread->tree;
    if (tree == NULL)
        return;
    __atomic_fetch_add(&nodes_left, tree->node_count, __ATOMIC_RELAXED);
    for (struct part *part = tree->parts, *next; part; part = next) {
        next = part->next;
        free(part);
    }
    free(tree->slots);
    free(tree);
    thread->tree = NULL;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* `name` 0: the call counts as part of its caller. */
void trace_tree_enter(struct trace_thread *thread, struct trace_entry *entry, annot_name name,
                      bool continues)
{
    struct trace_tree *tree = thread->tree ? thread->tree : make_tree(thread);
    entry->node = NULL;
    if (tree == NULL)
        return;
    struct trace_node *caller = tree->now, *node = caller->latest;
    uint64_t now = trace_time();
    spend(tree, now);
    entry->node = caller;
    if (RARE(name == 0))
        return;
    if (node == NULL || node->name != name)
        node = find(tree, caller, name);
    if (RARE(node == NULL))
        node = tree->other ? tree->other : caller;
    node->calls += !continues;
    tree->now = node;
    if (RARE(now - tree->told > trace_now.flush_ticks))
        trace_tree_flush(thread);
}

void trace_tree_leave(struct trace_thread *thread, struct trace_entry *entry)
{
    struct trace_tree *tree = thread->tree;
    if (tree == NULL || entry->node == NULL)
        return;
    spend(tree, trace_time());
    tree->now = entry->node;
}
