/* SPDX-License-Identifier: MIT */
/* Paths are taken apart from the leaf outwards and put together again. Thread-safety: none. */
#include "sample_path.h"

enum { NODES_MAX = 256 };

/* Ranges of a path, innermost first. */
struct nodes {
    struct range_path items[NODES_MAX];
    uint32_t count;
};

static void take_apart(const struct stacks *stacks, uint32_t path, struct nodes *nodes)
{
    nodes->count = 0;
    for (uint32_t at = path; at != 0 && nodes->count < NODES_MAX;
         at = nodes->items[nodes->count++].parent)
        nodes->items[nodes->count] = *stacks_get_path(stacks, at);
}

static int64_t put_together(struct stacks *stacks, uint32_t outer, struct nodes *nodes)
{
    int64_t path = outer;
    while (nodes->count > 0 && path >= 0) {
        nodes->items[--nodes->count].parent = (uint32_t)path;
        path = stacks_path_add(stacks, &nodes->items[nodes->count]);
    }
    return path;
}

bool sample_path_is_inherited(const struct stacks *stacks, uint32_t path)
{
    return stacks_get_path(stacks, path)->kind == RANGE_PATH_INHERITED;
}

/* What a process inherited is around all of its own: it goes if there are any. */
static void drop_inherited(struct nodes *nodes)
{
    while (nodes->count > 0 && nodes->items[0].kind != RANGE_PATH_INHERITED &&
           nodes->items[nodes->count - 1].kind == RANGE_PATH_INHERITED)
        nodes->count--;
}

int64_t sample_path_agreed(struct stacks *stacks, uint32_t read, uint32_t told)
{
    struct nodes nodes;
    take_apart(stacks, read, &nodes);
    drop_inherited(&nodes);
    if (told != 0 && nodes.count > 0 && nodes.items[0].kind == RANGE_PATH_INHERITED)
        return told;
    for (uint32_t i = 0; i < nodes.count && told != 0; i++) {
        if (nodes.items[i].kind != RANGE_PATH_THREAD)
            continue;
        nodes.items[i] = *stacks_get_path(stacks, told);
        told = nodes.items[i].parent;
    }
    return put_together(stacks, told, &nodes);
}

/* Whether all ranges of `told` are among those of the thread, in this order. */
static bool is_among(const struct stacks *stacks, const struct nodes *nodes, uint32_t told,
                     bool cut)
{
    for (uint32_t i = 0; i < nodes->count && told != 0; i++) {
        const struct range_path *own = stacks_get_path(stacks, told);
        if (nodes->items[i].kind == RANGE_PATH_THREAD && nodes->items[i].name == own->name)
            told = own->parent;
    }
    return told == 0 || cut;
}

int64_t sample_path_unsure(struct stacks *stacks, uint32_t read, uint32_t told, bool cut)
{
    struct nodes nodes;
    take_apart(stacks, read, &nodes);
    drop_inherited(&nodes);
    while (!is_among(stacks, &nodes, told, cut))
        told = stacks_get_path(stacks, told)->parent;
    for (uint32_t i = 0; i < nodes.count; i++) {
        struct range_path *node = &nodes.items[i];
        const struct range_path own = *stacks_get_path(stacks, told);
        if (node->kind != RANGE_PATH_THREAD)
            continue;
        bool same = told != 0 && node->name == own.name;
        if (same)
            *node = own;
        else
            node->kind = RANGE_PATH_UNRECORDED;
        told = same ? own.parent : told;
    }
    return put_together(stacks, told, &nodes);
}

int64_t sample_path_inherited(struct stacks *stacks, uint32_t path)
{
    struct nodes nodes;
    take_apart(stacks, path, &nodes);
    for (uint32_t i = 0; i < nodes.count; i++)
        nodes.items[i].kind = RANGE_PATH_INHERITED;
    return put_together(stacks, 0, &nodes);
}

bool sample_path_same_names(const struct stacks *stacks, uint32_t a, uint32_t b)
{
    while (a != 0 && b != 0) {
        const struct range_path *left = stacks_get_path(stacks, a);
        const struct range_path *right = stacks_get_path(stacks, b);
        if (left->name != right->name)
            return false;
        a = left->parent;
        b = right->parent;
    }
    return a == b;
}
