/* SPDX-License-Identifier: MIT */
/* Parts of stacks, in a map of blocks, and whole stacks joined from them.
 * Thread-safety: one thread per object. */
#include "stack_join.h"

#include "frames.h"
#include "processes.h"

#include "python_stack.h"
#include "sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTS_BYTES_MAX = 12 << 20, LEAVING_STEPS = 2 };

#define UNUSED_NS UINT64_C(300000000)
#define SWEEP_NS  UINT64_C(100000000) /* minimum interval */

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
    wide_map_put(&parts->by_key, WIDE_KEY(part->kind, part->hash), index + 1); /* cannot fail */
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

/* The program is asked to resend a part before it is dropped; a part used since then is kept. */
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

/* ---- Joining --------------------------------------------------------------------------------- */

/* Joins by address through python_stack_join. Parts of different samples are made comparable by
 * their bases. A stack that was joined before costs one look-up. */

enum {
    KNOWN_MAX = 1 << 18,
    USER_MAX = SAMPLER_NATIVE_MAX + SAMPLER_PYTHON_MAX,
    FRAMES_MAX = USER_MAX + SAMPLER_KERNEL_MAX + 2,
};

/* Offset of places relative to a base, so that they stay positive. */
#define PLACE_ORIGIN (UINT64_C(1) << 48)

/* A stack being put together, leaf first. */
struct pile {
    uint32_t frames[FRAMES_MAX];
    uint8_t python[FRAMES_MAX];
    uint32_t count;
};

void stack_join_fini(struct stack_join *join)
{
    wide_map_free(&join->known);
}

static void pile_add(struct pile *pile, uint32_t frame, bool python)
{
    if (frame == 0 || pile->count == FRAMES_MAX)
        return;
    pile->frames[pile->count] = frame;
    pile->python[pile->count++] = python;
}

static uint64_t rebase(uint64_t place, uint64_t base)
{
    return place && base ? place - base + PLACE_ORIGIN : place;
}

/* Merges Python and native frames. Returns the number of guessed Python frames. */
static uint32_t pile_user(struct pile *pile, const struct join_request *request)
{
    static _Thread_local struct python_native natives[SAMPLER_NATIVE_MAX];
    static _Thread_local struct python_frame frames[SAMPLER_PYTHON_MAX];
    static _Thread_local struct python_joint joints[USER_MAX];
    const struct stack_part *native = request->native, *python = request->python;
    const struct python_runtime *runtime = &request->process->interpreter.runtime;
    bool rebased = native && python && native->base && python->base;
    struct python_join join = {.offsets = &runtime->offsets,
                               .eval = runtime->eval,
                               .eval_end = runtime->eval_end,
                               .natives = natives,
                               .frames = frames};
    for (uint32_t i = 0; native && i < native->count && i < SAMPLER_NATIVE_MAX; i++)
        natives[join.native_count++] = (struct python_native){
            native->items[i].address, rebase(native->items[i].place, rebased ? native->base : 0)};
    for (uint32_t i = 0; python && i < python->count && i < SAMPLER_PYTHON_MAX; i++)
        frames[join.frame_count++] =
            (struct python_frame){rebase(python->items[i].place, rebased ? python->base : 0),
                                  (uint8_t)python->items[i].flags};
    uint32_t unplaced = 0, count = python_stack_join(&join, joints, &unplaced);
    for (uint32_t i = 0; i < count; i++) {
        const struct stack_part *part = joints[i].python ? python : native;
        pile_add(pile, part->items[joints[i].index].frame, joints[i].python);
    }
    return unplaced;
}

static void pile_part(struct pile *pile, const struct stack_part *part, bool python)
{
    for (uint32_t i = 0; part && i < part->count; i++)
        pile_add(pile, part->items[i].frame, python);
}

/* The place for the collector's own frame: outside its outermost function, else, if it is reported
 * as running, directly above the innermost Python frame. `first`: the first user frame. Returns
 * count if there is none. */
