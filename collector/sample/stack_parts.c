/* SPDX-License-Identifier: MIT */
/* A map of blocks. Thread-safety: one thread per object. */
#include "stack_parts.h"

#include <stdlib.h>

enum { PARTS_BYTES_MAX = 12 << 20, LEAVING_STEPS = 2 };

#define UNUSED_NS UINT64_C(300000000)
#define SWEEP_NS  UINT64_C(100000000) /* at most so often */

static size_t part_bytes(uint32_t count)
{
    return sizeof(struct stack_part) + count * sizeof(struct part_item);
}

void stack_parts_fini(struct stack_parts *parts)
{
    for (size_t i = 0; i < parts->all.count; i++)
        free(parts->all.items[i]);
    vec_free(&parts->all);
    wide_map_free(&parts->by_key);
}

static void remove_at(struct stack_parts *parts, size_t index)
{
    struct stack_part *part = parts->all.items[index];
    uint64_t gone;
    wide_map_take(&parts->by_key, WIDE_KEY(part->kind, part->hash), &gone);
    parts->bytes -= part_bytes(part->count);
    free(part);
    parts->all.items[index] = parts->all.items[--parts->all.count];
    if (index == parts->all.count)
        return;
    part = parts->all.items[index];
    wide_map_put(&parts->by_key, WIDE_KEY(part->kind, part->hash), index + 1); /* no grow */
}

static size_t find_index(const struct stack_parts *parts, enum part_kind kind, uint64_t hash)
{
    const uint64_t *found = wide_map_find(&parts->by_key, WIDE_KEY(kind, hash));
    return found ? (size_t)*found : 0;
}

struct stack_part *stack_parts_add(struct stack_parts *parts, enum part_kind kind, uint64_t hash,
                                   uint32_t count)
{
    size_t old = find_index(parts, kind, hash);
    if (old)
        remove_at(parts, old - 1);
    struct stack_part *part = malloc(part_bytes(count));
    if (!part || vec_reserve(&parts->all, 1) != 0 ||
        wide_map_put(&parts->by_key, WIDE_KEY(kind, hash), parts->all.count + 1) != 0) {
        free(part);
        return NULL;
    }
    *part = (struct stack_part){.kind = (uint8_t)kind, .hash = hash, .count = count};
    parts->all.items[parts->all.count++] = part;
    parts->bytes += part_bytes(count);
    return part;
}

struct stack_part *stack_parts_find(struct stack_parts *parts, enum part_kind kind, uint64_t hash,
                                    uint64_t now_ns)
{
    size_t index = hash ? find_index(parts, kind, hash) : 0;
    if (!index)
        return NULL;
    struct stack_part *part = parts->all.items[index - 1];
    part->used_ns = now_ns;
    return part;
}

void stack_parts_drop(struct stack_parts *parts, enum part_kind kind, uint64_t hash)
{
    size_t index = find_index(parts, kind, hash);
    if (index)
        remove_at(parts, index - 1);
}

/* The program is told before a part goes, and it stays if it was used since. */
static bool must_go(struct stack_parts *parts, struct stack_part *part, uint64_t now_ns,
                    uint64_t step)
{
    if (now_ns - part->used_ns <= UNUSED_NS) {
        part->leaves_step = 0;
        return false;
    }
    if (part->leaves_step == 0) {
        if (parts->forget)
            parts->forget(parts->context, part->hash);
        part->leaves_step = step;
    }
    return step - part->leaves_step >= LEAVING_STEPS;
}

void stack_parts_sweep(struct stack_parts *parts, uint64_t now_ns, uint64_t step)
{
    if (parts->bytes <= PARTS_BYTES_MAX || now_ns - parts->swept_ns < SWEEP_NS)
        return;
    parts->swept_ns = now_ns;
    for (size_t i = parts->all.count; i > 0; i--)
        if (must_go(parts, parts->all.items[i - 1], now_ns, step))
            remove_at(parts, i - 1);
}
