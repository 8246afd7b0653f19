/* SPDX-License-Identifier: MIT */
/* A stack is searched for its function once, a function for its first frame once: most stretches
 * cost two look-ups. Thread-safety: none. */
#include "wait_places.h"

#include "call_label.h"
#include "map64.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOT_SEARCHED UINT32_MAX

struct wait_places {
    const struct trace *trace;
    const struct stacks *stacks;
    uint32_t *frame_of_stack; /* of the function; NOT_SEARCHED at first */
    uint32_t stack_count;
    struct map64 frame_by_function; /* hash -> the first frame of that function that was met */
    struct map64 place_by_key;      /* frame and reason -> place + 1 */
    VEC(struct wait_place) places;
};

struct wait_places *wait_places_create(const struct trace *trace)
{
    struct wait_places *places = calloc(1, sizeof(*places));
    if (!places)
        return NULL;
    places->trace = trace;
    places->stacks = trace_stacks_get(trace);
    places->stack_count = stacks_stack_count(places->stacks);
    size_t size = (size_t)places->stack_count * sizeof(*places->frame_of_stack);
    places->frame_of_stack = malloc(size);
    if (!places->frame_of_stack) {
        free(places);
        return NULL;
    }
    memset(places->frame_of_stack, 0xff, size);
    return places;
}

void wait_places_destroy(struct wait_places *places)
{
    if (!places)
        return;
    free(places->frame_of_stack);
    map64_free(&places->frame_by_function);
    map64_free(&places->place_by_key);
    vec_free(&places->places);
    free(places);
}

/* What everybody waits in: libc.so.6, libpthread-2.31.so, ld-linux-x86-64.so.2,
 * ld-musl-x86_64.so.1. */
static bool is_of_c_library(const char *module)
{
    static const char *const names[] = {"libc.", "libc-", "libpthread", "ld-linux", "ld-musl"};
    const char *slash = strrchr(module, '/');
    const char *name = slash ? slash + 1 : module;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static uint32_t search(const struct wait_places *places, uint32_t stack)
{
    uint32_t native = 0, leaf = stacks_get_stack(places->stacks, stack)->frame;
    while (stack != 0) {
        const struct stack *node = stacks_get_stack(places->stacks, stack);
        const struct frame *frame = stacks_get_frame(places->stacks, node->frame);
        if (frame->kind == FRAME_PYTHON)
            return node->frame;
        bool own = frame->kind == FRAME_JIT ||
                   (frame->kind == FRAME_NATIVE &&
                    !is_of_c_library(trace_string(places->trace, frame->module)->bytes));
        native = native == 0 && own ? node->frame : native;
        stack = node->parent;
    }
    return native != 0 ? native : leaf;
}

/* All frames of a function are the first one that was met; functions with one hash, which are
 * hardly any, keep their own. -ENOMEM. */
static int64_t first_frame(struct wait_places *places, uint32_t ordinal)
{
    const struct frame *frame = stacks_get_frame(places->stacks, ordinal);
    uint64_t key = call_function_hash(frame) | 1;
    const uint64_t *found = map64_find(&places->frame_by_function, key);
    if (found) {
        const struct frame *first = stacks_get_frame(places->stacks, (uint32_t)*found);
        return call_same_function(frame, first) ? (int64_t)*found : (int64_t)ordinal;
    }
    int error = map64_put(&places->frame_by_function, key, ordinal);
    return error ? error : (int64_t)ordinal;
}

static int64_t frame_of(struct wait_places *places, uint32_t stack)
{
    if (stack == 0 || stack >= places->stack_count)
        return 0;
    if (places->frame_of_stack[stack] == NOT_SEARCHED) {
        int64_t frame = first_frame(places, search(places, stack));
        if (frame < 0)
            return frame;
        places->frame_of_stack[stack] = (uint32_t)frame;
    }
    return places->frame_of_stack[stack];
}

int wait_places_add(struct wait_places *places, const struct sample *sample)
{
    uint64_t blocked_ns = sample_off_share(trace_sets_get(places->trace), sample).blocked_ns;
    if (blocked_ns == 0)
        return 0;
    int64_t frame = frame_of(places, sample->stack);
    if (frame < 0)
        return (int)frame;
    uint64_t key = ((uint64_t)frame << 8 | sample->reason) + 1;
    const uint64_t *found = map64_find(&places->place_by_key, key);
    if (!found) {
        struct wait_place fresh = {.frame = (uint32_t)frame, .reason = sample->reason};
        if (vec_push(&places->places, fresh) != 0 ||
            map64_put(&places->place_by_key, key, places->places.count) != 0)
            return -ENOMEM;
        found = map64_find(&places->place_by_key, key);
    }
    struct wait_place *place = &places->places.items[*found - 1];
    place->count++;
    place->blocked_ns += blocked_ns;
    place->max_ns = blocked_ns > place->max_ns ? blocked_ns : place->max_ns;
    place->unfinished += (sample->flags & SAMPLE_UNFINISHED) != 0;
    return 0;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct wait_places *places = context;
    const struct wait_place *a = left, *b = right;
    if (a->blocked_ns != b->blocked_ns)
        return a->blocked_ns < b->blocked_ns ? 1 : -1;
    int functions = call_compare_functions(places->trace, a->frame, b->frame);
    if (functions)
        return functions;
    int reasons = (int)a->reason - (int)b->reason;
    return a->frame < b->frame ? -1 : a->frame > b->frame ? 1 : reasons;
}

uint32_t wait_places_sorted(const struct wait_places *places, const struct wait_place **ret_places)
{
    *ret_places = places->places.items;
    return (uint32_t)places->places.count;
}

uint32_t wait_places_sort(struct wait_places *places, const struct wait_place **ret_places)
{
    struct wait_place *items = places->places.items;
    if (places->places.count > 0)
        qsort_r(items, places->places.count, sizeof(*items), compare, places);
    return wait_places_sorted(places, ret_places);
}
