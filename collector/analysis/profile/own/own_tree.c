/* SPDX-License-Identifier: MIT */
/* Makes the tree of own functions from times of stacks. See own_tree.h. */
#include "own_tree.h"

#include "call_label.h"
#include "hash_map.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>

/* The root is not a row. Its time, if the node limit is reached, goes to a child of it. */
enum { ROOT = 0, ROOT_REST = 1 };

/* Limit of the search for the same function in the nodes above, which folds recursion. */
enum { FOLD_MAX = 256 };

/* Keys of children: the node, the label, and the purpose or reason of nodes without a label. */
enum { KEY_LABEL_SHIFT = 8, KEY_PARENT_SHIFT = 40, KEY_PURPOSE = 1, KEY_REASON = 128 };

/* The tree position of a stack. */
struct place {
    uint32_t own;    /* node of the innermost own function; 0: outside of any */
    uint32_t node;   /* `own`, or the library function that it called */
    uint8_t purpose; /* of the calls since, as in own_time.h */
    bool is_inside;  /* inside of a library function that has a node */
    bool in_python;
};

struct own_tree {
    const struct own_time *own;
    const struct trace *trace;
    const struct stacks *stacks;
    bool by_wall;
    VEC(struct own_node) nodes; /* 0: the root, for time outside of any function */
    struct map64 child_by_key;
    struct place *places; /* by stack */
    uint32_t place_count; /* already located */
    VEC(struct own_node) rows;
};

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Returns the node, or its parent if the limit is reached. 0: out of memory. */
static uint32_t child_of(struct own_tree *tree, uint32_t parent, struct own_node node)
{
    unsigned tag =
        node.reason != OWN_NODE_RUNS ? KEY_REASON + node.reason : KEY_PURPOSE + node.purpose;
    uint64_t key = (uint64_t)parent << KEY_PARENT_SHIFT | (uint64_t)node.label << KEY_LABEL_SHIFT |
                   (uint64_t)tag;
    const uint64_t *found = map64_find(&tree->child_by_key, key);
    if (found)
        return (uint32_t)*found;
    if (tree->nodes.count >= OWN_TREE_NODES)
        return parent == ROOT ? ROOT_REST : parent;
    node.parent = parent;
    node.depth = tree->nodes.items[parent].depth + 1;
    if (vec_push(&tree->nodes, node) != 0 ||
        map64_put(&tree->child_by_key, key, tree->nodes.count - 1) != 0)
        return 0;
    return (uint32_t)tree->nodes.count - 1;
}

static uint32_t function_below(struct own_tree *tree, uint32_t parent, uint32_t label)
{
    return child_of(tree, parent, (struct own_node){.label = label, .reason = OWN_NODE_RUNS});
}

/* Returns the node of an own function: an existing one above, in case of recursion. */
static uint32_t own_below(struct own_tree *tree, uint32_t parent, uint32_t label)
{
    uint32_t at = parent;
    for (unsigned i = 0; at != 0 && i < FOLD_MAX; i++, at = tree->nodes.items[at].parent)
        if (tree->nodes.items[at].label == label)
            return at;
    return function_below(tree, parent, label);
}

/* ---- Positions of stacks --------------------------------------------------------------------- */

/* True if a library function gets a node: the first one called by own code, unless it has a
 * purpose; natively only in extension modules of Python packages, not in the C library below. */
static bool is_entry(const struct own_tree *tree, const struct place *place,
                     const struct frame *frame)
{
    uint8_t owner = own_time_label(tree->own, frame->label)->owner;
    if (place->is_inside || place->purpose != PURPOSE_NONE || owner == CODE_ANNOT)
        return false;
    if (frame->kind == FRAME_PYTHON || frame->kind == FRAME_COLLECTOR)
        return true;
    return place->own != 0 && place->in_python && code_is_extension(tree->trace, frame->label);
}

/* Updates the purpose at a frame; start-up only counts until the main module begins. */
static void add_purpose(struct place *place, const struct own_label *label, bool starts)
{
    if (!starts && place->purpose == PURPOSE_START_UP)
        place->purpose = PURPOSE_NONE;
    if (label->purpose == PURPOSE_START_UP && !starts)
        return;
    if (label->purpose >= PURPOSE_IMPORT || label->purpose > place->purpose)
        place->purpose = label->purpose;
}

