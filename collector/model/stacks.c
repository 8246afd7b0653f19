/* SPDX-License-Identifier: MIT */
/* Tables of stacks.h: entries in order of appearance, and an index by content.
 *
 * A stack costs its 8 bytes and about 6 of index. The index covers the entries up to `indexed` and
 * is brought up to date by the first look-up, so that readers, which only append, have no index.
 * Forgotten stacks leave the front of the table; ordinals go on. Invariant: an entry's parent has a
 * smaller ordinal, so walks towards the root end. Thread-safety: none. */
#include "stacks.h"

#include "hash.h"
#include "vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

#define ORDINAL_MAX UINT32_C(0x7fffffff)

/* Leading bytes of an entry that are hashed, and that must be equal. */
struct key_size {
    uint32_t hashed, compared;
};

struct interned {
    uint8_t *items;
    uint32_t item_size, capacity;
    uint32_t base, count; /* existing ordinals: [base, count) */
    uint32_t *slots;      /* ordinal of an entry; 0 = free, as entry 0 needs no look-up */
    uint32_t slot_count, indexed;
    struct key_size (*key_size)(const void *item); /* NULL: all of it */
};

enum { RECENT_PATH_BITS = 8 };

struct stacks {
    struct interned modules, sources, labels, frames, stacks, paths;
    uint32_t recent_paths[1 << RECENT_PATH_BITS]; /* by a hash: the last one added or found */
    VEC(struct frame_name) names;
};

/* Entry 0 of any table. */
static const union {
    struct code_module module;
    struct source source;
    struct label label;
    struct frame frame;
    struct stack stack;
    struct range_path path;
    struct frame_name name;
} empty_entry;

static void *item_at(const struct interned *table, uint32_t ordinal)
{
    return table->items + (size_t)(ordinal - table->base) * table->item_size;
}

static int64_t append(struct interned *table, const void *item)
{
    if (table->count >= ORDINAL_MAX)
        return -ENOMEM;
    if (table->count - table->base == table->capacity) {
        uint32_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
        uint8_t *items = realloc(table->items, (size_t)capacity * table->item_size);
        if (!items)
            return -ENOMEM;
        table->items = items;
        table->capacity = capacity;
    }
    memcpy(item_at(table, table->count), item, table->item_size);
    return table->count++;
}

