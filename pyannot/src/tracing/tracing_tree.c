/* SPDX-License-Identifier: MIT */
/* Counts calls in a tree of calling contexts for each thread.
 *
 * A node is a function with its caller, the caller of that, and so on. Its counts are in shared
 * memory (annot_sum): they need no events, and survive when the process is killed. Nodes of all
 * threads are at most NODES_MAX; that many fit in the half of the pool that is for sums. A call
 * without room for a node counts for its function alone, as if it had no caller: some nodes are
 * reserved for that.
 *
 * Threads: each its own tree. */
#include "tracing_tree.h"
#include "tracing.h"
#include "tracing_thread.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = 200000, /* of the process: 40 bytes, 8 to 16 of a table, and 32 of a block */
    KEPT_BACK = NODES_MAX / 8,
    PART_NODES = 256,
    DEPTH_MAX = 2000, /* below the limit of the collector */
    FIRST_SLOTS = 256,
};

struct trace_node {
    struct trace_node *parent;
    struct trace_node *latest; /* the callee called last */
    struct annot_sum *sum;
    annot_name name;
    uint32_t depth;
    annot_name range; /* the innermost one on its path; 0: no range */
};

struct part {
    struct part *next;
    uint32_t count;
    struct trace_node nodes[PART_NODES];
};

struct trace_tree {
    struct trace_node root;   /* the thread itself */
    struct annot_sum nowhere; /* its sum: time outside of calls */
    struct trace_node *now;
    struct trace_node *other;
    struct part *parts;
    struct trace_node **slots; /* by parent and name */
    uint32_t slot_count, node_count;
    bool is_full, is_crowded; /* there is no room for a function, for a path */
    uint64_t since;           /* start of the time that is not counted yet */
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

/* At most three of four slots are in use. */
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

/* `kept`: nodes reserved for others. */
static bool take_share(uint32_t kept)
{
    uint32_t left = __atomic_load_n(&nodes_left, __ATOMIC_RELAXED);
    while (left > kept)
        /* Partner: itself. */
        if (__atomic_compare_exchange_n(&nodes_left, &left, left - 1, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

static struct part *part_with_room(struct trace_tree *tree)
{
    struct part *part = tree->parts;
    if (part != NULL && part->count < PART_NODES)
        return part;
    part = malloc(sizeof(*part));
    if (part == NULL)
        return NULL;
    part->count = 0;
    part->next = tree->parts;
    return tree->parts = part;
}

/* Writes a note once a process, as readers cannot see this. */
static void emit_crowded(void)
{
    static bool is_reported;
    if (trace_first(&is_reported))
        annot_process_note(
            "calls of Python: there was no room for all call paths; further ones count "
            "for their function alone, and are missing in the total time of callers");
}

static struct trace_node *add(struct trace_thread *thread, struct trace_node *parent,
                              annot_name name)
{
    struct trace_tree *tree = thread->tree;
    bool *full = parent == &tree->root ? &tree->is_full : &tree->is_crowded;
    if (parent->depth >= DEPTH_MAX || *full)
        return NULL;
    const struct annot_place at = {.caller = parent == &tree->root ? NULL : parent->sum,
                                   .code = name};
    struct part *part = grow(tree) ? part_with_room(tree) : NULL;
    bool has_room = part != NULL && take_share(parent == &tree->root ? 0 : KEPT_BACK);
    struct annot_sum *sum = has_room ? annot_sums_add(&thread->sums, ANNOT_SUM_CALLS, &at) : NULL;
    if (sum == NULL) {
        *full = true;
        emit_crowded();
        return NULL;
    }
    struct trace_node *node = &part->nodes[part->count++];
    *node = (struct trace_node){.parent = parent,
                                .sum = sum,
                                .name = name,
                                .depth = parent->depth + 1,
                                .range = parent->range};
    tree->node_count++;
    place(tree, node);
    return node;
}

static __attribute__((noinline)) struct trace_node *find(struct trace_thread *thread,
                                                         struct trace_node *parent, annot_name name)
{
    const struct trace_tree *tree = thread->tree;
    if (tree->slot_count > 0) {
        uint32_t slot = slot_of(tree, parent, name);
        for (; tree->slots[slot] != NULL; slot = (slot + 1) & (tree->slot_count - 1)) {
            struct trace_node *node = tree->slots[slot];
            if (node->parent == parent && node->name == name)
                return parent->latest = node;
        }
    }
    struct trace_node *made = add(thread, parent, name);
    if (made != NULL)
        parent->latest = made;
    return made;
}

/* Returns the node of a function alone, if its path found no room. */
static __attribute__((noinline)) struct trace_node *
find_alone(struct trace_thread *thread, struct trace_node *caller, annot_name name)
{
    struct trace_tree *tree = thread->tree;
    struct trace_node *node = caller == &tree->root ? NULL : find(thread, &tree->root, name);
    if (node != NULL)
        return node;
    return tree->other ? tree->other : caller;
}

static struct trace_tree *make_tree(struct trace_thread *thread)
{
    struct trace_tree *tree = thread->sums.segment ? calloc(1, sizeof(*tree)) : NULL;
    if (tree == NULL)
        return NULL;
    tree->now = &tree->root;
    tree->root.sum = &tree->nowhere;
    tree->since = trace_time();
    thread->tree = tree;
    tree->other = add(thread, &tree->root, annot_code_name("(other)", "", 0, ANNOT_CODE_C));
    return tree;
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* Concurrent readers count the time since `since` too. */
static inline void turn_to(struct trace_tree *tree, struct trace_node *node, uint64_t now)
{
    struct annot_sum *sum = tree->now->sum;
    sum->since = 0;
    sum->ticks += now - tree->since;
    node->sum->since = now;
    tree->now = node;
    tree->since = now;
}

void trace_tree_pause(struct trace_thread *thread)
{
    if (thread->tree != NULL)
        turn_to(thread->tree, &thread->tree->root, trace_time());
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
    entry->node = caller;
    if (RARE(name == 0))
        return;
    if (node == NULL || node->name != name)
        node = find(thread, caller, name);
    if (RARE(node == NULL))
        node = find_alone(thread, caller, name);
    node->sum->count += !continues;
    turn_to(tree, node, now);
}

/* `range`: see trace_range_now(). If it is not the innermost on the path yet, it becomes a node
 * between caller and call. The call returns to its caller, not to that node. */
void trace_tree_enter_in(struct trace_thread *thread, struct trace_entry *entry, annot_name name,
                         annot_name range)
{
    struct trace_tree *tree = thread->tree ? thread->tree : make_tree(thread);
    struct trace_node *place = NULL;
    if (tree != NULL && range != 0 && range != tree->now->range)
        place = find(thread, tree->now, range);
    if (place == NULL) {
        trace_tree_enter(thread, entry, name, false);
        return;
    }
    struct trace_node *caller = tree->now;
    place->range = range;
    turn_to(tree, place, trace_time());
    trace_tree_enter(thread, entry, name, false);
    entry->node = caller;
}

void trace_tree_leave(struct trace_thread *thread, struct trace_entry *entry)
{
    struct trace_tree *tree = thread->tree;
    if (tree != NULL && entry->node != NULL)
        turn_to(tree, entry->node, trace_time());
}
