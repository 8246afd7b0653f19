/* SPDX-License-Identifier: MIT */
/* Frames, stacks and range paths as definition entries, many in one: there may be millions, and
 * most differ little from the one before. Foreign bytes: an entry is bounded by its length, and
 * what damage took leaves empty ones. Thread-safety: none. */
#include "definitions.h"
#include "format.h"
#include "varint.h"

#include <errno.h>

enum {
    FRAME_BYTES_MAX = 7 * VARINT_MAX,
    NODE_BYTES_MAX = 4 * VARINT_MAX,
    STACK_HOLES_MAX = 1 << 20, /* frames, stacks and paths together */
};

static uint32_t count_of(const struct stacks *stacks, unsigned type)
{
    return type == STORE_DEFINE_FRAMES   ? stacks_frame_count(stacks)
           : type == STORE_DEFINE_STACKS ? stacks_stack_count(stacks)
                                         : stacks_path_count(stacks);
}

/* ---- Writing ---- */

static uint8_t *put_change(uint8_t *at, uint64_t value, uint64_t before)
{
    return varint_put(at, zigzag((int64_t)(value - before)));
}

static uint8_t *put_frame(uint8_t *at, const struct frame *frame, const struct frame *before)
{
    at = varint_put(at, frame->kind);
    at = put_change(at, frame->function, before->function);
    at = put_change(at, frame->file, before->file);
    at = put_change(at, frame->module, before->module);
    at = varint_put(at, zigzag(frame->line));
    at = varint_put(at, zigzag(frame->first_line));
    return put_change(at, frame->address, before->address);
}

/* A root's distance to its parent is told as 0. */
static uint8_t *put_node(uint8_t *at, uint32_t ordinal, uint32_t parent, uint32_t what)
{
    at = varint_put(at, parent ? ordinal - parent : 0);
    return varint_put(at, what);
}

/* `first`: of its entry. */
static uint8_t *put_any(uint8_t *at, const struct stacks *stacks, unsigned type, uint32_t ordinal,
                        bool first)
{
    if (type == STORE_DEFINE_FRAMES)
        return put_frame(at, stacks_get_frame(stacks, ordinal),
                         stacks_get_frame(stacks, first ? 0 : ordinal - 1));
    if (type == STORE_DEFINE_STACKS) {
        const struct stack *stack = stacks_get_stack(stacks, ordinal);
        return put_node(at, ordinal, stack->parent, stack->frame);
    }
    const struct range_path *path = stacks_get_path(stacks, ordinal);
    return put_node(at, ordinal, path->parent, path->name);
}

/* Behind the paths: kinds if some are not the thread's, and behind these domains if some have one.
 */
static uint8_t *put_kinds(uint8_t *at, const struct stacks *stacks, uint32_t begin, uint32_t end)
{
    uint32_t kinds = 0, domains = 0;
    for (uint32_t i = begin; i < end; i++) {
        kinds |= stacks_get_path(stacks, i)->kind;
        domains |= stacks_get_path(stacks, i)->domain;
    }
    for (uint32_t i = begin; i < end && (kinds | domains) != 0; i++)
        at = varint_put(at, stacks_get_path(stacks, i)->kind);
    for (uint32_t i = begin; i < end && domains != 0; i++)
        at = varint_put(at, stacks_get_path(stacks, i)->domain);
    return at;
}

static int collect_entry(const struct stacks *stacks, unsigned type, uint32_t begin, uint32_t end,
                         struct definitions_buffer *buffer)
{
    VEC(uint8_t) body = {0};
    size_t item_max = type == STORE_DEFINE_FRAMES ? FRAME_BYTES_MAX : NODE_BYTES_MAX;
    if (vec_reserve(&body, (end - begin) * item_max + (size_t)2 * VARINT_MAX) != 0 || !body.items)
        return -ENOMEM;
    uint8_t *at = varint_put(body.items, begin);
    at = varint_put(at, end - begin);
    for (uint32_t i = begin; i < end; i++)
        at = put_any(at, stacks, type, i, i == begin);
    if (type == STORE_DEFINE_PATHS)
        at = put_kinds(at, stacks, begin, end);
    int error = definitions_put(buffer, type, body.items, (size_t)(at - body.items));
    vec_free(&body);
    return error;
}

static int collect(const struct stacks *stacks, unsigned type, uint32_t *next, size_t limit,
                   struct definitions_buffer *buffer)
{
    uint32_t count = count_of(stacks, type);
    int error = 0;
    if (*next == 0)
        *next = 1; /* 0 is nothing everywhere */
    while (!error && *next < count && buffer->bytes.count < limit) {
        uint32_t rest = count - *next;
        uint32_t size = rest < STORE_STACKS_ENTRY ? rest : STORE_STACKS_ENTRY;
        error = collect_entry(stacks, type, *next, *next + size, buffer);
        *next += error ? 0 : size;
    }
    return error;
}