/* The slot of `item`, or the free slot for it. */
static uint32_t *slot_of(const struct interned *table, const void *item)
{
    struct key_size key = table->key_size ? table->key_size(item)
                                          : (struct key_size){table->item_size, table->item_size};
    uint32_t at = (uint32_t)hash_bytes(item, key.hashed) & (table->slot_count - 1);
    while (table->slots[at] != 0 &&
           memcmp(item_at(table, table->slots[at]), item, key.compared) != 0)
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

/* Makes the index at most two thirds full with one entry more. */
static int grow_index(struct interned *table)
{
    uint64_t need = ((uint64_t)table->count - table->base + 1) * 3 / 2, size = FIRST_CAPACITY;
    while (size < need)
        size *= 2;
    if (size <= table->slot_count)
        return 0;
    uint32_t *slots = calloc(size, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(table->slots);
    table->slots = slots;
    table->slot_count = (uint32_t)size;
    table->indexed = table->base ? table->base : 1;
    return 0;
}

static void index_all(struct interned *table)
{
    for (; table->indexed < table->count; table->indexed++) {
        uint32_t *slot = slot_of(table, item_at(table, table->indexed));
        if (*slot == 0)
            *slot = table->indexed;
    }
}

static int64_t intern(struct interned *table, const void *item)
{
    if (grow_index(table) != 0)
        return -ENOMEM;
    index_all(table);
    uint32_t *slot = slot_of(table, item);
    if (*slot != 0)
        return *slot;
    int64_t ordinal = append(table, item);
    if (ordinal > 0) {
        *slot = (uint32_t)ordinal;
        table->indexed = table->count;
    }
    return ordinal;
}

static void forget(struct interned *table, uint32_t before)
{
    if (before > table->count)
        before = table->count;
    if (before <= table->base)
        return;
    size_t rest = (size_t)(table->count - before) * table->item_size;
    if (rest > 0) {
        memmove(table->items, item_at(table, before), rest);
    } else {
        free(table->items);
        table->items = NULL;
        table->capacity = 0;
    }
    free(table->slots);
    table->slots = NULL;
    table->slot_count = 0;
    table->base = before;
}

static int start_table(struct interned *table, uint32_t item_size)
{
    table->item_size = item_size;
    table->indexed = 1;
    return append(table, &empty_entry) < 0 ? -ENOMEM : 0;
}

static void free_table(struct interned *table)
{
    free(table->items);
    free(table->slots);
}

bool frame_is_named_late(const struct frame *frame)
{
    return frame->address != 0 &&
           (frame->kind == FRAME_NATIVE || frame->kind == FRAME_KERNEL || frame->kind == FRAME_JIT);
}

/* A frame without a label yet equals any frame at its place, whatever its label. */
static struct key_size frame_key_size(const void *item)
{
    const struct frame *frame = item;
    uint32_t place = offsetof(struct frame, label), all = sizeof(*frame);
    bool late = frame_is_named_late(frame);
    return (struct key_size){late ? place : all, late && frame->label == 0 ? place : all};
}

struct stacks *stacks_create(void)
{
    struct stacks *stacks = calloc(1, sizeof(*stacks));
    if (!stacks)
        return NULL;
    if (start_table(&stacks->modules, sizeof(struct code_module)) == 0 &&
        start_table(&stacks->sources, sizeof(struct source)) == 0 &&
        start_table(&stacks->labels, sizeof(struct label)) == 0 &&
        start_table(&stacks->frames, sizeof(struct frame)) == 0 &&
        start_table(&stacks->stacks, sizeof(struct stack)) == 0 &&
        start_table(&stacks->paths, sizeof(struct range_path)) == 0) {
        stacks->frames.key_size = frame_key_size;
        return stacks;
    }
    stacks_destroy(stacks);
    return NULL;
}

void stacks_destroy(struct stacks *stacks)
{
    if (!stacks)
        return;
    free_table(&stacks->modules);
    free_table(&stacks->sources);
    free_table(&stacks->labels);
    free_table(&stacks->frames);
    free_table(&stacks->stacks);
    free_table(&stacks->paths);
    vec_free(&stacks->names);
    free(stacks);
}

static struct frame without_reserved(const struct frame *frame)
{
    struct frame clean = *frame;
    memset(clean.reserved, 0, sizeof(clean.reserved));
    return clean;
}

static int keep_name(struct stacks *stacks, const struct frame_name *name)
{
    return vec_push(&stacks->names, *name) != 0 ? -ENOMEM : 0;
}

int64_t stacks_frame(struct stacks *stacks, const struct frame *frame)
{
    struct frame clean = without_reserved(frame);
    uint32_t count = stacks->frames.count;
    int64_t ordinal = intern(&stacks->frames, &clean);
    bool named = stacks->frames.count > count && clean.label != 0 && frame_is_named_late(&clean);
    struct frame_name name = {.frame = (uint32_t)ordinal,
                              .label = clean.label,
                              .line = clean.line,
                              .column = clean.column,
                              .end_column = clean.end_column,
                              .caller = clean.caller};
    return named && keep_name(stacks, &name) != 0 ? -ENOMEM : ordinal;
}

int stacks_name_frame(struct stacks *stacks, const struct frame_name *name)
{
    if (name->frame == 0 || name->frame >= stacks->frames.count ||
        name->label >= stacks->labels.count || name->caller >= stacks->frames.count)
        return -EINVAL;
    struct frame *frame = item_at(&stacks->frames, name->frame);
    if (!frame_is_named_late(frame))
        return -EINVAL;
    frame->label = name->label;
    frame->line = name->line;
    frame->column = name->column;
    frame->end_column = name->end_column;
    frame->caller = name->caller;
    return keep_name(stacks, name);
}

void stacks_place_frame(struct stacks *stacks, uint32_t ordinal, uint32_t label)
{
    if (ordinal == 0 || ordinal >= stacks->frames.count || label >= stacks->labels.count)
        return;
    struct frame *frame = item_at(&stacks->frames, ordinal);
    frame->label = label;
}

uint32_t stacks_name_count(const struct stacks *stacks)
{
    return (uint32_t)stacks->names.count;
}

const struct frame_name *stacks_get_name(const struct stacks *stacks, uint32_t index)
{
    return index < stacks->names.count ? &stacks->names.items[index] : &empty_entry.name;
}

static struct code_module without_unused(const struct code_module *module)
{
    struct code_module clean = *module;
    memset(clean.unused, 0, sizeof(clean.unused));
    if (clean.build_id_size > sizeof(clean.build_id))
        clean.build_id_size = 0;
    return clean;
}

int64_t stacks_module(struct stacks *stacks, const struct code_module *module)
{
    struct code_module clean = without_unused(module);
    return intern(&stacks->modules, &clean);
}

int64_t stacks_source(struct stacks *stacks, const struct source *source)
{
    return intern(&stacks->sources, source);
}

int64_t stacks_source_of(struct stacks *stacks, uint32_t path)
{
    for (uint32_t i = 1; i < stacks->sources.count; i++)
        if (((const struct source *)item_at(&stacks->sources, i))->path == path)
            return i;
    return stacks_source(stacks, &(struct source){.path = path});
}

void stacks_keep_source(struct stacks *stacks, uint32_t ordinal, uint32_t content,
                        const uint8_t hash[16])
{
    if (ordinal == 0 || ordinal >= stacks->sources.count)
        return;
    struct source *source = item_at(&stacks->sources, ordinal);
    source->content = content;
    memcpy(source->hash, hash, sizeof(source->hash));
}

static struct label plain_label(const struct label *label)
{
    struct label clean = *label;
    memset(clean.unused, 0, sizeof(clean.unused));
    return clean;
}

int64_t stacks_label(struct stacks *stacks, const struct label *label)
{
    struct label clean = plain_label(label);
    return intern(&stacks->labels, &clean);
}

int64_t stacks_push(struct stacks *stacks, uint32_t parent, uint32_t frame)
{
    struct stack stack = {parent, frame};
    return intern(&stacks->stacks, &stack);
}

int64_t stacks_path(struct stacks *stacks, uint32_t parent, uint32_t name)
{
    struct range_path path = {.parent = parent, .name = name, .kind = RANGE_PATH_THREAD};
    return intern(&stacks->paths, &path);
}

int64_t stacks_path_add(struct stacks *stacks, const struct range_path *path)
{
    uint32_t mixed = (path->parent * 0x9e3779b1u ^ path->name) * 0x85ebca6bu;
    uint32_t *recent = &stacks->recent_paths[mixed >> (32 - RECENT_PATH_BITS)];
    const struct range_path *last = *recent ? item_at(&stacks->paths, *recent) : NULL;
    if (last && last->parent == path->parent && last->name == path->name &&
        last->kind == path->kind && last->scope == path->scope)
        return *recent;
    int64_t ordinal = intern(&stacks->paths, path);
    if (ordinal > 0)
        *recent = (uint32_t)ordinal;
    return ordinal;
}

int64_t stacks_append_module(struct stacks *stacks, const struct code_module *module)
{
    struct code_module clean = without_unused(module);
    return append(&stacks->modules, &clean);
}

int64_t stacks_append_source(struct stacks *stacks, const struct source *source)
{
    return append(&stacks->sources, source);
}

int64_t stacks_put_source(struct stacks *stacks, uint32_t ordinal, const struct source *source)
{
    if (ordinal >= stacks->sources.count)
        return append(&stacks->sources, source ? source : &empty_entry.source);
    if (source)
        stacks_keep_source(stacks, ordinal, source->content, source->hash);
    return ordinal;
}

int64_t stacks_append_label(struct stacks *stacks, const struct label *label)
{
    struct label clean = plain_label(label);
    return append(&stacks->labels, &clean);
}

int64_t stacks_append_frame(struct stacks *stacks, const struct frame *frame)
{
    struct frame clean = without_reserved(frame);
    return append(&stacks->frames, &clean);
}

int64_t stacks_append_stack(struct stacks *stacks, const struct stack *stack)
{
    if (stack->parent >= stacks->stacks.count || stack->frame >= stacks->frames.count)
        return -EBADMSG;
    return append(&stacks->stacks, stack);
}

int64_t stacks_append_path(struct stacks *stacks, const struct range_path *path)
{
    if (path->parent >= stacks->paths.count)
        return -EBADMSG;
    return append(&stacks->paths, path);
}

uint32_t stacks_module_count(const struct stacks *stacks)
{
    return stacks->modules.count;
}

uint32_t stacks_source_count(const struct stacks *stacks)
{
    return stacks->sources.count;
}

uint32_t stacks_label_count(const struct stacks *stacks)
{
    return stacks->labels.count;
}

uint32_t stacks_frame_count(const struct stacks *stacks)
{
    return stacks->frames.count;
}

uint32_t stacks_stack_count(const struct stacks *stacks)
{
    return stacks->stacks.count;
}

uint32_t stacks_kept_count(const struct stacks *stacks)
{
    return stacks->stacks.count - stacks->stacks.base;
}

/* ---- Inlined functions ------------------------------------------------------------------------
 */

/* Maximum depth of inlining; foreign recordings may have cycles. */
enum { INLINED_MAX = 64 };

static bool has_inlined(const struct stacks *stacks)
{
    for (uint32_t i = 1; i < stacks->frames.count; i++)
        if (stacks_get_frame(stacks, i)->caller != 0)
            return true;
    return false;
}

/* Pushes a frame and the frames that it is inlined into. 0: out of memory. */
static uint32_t push_inlined(struct stacks *stacks, uint32_t parent, uint32_t frame)
{
    uint32_t chain[INLINED_MAX], count = 0;
    for (uint32_t at = frame; at != 0 && count < INLINED_MAX;
         at = stacks_get_frame(stacks, at)->caller)
        chain[count++] = at;
    int64_t stack = parent;
    while (count-- > 0 && stack >= 0)
        stack = stacks_push(stacks, (uint32_t)stack, chain[count]);
    return stack < 0 ? 0 : (uint32_t)stack;
}

int stacks_expand(struct stacks *stacks, uint32_t **ret_map)
{
    struct interned old = stacks->stacks;
    *ret_map = NULL;
    if (!has_inlined(stacks) || old.base > 0)
        return 0;
    uint32_t *map = calloc(old.count, sizeof(*map));
    stacks->stacks = (struct interned){0};
    int error = map ? start_table(&stacks->stacks, sizeof(struct stack)) : -ENOMEM;
    for (uint32_t i = 1; i < old.count && !error; i++) {
        const struct stack *stack = item_at(&old, i);
        map[i] = push_inlined(stacks, map[stack->parent], stack->frame);
        error = map[i] == 0 && stack->frame != 0 ? -ENOMEM : 0;
    }
    if (error) {
        free_table(&stacks->stacks);
        stacks->stacks = old;
        free(map);
        return error;
    }
    free_table(&old);
    *ret_map = map;
    return 0;
}

void stacks_forget(struct stacks *stacks, uint32_t before)
{
    forget(&stacks->stacks, before);
}

uint32_t stacks_path_count(const struct stacks *stacks)
{
    return stacks->paths.count;
}

static const void *get(const struct interned *table, uint32_t ordinal)
{
    if (ordinal < table->base || ordinal >= table->count)
        return &empty_entry;
    return item_at(table, ordinal);
}

const struct code_module *stacks_get_module(const struct stacks *stacks, uint32_t ordinal)
{
    return get(&stacks->modules, ordinal);
}

const struct source *stacks_get_source(const struct stacks *stacks, uint32_t ordinal)
{
    return get(&stacks->sources, ordinal);
}

const struct label *stacks_get_label(const struct stacks *stacks, uint32_t ordinal)
{
    return get(&stacks->labels, ordinal);
}

const struct label *stacks_label_of(const struct stacks *stacks, uint32_t frame)
{
    return stacks_get_label(stacks, stacks_get_frame(stacks, frame)->label);
}

const struct frame *stacks_get_frame(const struct stacks *stacks, uint32_t ordinal)
{
    return get(&stacks->frames, ordinal);
}

const struct stack *stacks_get_stack(const struct stacks *stacks, uint32_t ordinal)
{
    return get(&stacks->stacks, ordinal);
}

const struct range_path *stacks_get_path(const struct stacks *stacks, uint32_t ordinal)
{
    return get(&stacks->paths, ordinal);
}

/* Both kinds of node begin with {parent, content}. */
_Static_assert(sizeof(struct stack) == 8 && offsetof(struct range_path, name) == 4,
               "nodes are alike");

static void turn_round(uint32_t *items, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t swapped = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = swapped;
    }
}

static uint32_t walk(const struct interned *table, uint32_t leaf, uint32_t *whats, uint32_t size)
{
    uint32_t depth = 0;
    struct stack node;
    for (uint32_t at = leaf; at != 0 && at < table->count && depth < size; at = node.parent) {
        memcpy(&node, get(table, at), sizeof(node));
        whats[depth++] = node.frame;
    }
    turn_round(whats, depth);
    return depth;
}

uint32_t stacks_frames(const struct stacks *stacks, uint32_t stack, uint32_t *frames, uint32_t size)
{
    return walk(&stacks->stacks, stack, frames, size);
}

uint32_t stacks_names(const struct stacks *stacks, uint32_t path, uint32_t *names, uint32_t size)
{
    return walk(&stacks->paths, path, names, size);
}

uint32_t stacks_paths(const struct stacks *stacks, uint32_t path, uint32_t *paths, uint32_t size)
{
    uint32_t depth = 0;
    for (uint32_t at = path; at != 0 && at < stacks->paths.count && depth < size;
         at = stacks_get_path(stacks, at)->parent)
        paths[depth++] = at;
    turn_round(paths, depth);
    return depth;
}