static uint32_t collector_place(const struct pile *pile, const struct address_frames *names,
                                uint32_t first, bool is_known)
{
    for (uint32_t i = pile->count; i > first; i--)
        if (!pile->python[i - 1] && frame_is_collector(names, pile->frames[i - 1]))
            return i;
    for (uint32_t i = first; is_known && i < pile->count; i++)
        if (pile->python[i])
            return i;
    return pile->count;
}

static int pile_collector(struct pile *pile, struct address_frames *names, uint32_t first,
                          bool is_known)
{
    uint32_t at = collector_place(pile, names, first, is_known);
    if (at == pile->count || pile->count == FRAMES_MAX)
        return 0;
    int64_t frame = frame_collector(names);
    if (frame < 0)
        return (int)frame;
    for (uint32_t i = pile->count; i > at; i--) {
        pile->frames[i] = pile->frames[i - 1];
        pile->python[i] = pile->python[i - 1];
    }
    pile->frames[at] = (uint32_t)frame;
    pile->python[at] = 0;
    pile->count++;
    return 0;
}

static bool is_cut(uint8_t end)
{
    return end != STACK_NOT_WALKED && end != STACK_COMPLETE && end != STACK_NO_THREAD;
}

/* Adds a note about missing frames at the root. */
static int pile_note(struct pile *pile, struct address_frames *names,
                     const struct join_request *request)
{
    char text[96];
    if (is_cut(request->native_end))
        snprintf(text, sizeof(text), "[stack cut: %s]", stack_end_name(request->native_end));
    else if (is_cut(request->python_end))
        snprintf(text, sizeof(text), "[Python stack cut: %s]", stack_end_name(request->python_end));
    else
        return 0;
    int64_t frame = frame_note(names, text);
    if (frame > 0)
        pile_add(pile, (uint32_t)frame, false);
    return frame < 0 ? (int)frame : 0;
}

static int64_t intern_pile(const struct pile *pile, struct stacks *stacks)
{
    int64_t stack = 0;
    for (uint32_t i = pile->count; i > 0 && stack >= 0; i--)
        stack = stacks_push(stacks, (uint32_t)stack, pile->frames[i - 1]);
    return stack;
}

static uint64_t hash_of(const struct stack_part *part)
{
    return part ? part->hash : 0; /* hashes of parts are never 0 */
}

static struct wide_key request_key(const struct join_request *request)
{
    uint64_t rest = (uint64_t)request->native_end << 9 | (uint64_t)request->python_end << 1 |
                    (uint64_t)request->collects;
    uint64_t cut = request->native ? request->native->cut : 0;
    return *WIDE_KEY(hash_of(request->kernel), hash_of(request->native), hash_of(request->python),
                     cut << 17 | rest);
}

int64_t stack_join_parts(struct stack_join *join, struct address_frames *names,
                         const struct join_request *request)
{
    const struct wide_key key = request_key(request);
    const uint64_t *found = wide_map_find(&join->known, &key);
    if (found)
        return (int64_t)*found - 1;
    static _Thread_local struct pile pile;
    pile.count = 0;
    pile_part(&pile, request->kernel, false);
    uint32_t first = pile.count;
    bool python = request->python && request->process->interpreter.state == INTERPRETER_FOUND;
    if (python)
        join->unplaced += pile_user(&pile, request);
    else
        pile_part(&pile, request->native, false);
    int error = pile_collector(&pile, names, first, request->collects);
    if (!error)
        error = pile_note(&pile, names, request);
    int64_t stack = error ? error : intern_pile(&pile, trace_stacks(names->trace));
    if (stack < 0)
        return stack;
    join->joined++;
    if (join->known.count >= KNOWN_MAX)
        wide_map_free(&join->known);
    return wide_map_put(&join->known, &key, (uint64_t)stack + 1) != 0 ? -ENOMEM : stack;
}
