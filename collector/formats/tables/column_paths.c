/* SPDX-License-Identifier: MIT */
/* See columns.h. */
#include "columns.h"
#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

int column_paths_init(struct column_paths *paths, const struct trace *trace)
{
    paths->slot_count = FIRST_SLOTS;
    paths->slots = calloc(paths->slot_count, sizeof(*paths->slots));
    if (rows_paths_init(&paths->spelled, trace) != 0 || !paths->slots)
        return -ENOMEM;
    return vec_push(&paths->nodes, (struct path_node){0});
}

void column_paths_fini(struct column_paths *paths)
{
    vec_free(&paths->nodes);
    vec_free(&paths->words);
    vec_free(&paths->way);
    free(paths->slots);
    rows_paths_fini(&paths->spelled);
}

void column_paths_forget(struct column_paths *paths)
{
    memset(paths->slots, 0, paths->slot_count * sizeof(*paths->slots));
    paths->nodes.count = 1;
    paths->words.count = paths->word_bytes = paths->all_bytes = 0;
    rows_paths_cut(&paths->spelled, 0);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The slot of a node, or the free one where it belongs. */
static uint32_t *probe(const struct column_paths *paths, const struct path_node *node)
{
    uint64_t what = (uint64_t)node->parent << 32 | node->name;
    size_t mask = paths->slot_count - 1;
    for (size_t at = hash_u64(what + hash_u64(node->scope)) & mask;; at = (at + 1) & mask) {
        uint32_t *slot = &paths->slots[at];
        const struct path_node *there = &paths->nodes.items[*slot];
        if (*slot == 0 || (there->parent == node->parent && there->name == node->name &&
                           there->scope == node->scope))
            return slot;
    }
}

static int grow(struct column_paths *paths)
{
    size_t count = paths->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(paths->slots);
    paths->slots = slots;
    paths->slot_count = count;
    for (uint32_t i = 1; i < paths->nodes.count; i++)
        *probe(paths, &paths->nodes.items[i]) = i;
    return 0;
}

static int find_node(struct column_paths *paths, uint32_t parent, struct rows_link *link)
{
    const struct path_node node = {parent, link->name, link->scope,
                                   paths->nodes.items[parent].depth + 1, 0};
    uint32_t *slot = probe(paths, &node);
    link->number = *slot;
    if (*slot)
        return 0;
    *slot = link->number = (uint32_t)paths->nodes.count;
    if (paths->nodes.count > INT32_MAX || vec_push(&paths->nodes, node) != 0)
        return -ENOMEM;
    return paths->nodes.count * 2 > paths->slot_count ? grow(paths) : 0;
}

int column_paths_take(struct column_paths *paths, struct rows_paths *path, uint32_t *ret_word)
{
    struct rows_link *links = path->links.items;
    size_t depth = path->links.count, known = depth, length;
    while (known > 0 && links[known - 1].number == 0)
        known--;
    for (size_t i = known; i < depth; i++)
        if (find_node(paths, i ? links[i - 1].number : 0, &links[i]) != 0)
            return -ENOMEM;
    struct path_node *node = &paths->nodes.items[links[depth - 1].number];
    rows_paths_text(path, &length);
    paths->all_bytes += length;
    if (!node->word) {
        const struct path_word word = {links[depth - 1].number, length};
        if (vec_push(&paths->words, word) != 0)
            return -ENOMEM;
        paths->word_bytes += length;
        node->word = (uint32_t)paths->words.count;
    }
    *ret_word = node->word - 1;
    return 0;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Is the node a part of the path that was spelled last? */
static bool is_there(const struct column_paths *paths, uint32_t node)
{
    const struct rows_paths *spelled = &paths->spelled;
    uint32_t depth = paths->nodes.items[node].depth;
    return node == 0 ||
           (depth <= spelled->links.count && spelled->links.items[depth - 1].number == node);
}

int column_paths_spell(struct column_paths *paths, uint32_t word, size_t *ret_same)
{
    struct rows_paths *spelled = &paths->spelled;
    uint32_t node = paths->words.items[word].node;
    paths->way.count = 0;
    for (; !is_there(paths, node); node = paths->nodes.items[node].parent)
        if (vec_push(&paths->way, node) != 0)
            return -ENOMEM;
    rows_paths_cut(spelled, paths->nodes.items[node].depth);
    rows_paths_text(spelled, ret_same);
    while (paths->way.count > 0) {
        const uint32_t below = paths->way.items[--paths->way.count];
        const struct path_node *next = &paths->nodes.items[below];
        if (rows_paths_add(spelled, next->name, next->scope) != 0)
            return -ENOMEM;
        spelled->links.items[spelled->links.count - 1].number = below;
    }
    return 0;
}