int definitions_collect_stacks(const struct stacks *stacks, struct definitions_state *state,
                               size_t limit, struct definitions_buffer *buffer)
{
    int error = collect(stacks, STORE_DEFINE_FRAMES, &state->frame_count, limit, buffer);
    if (!error)
        error = collect(stacks, STORE_DEFINE_STACKS, &state->stack_count, limit, buffer);
    if (!error)
        error = collect(stacks, STORE_DEFINE_PATHS, &state->path_count, limit, buffer);
    return error;
}

/* ---- Reading ---- */

static uint64_t take_change(struct varint_reader *body, uint64_t before)
{
    return before + (uint64_t)varint_get_signed(body);
}

static void take_frame(struct varint_reader *body, struct frame *frame)
{
    frame->kind = (uint8_t)varint_get(body);
    frame->function = (uint32_t)take_change(body, frame->function);
    frame->file = (uint32_t)take_change(body, frame->file);
    frame->module = (uint32_t)take_change(body, frame->module);
    frame->line = (int32_t)varint_get_signed(body);
    frame->first_line = (int32_t)varint_get_signed(body);
    frame->address = take_change(body, frame->address);
}

/* One more of the type. `frame`: for frames; else the node of this ordinal is read. */
static int64_t append(struct stacks *stacks, unsigned type, const struct frame *frame,
                      const struct stack *node)
{
    if (type == STORE_DEFINE_FRAMES)
        return stacks_append_frame(stacks, frame);
    if (type == STORE_DEFINE_STACKS)
        return stacks_append_stack(stacks, node);
    return stacks_append_path(stacks,
                              &(struct range_path){.parent = node->parent, .name = node->frame});
}

static int fill(struct stacks *stacks, struct definitions_holes *holes, unsigned type,
                uint64_t first)
{
    static const struct frame no_frame;
    static const struct stack no_stack;
    uint64_t count = count_of(stacks, type);
    if (first <= count)
        return 0;
    if (first - count > STACK_HOLES_MAX - holes->stacks)
        return -EBADMSG;
    holes->stacks += (uint32_t)(first - count);
    for (; count < first; count++)
        if (append(stacks, type, &no_frame, &no_stack) < 0)
            return -ENOMEM;
    return 0;
}

/* Kinds (before version 1.3, and where all are the thread's, there are none), then domains (before
 * version 1.4, and where none has one, there are none). Paths from `known` on are new. */
static void take_kinds(struct stacks *stacks, struct varint_reader *body, uint64_t first,
                       uint64_t size, uint32_t known)
{
    for (uint64_t i = 0; i < 2 * size && body->at && body->at < body->end; i++) {
        uint64_t value = varint_get(body), ordinal = first + i % size;
        if (!body->at || ordinal < known)
            continue;
        if (i < size)
            stacks_set_path_kind(stacks, (uint32_t)ordinal, value);
        else
            stacks_set_path_domain(stacks, (uint32_t)ordinal, (uint32_t)value);
    }
}

int definitions_apply_stacks(struct trace *trace, struct definitions_holes *holes, unsigned type,
                             struct varint_reader *body)
{
    struct stacks *stacks = trace_stacks(trace);
    struct frame frame = {0};
    uint64_t first = varint_get(body), size = varint_get(body);
    uint32_t known = count_of(stacks, type);
    int error = body->at ? fill(stacks, holes, type, first) : -EBADMSG;
    for (uint64_t i = 0; i < size && !error; i++) {
        uint64_t ordinal = first + i, distance = 0;
        struct stack node = {0};
        if (type == STORE_DEFINE_FRAMES) {
            take_frame(body, &frame);
        } else {
            distance = varint_get(body);
            node.parent = (uint32_t)(distance ? ordinal - distance : 0);
            node.frame = (uint32_t)varint_get(body);
        }
        if (!body->at || distance > ordinal)
            return -EBADMSG;
        if (type == STORE_DEFINE_STACKS && node.frame >= stacks_frame_count(stacks))
            node.frame = 0; /* damage took it */
        if (ordinal >= count_of(stacks, type) && append(stacks, type, &frame, &node) < 0)
            error = -ENOMEM;
    }
    if (type == STORE_DEFINE_PATHS && !error)
        take_kinds(stacks, body, first, size, known);
    return error;
}