/* Moves the place one frame inwards; `starts`: the frame is start-up. 0 or -ENOMEM. */
static int step(struct own_tree *tree, struct place *place, const struct frame *frame, bool starts)
{
    const struct own_label *label = own_time_label(tree->own, frame->label);
    uint32_t node = 0;
    if (frame->kind == FRAME_PYTHON && !place->in_python) {
        place->in_python = true;
        if (tree->nodes.items[place->own].label == 0)
            *place = (struct place){.in_python = true};
    }
    if (label->bootstrap) {
        *place = (struct place){.purpose = label->purpose, .in_python = place->in_python};
        return 0;
    }
    if (own_time_is_own(tree->own, frame, place->in_python)) {
        node = own_below(tree, place->own, frame->label);
        *place = (struct place){.own = node, .node = node, .in_python = place->in_python};
        return node ? 0 : -ENOMEM;
    }
    add_purpose(place, label, starts);
    if (!is_entry(tree, place, frame))
        return 0;
    node = function_below(tree, place->node, frame->label);
    place->node = node;
    place->is_inside = true;
    return node ? 0 : -ENOMEM;
}

/* A caller's stack has a smaller number, so its place is known. */
static int find_places(struct own_tree *tree)
{
    const bool *starts = own_time_starts(tree->own);
    uint32_t count = stacks_stack_count(tree->stacks);
    tree->places = calloc((size_t)count + 1, sizeof(*tree->places));
    int error = tree->places ? 0 : -ENOMEM;
    for (uint32_t i = 1; i < count && !error; i++) {
        const struct stack *stack = stacks_get_stack(tree->stacks, i);
        tree->places[i] = tree->places[stack->parent];
        error =
            step(tree, &tree->places[i], stacks_get_frame(tree->stacks, stack->frame), starts[i]);
    }
    return error;
}

/* ---- Times ----------------------------------------------------------------------------------- */

static void add_times(struct own_times *sum, const struct own_times *times)
{
    sum->cpu_ns += times->cpu_ns;
    sum->runnable_ns += times->runnable_ns;
    sum->blocked_ns += times->blocked_ns;
    sum->sample_count += times->sample_count;
}

static int take_times(void *context, const struct own_moment *moment, const struct own_times *times)
{
    struct own_tree *tree = context;
    const struct place *place = &tree->places[moment->stack];
    uint32_t node = place->node;
    if (place->purpose != PURPOSE_NONE || node == 0)
        node = child_of(tree, node,
                        (struct own_node){.purpose = place->purpose, .reason = OWN_NODE_RUNS});
    uint32_t wait = node;
    if (node != 0 && moment->reason < WAIT_REASON_COUNT && times->blocked_ns > 0)
        wait = child_of(tree, node, (struct own_node){.reason = (uint8_t)moment->reason});
    if (node == 0 || wait == 0)
        return -ENOMEM;
    struct own_times self = *times, waits = {.blocked_ns = times->blocked_ns};
    self.blocked_ns = 0;
    add_times(&tree->nodes.items[node].self, &self);
    add_times(&tree->nodes.items[wait].self, &waits);
    return 0;
}

static void sum_up(struct own_tree *tree)
{
    struct own_node *nodes = tree->nodes.items;
    for (size_t i = tree->nodes.count; i-- > 0;) {
        add_times(&nodes[i].total, &nodes[i].self);
        if (i > 0)
            add_times(&nodes[nodes[i].parent].total, &nodes[i].total);
    }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static uint64_t value_of(const struct own_tree *tree, const struct own_times *times)
{
    return times->cpu_ns + (tree->by_wall ? times->runnable_ns + times->blocked_ns : 0);
}

static uint64_t any_of(const struct own_times *times)
{
    return times->cpu_ns + times->runnable_ns + times->blocked_ns;
}

/* Groups siblings, the smallest first. */
static int by_parent(const void *left, const void *right, void *context)
{
    const struct own_tree *tree = context;
    const struct own_node *a = &tree->nodes.items[*(const uint32_t *)left];
    const struct own_node *b = &tree->nodes.items[*(const uint32_t *)right];
    uint64_t a_ns = value_of(tree, &a->total), b_ns = value_of(tree, &b->total);
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a_ns != b_ns)
        return a_ns < b_ns ? -1 : 1;
    int order = call_compare_labels(tree->trace, a->label, b->label);
    if (order)
        return -order;
    return ((int)b->purpose << 8 | b->reason) - ((int)a->purpose << 8 | a->reason);
}

