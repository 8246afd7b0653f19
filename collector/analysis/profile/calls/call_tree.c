/* SPDX-License-Identifier: MIT */
/* The tree of call_tree.h: a map of (parent, item) finds children, and a map of (group, stack) the
 * node of a known stack, so that most samples cost one look-up. */
#include "call_tree.h"

#include "call_label.h"
#include "hash_map.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = 1000000,
    DEPTH_MAX = 2048, /* limit of frames; of longer stacks the root's end is dropped */
    RANGES_MAX = 256,
};

struct call_tree {
    const struct trace *trace;
    struct call_tree_options options;
    VEC(struct call_item) items;
    VEC(uint32_t) next_items;  /* of item: the next of the same kind and id + 1 */
    struct map64 items_by_key; /* item + 1, the first of a chain */
    VEC(struct call_node) nodes;
    struct map64 nodes_by_key;
    struct map64 nodes_by_stack;
    uint64_t cut_count;
    struct chosen_frames frames, wait_frames; /* of CPU time; of waits */
    uint64_t colour_ns[COLOUR_COUNT + 1];
};

struct call_tree *call_tree_create(const struct trace *trace,
                                   const struct call_tree_options *options)
{
    struct call_tree *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return NULL;
    tree->trace = trace;
    tree->options = *options;
    if (!tree->options.node_limit)
        tree->options.node_limit = NODES_MAX;
    const struct call_item all = {.kind = CALL_ALL};
    const struct call_node root = {0};
    enum frame_choice waits = options->frames == FRAMES_OWNERS ? FRAMES_CALLERS : options->frames;
    if (chosen_frames_init(&tree->frames, trace, options->frames) ||
        chosen_frames_init(&tree->wait_frames, trace, waits) || vec_push(&tree->items, all) ||
        vec_push(&tree->next_items, 0) || vec_push(&tree->nodes, root)) {
        call_tree_destroy(tree);
        return NULL;
    }
    return tree;
}

void call_tree_destroy(struct call_tree *tree)
{
    if (!tree)
        return;
    chosen_frames_fini(&tree->frames);
    chosen_frames_fini(&tree->wait_frames);
    vec_free(&tree->items);
    vec_free(&tree->next_items);
    vec_free(&tree->nodes);
    map64_free(&tree->items_by_key);
    map64_free(&tree->nodes_by_key);
    map64_free(&tree->nodes_by_stack);
    free(tree);
}

uint64_t call_sample_weight_ns(const struct sample_sets *sets, const struct sample *sample)
{
    if (sample_role(sets, sample) != SAMPLE_ROLE_OFF_CPU)
        return sample_cpu_ns(sets, sample);
    struct off_share share = sample_off_share(sets, sample);
    return share.blocked_ns + share.runnable_ns;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static int64_t append_item(struct call_tree *tree, struct call_item item, uint64_t key,
                           uint32_t next)
{
    int64_t index = (int64_t)tree->items.count;
    if (vec_push(&tree->items, item) || vec_push(&tree->next_items, next) ||
        map64_put(&tree->items_by_key, key, (uint64_t)index + 1))
        return -ENOMEM;
    return index;
}

/* Ranges of one name may have several domains. */
static int64_t plain_item(struct call_tree *tree, struct call_item wanted)
{
    uint64_t key = (uint64_t)wanted.kind << 32 | wanted.id;
    const uint64_t *found = map64_find(&tree->items_by_key, key);
    uint32_t first = found ? (uint32_t)*found : 0;
    for (uint32_t at = first; at; at = tree->next_items.items[at - 1]) {
        const struct call_item *item = &tree->items.items[at - 1];
        if (item->kind == wanted.kind && item->id == wanted.id && item->domain == wanted.domain &&
            item->line == wanted.line)
            return at - 1;
    }
    return append_item(tree, wanted, key, first);
}

static int64_t function_item(struct call_tree *tree, uint32_t frame)
{
    const struct frame *at = stacks_get_frame(trace_stacks_get(tree->trace), frame);
    int32_t line = tree->options.lines ? at->line : 0;
    return plain_item(tree, (struct call_item){CALL_FUNCTION, at->label, 0, line});
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Returns the child of a node; -ENOSPC: limit reached. */
static int64_t child_of(struct call_tree *tree, uint32_t parent, int64_t item)
{
    if (item < 0)
        return item;
    uint64_t key = (uint64_t)parent << 32 | (uint64_t)(item + 1);
    const uint64_t *found = map64_find(&tree->nodes_by_key, key);
    if (found)
        return (int64_t)*found;
    bool last_resort = tree->items.items[item].kind == CALL_NO_ROOM;
    if (tree->nodes.count >= tree->options.node_limit && !last_resort)
        return -ENOSPC;
    const struct call_node node = {.item = (uint32_t)item, .parent = parent};
    uint64_t index = tree->nodes.count;
    if (vec_push(&tree->nodes, node) || map64_put(&tree->nodes_by_key, key, index))
        return -ENOMEM;
    return (int64_t)index;
}

static int64_t plain_child(struct call_tree *tree, uint32_t parent, enum call_kind kind,
                           uint32_t id)
{
    return child_of(tree, parent, plain_item(tree, (struct call_item){kind, id, 0, 0}));
}

static int64_t range_node(struct call_tree *tree, int64_t node, uint32_t path)
{
    const struct stacks *stacks = trace_stacks_get(tree->trace);
    uint32_t paths[RANGES_MAX];
    uint32_t count = stacks_paths(stacks, path, paths, RANGES_MAX);
    if (count == 0)
        return plain_child(tree, (uint32_t)node, CALL_NO_RANGE, 0);
    if (stacks_get_path(stacks, path)->kind == RANGE_PATH_INHERITED)
        node = plain_child(tree, (uint32_t)node, CALL_INHERITED, 0);
    for (uint32_t i = 0; i < count && node >= 0; i++) {
        const struct range_path *range = stacks_get_path(stacks, paths[i]);
        const struct call_item item = {.kind = CALL_RANGE,
                                       .id = range->name,
                                       .domain = trace_scope_domain(tree->trace, range->scope)};
        node = child_of(tree, (uint32_t)node, plain_item(tree, item));
    }
    return node;
}

static int64_t group_node(struct call_tree *tree, const struct sample *sample)
{
    const struct trace_thread *thread = trace_thread_get(tree->trace, sample->thread);
    int64_t node = 0;
    if (tree->options.groups & CALL_BY_PROCESS)
        node = plain_child(tree, 0, CALL_PROCESS, thread ? thread->process : UINT32_MAX);
    if (node >= 0 && tree->options.groups & CALL_BY_THREAD)
        node = plain_child(tree, (uint32_t)node, CALL_THREAD, sample->thread);
    if (node >= 0 && tree->options.groups & CALL_BY_RANGE)
        node = range_node(tree, node, sample->path);
    return node;
}

static bool is_wait(const struct call_tree *tree, const struct sample *sample)
{
    return sample_role(trace_sets_get(tree->trace), sample) == SAMPLE_ROLE_OFF_CPU;
}

/* Walks down the stack from `node`; at the node limit, returns the last node and sets *ret_cut. */
static int64_t walk_stack(struct call_tree *tree, uint32_t node, const struct sample *sample,
                          bool *ret_cut)
{
    bool waits = is_wait(tree, sample);
    uint32_t frames[DEPTH_MAX];
    uint32_t count = chosen_frames_get(waits ? &tree->wait_frames : &tree->frames, sample->stack,
                                       frames, DEPTH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        int64_t child = child_of(tree, node, function_item(tree, frames[i]));
        if (child == -ENOSPC) {
            *ret_cut = true;
            break;
        }
        if (child < 0)
            return child;
        node = (uint32_t)child;
    }
    return node;
}

static int64_t stack_node(struct call_tree *tree, uint32_t group, const struct sample *sample,
                          bool *ret_cut)
{
    uint32_t stack = sample->stack;
    uint64_t key = (2 * ((uint64_t)group + 1) + is_wait(tree, sample)) << 32 | stack;
    const uint64_t *found = map64_find(&tree->nodes_by_stack, key);
    if (found)
        return (int64_t)*found;
    if (!stack) {
        int64_t none = plain_child(tree, group, CALL_NO_STACK, 0);
        *ret_cut = none == -ENOSPC;
        return none == -ENOSPC ? (int64_t)group : none;
    }
    int64_t node = walk_stack(tree, group, sample, ret_cut);
    bool memorable = node >= 0 && !*ret_cut && tree->nodes_by_stack.count < NODES_MAX;
    if (memorable && map64_put(&tree->nodes_by_stack, key, (uint64_t)node))
        return -ENOMEM;
    return node;
}

static int add_leaf(struct call_tree *tree, uint32_t node, struct call_item item, uint64_t time_ns,
                    bool counts)
{
    int64_t leaf = plain_child(tree, node, (enum call_kind)item.kind, item.id);
    if (leaf < 0 && leaf != -ENOSPC)
        return (int)leaf;
    bool cut = leaf < 0;
    tree->cut_count += cut;
    tree->nodes.items[cut ? node : leaf].self_ns += time_ns;
    tree->nodes.items[cut ? node : leaf].count += counts;
    return 0;
}

static uint64_t weight_of(const struct call_tree *tree, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(tree->trace);
    return tree->options.weight.set ? sample_weight_of(tree->options.weight, sets, sample)
                                    : call_sample_weight_ns(sets, sample);
}

/* Returns both parts of a stretch, or only the one chosen as the weight. */
static struct off_share share_of(const struct call_tree *tree, const struct sample *sample)
{
    struct sample_weight weight = tree->options.weight;
    if (!weight.set)
        return sample_off_share(trace_sets_get(tree->trace), sample);
    uint64_t part_ns = weight_of(tree, sample);
    bool runnable = sample_weight_type(tree->trace, weight) == VALUE_TYPE_RUNNABLE;
    return (struct off_share){.runnable_ns = runnable ? part_ns : 0,
                              .blocked_ns = runnable ? 0 : part_ns};
}

/* Adds the wait itself, then the time until the thread got a CPU; a preempted thread has only the
 * latter. */
static int add_wait(struct call_tree *tree, uint32_t node, const struct sample *sample)
{
    struct off_share share = share_of(tree, sample);
    const struct call_item reason = {CALL_REASON, sample->reason, 0, 0},
                           runnable = {.kind = CALL_RUNNABLE};
    bool waited = share.blocked_ns > 0;
    int error = waited ? add_leaf(tree, node, reason, share.blocked_ns, true) : 0;
    if (!error && share.runnable_ns > 0)
        error = add_leaf(tree, node, runnable, share.runnable_ns, !waited);
    return error;
}

static unsigned colour_of(struct call_tree *tree, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(tree->trace);
    uint32_t frame =
        stack < stacks_stack_count(stacks) ? stacks_get_stack(stacks, stack)->frame : 0;
    return stack && frame ? chosen_frames_colour(&tree->frames, frame) : COLOUR_COUNT;
}

/* Returns 1, or the number of calls that the sample stands for. */
static uint64_t count_of(const struct call_tree *tree, const struct sample *sample)
{
    const struct sample_set *set = sample_set_get(trace_sets_get(tree->trace), sample->set);
    int index = tree->options.weight.set ? sample_set_index(set, VALUE_TYPE_CALLS) : -1;
    return index >= 0 && index < sample->value_count
               ? (uint64_t)sample->values[index]
               : sample_weight_count(tree->options.weight, sample);
}

int call_tree_add(struct call_tree *tree, const struct sample *sample)
{
    bool cut = false;
    int64_t node = group_node(tree, sample);
    if (node >= 0)
        node = stack_node(tree, (uint32_t)node, sample, &cut);
    if (node == -ENOSPC || (cut && node == 0)) {
        cut = true;
        node = plain_child(tree, 0, CALL_NO_ROOM, 0);
    }
    if (node < 0)
        return (int)node;
    tree->cut_count += cut;
    if (!cut && is_wait(tree, sample))
        return add_wait(tree, (uint32_t)node, sample);
    uint64_t weight = weight_of(tree, sample);
    tree->nodes.items[node].self_ns += weight;
    tree->nodes.items[node].count += count_of(tree, sample);
    if (!is_wait(tree, sample))
        tree->colour_ns[colour_of(tree, sample->stack)] += weight;
    return 0;
}

/* ---- The end --------------------------------------------------------------------------------- */

struct sorted_item {
    char *label;
    uint32_t item;
};

static int compare_labels(const void *a, const void *b)
{
    const struct sorted_item *left = a, *right = b;
    int order = strcmp(left->label, right->label);
    return order ? order : (left->item > right->item) - (left->item < right->item);
}

/* Fills ranks[item] with the position in the order of labels. */
static int rank_items(const struct call_tree *tree, uint32_t *ranks)
{
    size_t count = tree->items.count;
    struct sorted_item *sorted = calloc(count, sizeof(*sorted));
    int error = sorted ? 0 : -ENOMEM;
    for (size_t i = 0; !error && i < count; i++) {
        char label[CALL_LABEL_SIZE];
        size_t length = call_item_label(tree, (uint32_t)i, label, sizeof(label));
        sorted[i] = (struct sorted_item){strndup(label, length), (uint32_t)i};
        error = sorted[i].label ? 0 : -ENOMEM;
    }
    if (!error) {
        qsort(sorted, count, sizeof(*sorted), compare_labels);
        for (size_t i = 0; i < count; i++)
            ranks[sorted[i].item] = (uint32_t)i;
    }
    for (size_t i = 0; sorted && i < count; i++)
        free(sorted[i].label);
    free(sorted);
    return error;
}

struct sorted_node {
    uint32_t rank, node;
};

/* Descending, as each node is inserted before its siblings. */
static int compare_ranks(const void *a, const void *b)
{
    const struct sorted_node *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? 1 : -1;
    return (left->node < right->node) - (left->node > right->node);
}

static int link_children(struct call_tree *tree, const uint32_t *ranks)
{
    size_t count = tree->nodes.count;
    struct sorted_node *sorted = calloc(count, sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct sorted_node){ranks[tree->nodes.items[i].item], (uint32_t)i};
    qsort(sorted, count, sizeof(*sorted), compare_ranks);
    for (size_t i = 0; i < count; i++) {
        struct call_node *node = &tree->nodes.items[sorted[i].node];
        struct call_node *parent = &tree->nodes.items[node->parent];
        if (sorted[i].node == 0)
            continue;
        node->next_sibling = parent->first_child;
        parent->first_child = sorted[i].node;
    }
    free(sorted);
    return 0;
}

int call_tree_finish(struct call_tree *tree)
{
    uint32_t *ranks = calloc(tree->items.count, sizeof(*ranks));
    int error = ranks ? rank_items(tree, ranks) : -ENOMEM;
    if (!error)
        error = link_children(tree, ranks);
    free(ranks);
    if (error)
        return error;
    for (size_t i = tree->nodes.count; i-- > 0;) {
        struct call_node *node = &tree->nodes.items[i];
        node->total_ns += node->self_ns;
        if (i == 0)
            break;
        tree->nodes.items[node->parent].total_ns += node->total_ns;
        tree->nodes.items[node->parent].count += node->count;
    }
    return 0;
}

uint32_t call_tree_node_count(const struct call_tree *tree)
{
    return (uint32_t)tree->nodes.count;
}

const struct call_node *call_tree_node(const struct call_tree *tree, uint32_t index)
{
    return &tree->nodes.items[index];
}

const struct call_item *call_tree_item(const struct call_tree *tree, uint32_t item)
{
    return &tree->items.items[item];
}

const uint64_t *call_tree_colours(const struct call_tree *tree)
{
    return tree->colour_ns;
}

uint64_t call_tree_cut_count(const struct call_tree *tree)
{
    return tree->cut_count;
}

unsigned call_item_frame_kind(const struct call_tree *tree, uint32_t item)
{
    const struct call_item *entry = &tree->items.items[item];
    if (entry->kind != CALL_FUNCTION)
        return 0;
    return stacks_get_label(trace_stacks_get(tree->trace), entry->id)->kind;
}

static size_t thread_label(const struct trace *trace, uint32_t thread, char *buffer, size_t size)
{
    char label[CALL_LABEL_SIZE];
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    struct text text = text_init(buffer, size);
    size_t length = trace_thread_label(trace, thread, label, sizeof(label));
    text_add(&text, label, length);
    text_format(&text, " (tid %d)", entry ? entry->tid : 0);
    return text.length;
}

static size_t process_label(const struct trace *trace, uint32_t process, char *buffer, size_t size)
{
    char label[CALL_LABEL_SIZE];
    const struct trace_process *entry = trace_process_get(trace, process);
    struct text text = text_init(buffer, size);
    if (!entry) {
        text_format(&text, "unknown process");
        return text.length;
    }
    size_t length = trace_process_label(trace, process, label, sizeof(label));
    text_add(&text, label, length);
    text_format(&text, " (pid %d)", entry->pid);
    return text.length;
}

size_t call_item_label(const struct call_tree *tree, uint32_t item, char *buffer, size_t size)
{
    const struct call_item *entry = &tree->items.items[item];
    const struct trace *trace = tree->trace;
    struct text text = text_init(buffer, size);
    switch ((enum call_kind)entry->kind) {
    case CALL_FUNCTION:
        return call_line_label(trace, &(struct call_place){entry->id, entry->line},
                               tree->options.prefixes, buffer, size);
    case CALL_PROCESS:
        return process_label(trace, entry->id, buffer, size);
    case CALL_THREAD:
        return thread_label(trace, entry->id, buffer, size);
    case CALL_RANGE:
        if (entry->domain)
            text_format(&text, "%s:", trace_string(trace, entry->domain)->bytes);
        text_format(&text, "%s", entry->id ? trace_string(trace, entry->id)->bytes : "(unnamed)");
        break;
    case CALL_INHERITED:
        text_format(&text, "(inherited)");
        break;
    case CALL_NO_RANGE:
        text_format(&text, "(no range)");
        break;
    case CALL_REASON:
        text_format(&text, "[%s]", wait_reason_name((enum wait_reason)entry->id));
        break;
    case CALL_RUNNABLE:
        text_format(&text, "[runnable]");
        break;
    case CALL_NO_STACK:
        text_format(&text, "[no stack]");
        break;
    case CALL_NO_ROOM:
        text_format(&text, "[no room]");
        break;
    case CALL_ALL:
        text_format(&text, "all");
        break;
    }
    return text.length;
}