/* The children of a node are a run of `order`. */
struct children {
    uint32_t first, count;
};

static int push_children(const struct own_tree *tree, const uint32_t *order,
                         const struct children *children, uint32_t **stack, size_t *depth)
{
    for (uint32_t i = 0; i < children->count; i++)
        if (any_of(&tree->nodes.items[order[children->first + i]].total) > 0)
            (*stack)[(*depth)++] = order[children->first + i];
    return 0;
}

/* Makes rows of the nodes, each before its children. */
static int walk(struct own_tree *tree, const uint32_t *order, const struct children *children,
                uint32_t *stack)
{
    size_t depth = 0;
    uint32_t *row_of = calloc(tree->nodes.count, sizeof(*row_of));
    int error = row_of ? push_children(tree, order, &children[0], &stack, &depth) : -ENOMEM;
    while (depth > 0 && !error) {
        uint32_t at = stack[--depth];
        struct own_node node = tree->nodes.items[at];
        row_of[at] = (uint32_t)tree->rows.count;
        node.parent = node.parent ? row_of[node.parent] : row_of[at];
        node.depth--;
        error = vec_push(&tree->rows, node);
        if (!error)
            error = push_children(tree, order, &children[at], &stack, &depth);
    }
    free(row_of);
    return error;
}

static int make_rows(struct own_tree *tree)
{
    size_t count = tree->nodes.count;
    uint32_t *order = calloc(count, sizeof(*order)), *stack = calloc(count, sizeof(*stack));
    struct children *children = calloc(count, sizeof(*children));
    int error = order && stack && children ? 0 : -ENOMEM;
    for (uint32_t i = 1; i < count && !error; i++)
        order[i - 1] = i;
    if (!error && count > 2)
        qsort_r(order, count - 1, sizeof(*order), by_parent, tree);
    for (uint32_t i = 0; i + 1 < count && !error; i++) {
        struct children *of = &children[tree->nodes.items[order[i]].parent];
        of->first = of->count ? of->first : i;
        of->count++;
    }
    if (!error)
        error = walk(tree, order, children, stack);
    free(order);
    free(stack);
    free(children);
    return error;
}

/* ---- The whole ------------------------------------------------------------------------------- */

struct own_tree *own_tree_create(const struct own_time *own, bool by_wall)
{
    struct own_tree *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return NULL;
    tree->own = own;
    tree->trace = own_time_trace(own);
    tree->stacks = trace_stacks_get(tree->trace);
    tree->by_wall = by_wall;
    int error = vec_push(&tree->nodes, ((struct own_node){.reason = OWN_NODE_RUNS}));
    if (!error && child_of(tree, ROOT, (struct own_node){.reason = OWN_NODE_RUNS}) != ROOT_REST)
        error = -ENOMEM;
    if (!error)
        error = find_places(tree);
    if (!error)
        error = own_time_each(own, take_times, tree);
    if (!error) {
        sum_up(tree);
        error = make_rows(tree);
    }
    if (!error)
        return tree;
    own_tree_destroy(tree);
    return NULL;
}

void own_tree_destroy(struct own_tree *tree)
{
    if (!tree)
        return;
    vec_free(&tree->nodes);
    vec_free(&tree->rows);
    map64_free(&tree->child_by_key);
    free(tree->places);
    free(tree);
}

uint32_t own_tree_rows(const struct own_tree *tree, const struct own_node **ret_rows)
{
    *ret_rows = tree->rows.items;
    return (uint32_t)tree->rows.count;
}
