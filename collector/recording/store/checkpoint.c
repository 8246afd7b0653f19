/* SPDX-License-Identifier: MIT */
/* See checkpoint.h. A push is kept with its level in its thread and its number among the thread's
 * pushes; an EVENT_RESUME before it gives both, and one at the end of each thread gives the current
 * state. The depth is under control of the program: above a limit no more pushes are kept, and
 * there is no checkpoint until the thread is below it again. Thread-safety: none. */
#include "checkpoint.h"

#include "event_encode.h"
#include "trace.h"

#include "format.h"
#include "hash_map.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEVELS_MAX = 1024, /* of a thread */
    STARTS_MAX = 1 << 16,
    ARGS_MAX = 256, /* of an event */
    BATCH_EVENTS = 4096,
    IDS_BITS = 12, /* number of remembered ids, the last used ones */
};

/* An event with its key-values. */
struct kept {
    struct event event;
    struct arg *args; /* owned; NULL: without key-values */
    uint32_t number;  /* of a push, among those of its thread; 0: unknown */
    uint64_t level;   /* of a push */
    uint32_t process; /* of a start */
    uint32_t next_free;
};

struct open_thread {
    VEC(struct kept) pushes;
    uint64_t depth;
    uint32_t number; /* of its last push */
    uint8_t flags;   /* enum resume_flags */
    bool any;
    int64_t last_ns;
};

/* The events of an id so far, in order of time. */
struct id_place {
    uint64_t tag;
    int64_t last_ns, before_ns; /* of the last one, and of the one before it */
    uint32_t thread;            /* of the last one */
    uint8_t kind;               /* of the one that waits for its partner; 0: not waiting */
};

struct checkpoint {
    VEC(struct open_thread) threads;
    struct id_place *ids; /* by tag; NULL: not yet used */
    bool ids_mixed;
    VEC(struct kept) starts; /* used ones have an event kind */
    uint32_t first_free;     /* index + 1 */
    uint32_t start_count;
    struct wide_map start_index; /* process, id -> index + 1 */
    uint32_t deep_count;         /* threads that are deeper than LEVELS_MAX */
    bool given_up;
    int64_t told_ns;
    VEC(struct event) batch;
    VEC(struct arg) args; /* of the batch */
};

struct checkpoint *checkpoint_create(void)
{
    struct checkpoint *checkpoint = calloc(1, sizeof(*checkpoint));
    if (checkpoint)
        checkpoint->told_ns = INT64_MIN;
    return checkpoint;
}

static void close_from(struct open_thread *thread, uint64_t level)
{
    while (thread->pushes.count && thread->pushes.items[thread->pushes.count - 1].level >= level)
        free(thread->pushes.items[--thread->pushes.count].args);
}

static void free_starts(struct checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->starts.count; i++)
        free(checkpoint->starts.items[i].args);
    vec_free(&checkpoint->starts);
    wide_map_free(&checkpoint->start_index);
}

void checkpoint_destroy(struct checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    for (size_t i = 0; i < checkpoint->threads.count; i++) {
        close_from(&checkpoint->threads.items[i], 0);
        vec_free(&checkpoint->threads.items[i].pushes);
    }
    vec_free(&checkpoint->threads);
    vec_free(&checkpoint->batch);
    vec_free(&checkpoint->args);
    free_starts(checkpoint);
    free(checkpoint->ids);
    free(checkpoint);
}

int64_t checkpoint_told_ns(const struct checkpoint *checkpoint)
{
    return checkpoint->told_ns;
}

void checkpoint_told(struct checkpoint *checkpoint, int64_t time_ns)
{
    checkpoint->told_ns = time_ns > checkpoint->told_ns ? time_ns : checkpoint->told_ns;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static int keep_args(struct kept *kept, const struct event_batch *batch, const struct event *event)
{
    struct args args = event_args(batch, event);
    kept->event = *event;
    if (args.count == 0)
        return 0;
    kept->args = malloc(args.count * sizeof(*args.items));
    if (!kept->args)
        return -ENOMEM;
    memcpy(kept->args, args.items, args.count * sizeof(*args.items));
    return 0;
}

/* NULL: out of memory. */
static struct kept *new_start(struct checkpoint *checkpoint, uint64_t *ret_index)
{
    uint32_t index = checkpoint->first_free;
    if (index == 0) {
        if (vec_push(&checkpoint->starts, ((struct kept){0})) != 0)
            return NULL;
        index = (uint32_t)checkpoint->starts.count;
    } else {
        checkpoint->first_free = checkpoint->starts.items[index - 1].next_free;
    }
    checkpoint->start_count++;
    *ret_index = index;
    checkpoint->starts.items[index - 1] = (struct kept){0};
    return &checkpoint->starts.items[index - 1];
}

static uint8_t forget_start(struct checkpoint *checkpoint, uint64_t index)
{
    struct kept *kept = &checkpoint->starts.items[index - 1];
    uint8_t kind = kept->event.kind;
    free(kept->args);
    *kept = (struct kept){.next_free = checkpoint->first_free};
    checkpoint->first_free = (uint32_t)index;
    checkpoint->start_count--;
    return kind;
}

/* Takes a start or an end. Both of one id cancel each other; of two alike, the later one is
 * kept. */
static int take_start(struct checkpoint *checkpoint, const struct trace *trace,
                      const struct event_batch *batch, const struct event *event)
{
    const struct trace_thread *thread = trace_thread_get(trace, event->thread);
    uint32_t process = thread ? thread->process : 0;
    const struct wide_key *key = WIDE_KEY(process, event->id);
    uint64_t index;
    if (wide_map_take(&checkpoint->start_index, key, &index) &&
        forget_start(checkpoint, index) != event->kind)
        return 0;
    checkpoint->given_up |= checkpoint->start_count >= STARTS_MAX;
    struct kept *kept = checkpoint->given_up ? NULL : new_start(checkpoint, &index);
    if (!kept)
        return checkpoint->given_up ? 0 : -ENOMEM;
    kept->process = process;
    int error = keep_args(kept, batch, event);
    return error ? error : wide_map_put(&checkpoint->start_index, key, index);
}

/* ---- Ids used by several threads ------------------------------------------------------------- */

/* An end before its start gives the same pair in both orders. */
static void note_id(struct checkpoint *checkpoint, uint32_t process, const struct event *event)
{
    uint64_t tag = ((uint64_t)process << 32 ^ event->id) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    struct id_place *place = &checkpoint->ids[tag >> (64 - IDS_BITS)];
    if (place->tag != tag)
        *place = (struct id_place){.tag = tag, .last_ns = INT64_MIN, .before_ns = INT64_MIN};
    bool later = event->time_ns > place->last_ns ||
                 (event->time_ns == place->last_ns && event->thread == place->thread);
    bool meets = place->kind == EVENT_END && event->kind == EVENT_START;
    if (later) {
        place->before_ns = place->last_ns;
        place->last_ns = event->time_ns;
        place->thread = event->thread;
        place->kind = place->kind && place->kind != event->kind ? 0 : event->kind;
    } else if (meets && event->time_ns > place->before_ns) {
        place->before_ns = event->time_ns;
        place->kind = 0;
    } else {
        checkpoint->ids_mixed = true;
    }
}

int checkpoint_note_ids(struct checkpoint *checkpoint, const struct trace *trace,
                        const struct event_batch *batch)
{
    const struct trace_thread *thread = trace_thread_get(trace, batch->thread);
    for (uint32_t i = 0; i < batch->count && !checkpoint->ids_mixed; i++) {
        const struct event *event = &batch->events[i];
        if (event->kind != EVENT_START && event->kind != EVENT_END)
            continue;
        if (!checkpoint->ids &&
            !(checkpoint->ids = calloc(1u << IDS_BITS, sizeof(struct id_place))))
            return -ENOMEM;
        note_id(checkpoint, thread ? thread->process : 0, event);
    }
    return 0;
}

bool checkpoint_ids_mixed(const struct checkpoint *checkpoint)
{
    return checkpoint->ids_mixed;
}

/* ---- Open ranges ----------------------------------------------------------------------------- */

/* The pushes of a batch, by level: the last one, which is open unless an event has closed the level
 * since. Levels above the limit share a place. */
struct batch_stack {
    uint32_t at[LEVELS_MAX + 1];      /* 1 + index in the batch; 0: no push of the batch */
    uint32_t numbers[LEVELS_MAX + 1]; /* of the push; 0: unknown */
    uint64_t depth, low;              /* current; the lowest since the batch began */
    uint32_t number, known;           /* of the last push; all ones: known, else 0 */
};

static inline size_t place_of(uint64_t level)
{
    return level < LEVELS_MAX ? (size_t)level : LEVELS_MAX;
}

/* Sets the depth without pushes: pushes on the levels that it rises above are unknown. */
static void set_depth(struct batch_stack *stack, uint64_t depth)
{
    for (uint64_t level = stack->depth; level < depth && level < LEVELS_MAX; level++)
        stack->at[level] = 0;
    stack->depth = depth;
    stack->low = depth < stack->low ? depth : stack->low;
}

static int take_rare(struct checkpoint *checkpoint, const struct trace *trace,
                     struct batch_stack *stack, const struct event_batch *batch, uint32_t index)
{
    const struct event *event = &batch->events[index];
    struct open_thread *thread = &checkpoint->threads.items[event->thread];
    switch (event->kind) {
    case EVENT_LOST:
        thread->flags |= RESUME_LOSSY;
        if (event->level == LOSS_OVERWRITTEN || event->level == LOSS_CORRUPT)
            thread->flags |= RESUME_UNNUMBERED;
        stack->known = thread->flags & RESUME_UNNUMBERED ? 0 : UINT32_MAX;
        checkpoint_told(checkpoint, event->end_ns);
        set_depth(stack, event->depth);
        return 0;
    case EVENT_POP: /* of an unknown push */
        set_depth(stack, event->depth);
        return 0;
    case EVENT_EDGE:
        set_depth(stack, 0);
        return 0;
    case EVENT_START:
    case EVENT_END:
        return take_start(checkpoint, trace, batch, event);
    case EVENT_SPAN:
        checkpoint_told(checkpoint, event->end_ns);
        return 0;
    default:
        checkpoint->given_up |= event_has_lane(event->kind);
        return 0;
    }
}

static int know_thread(struct checkpoint *checkpoint, uint32_t thread)
{
    while (checkpoint->threads.count <= thread)
        if (vec_push(&checkpoint->threads, ((struct open_thread){0})) != 0)
            return -ENOMEM;
    return 0;
}

/* Without unpredictable branches: the order of pushes and pops is random. */
static int scan_batch(struct checkpoint *checkpoint, const struct trace *trace,
                      struct batch_stack *stack, const struct event_batch *batch)
{
    uint64_t depth = stack->depth, low = stack->low;
    uint32_t number = stack->number;
    int error = 0;
    for (uint32_t i = 0; i < batch->count && !error; i++) {
        const struct event *event = &batch->events[i];
        bool pushes = event->kind == EVENT_PUSH;
        bool pops = (event->kind == EVENT_POP) & (event->depth < depth);
        if (__builtin_expect(!(pushes | pops), 0)) {
            if (event->kind == EVENT_MARK || event->kind == EVENT_COUNTER)
                continue;
            stack->depth = depth;
            stack->low = low;
            error = take_rare(checkpoint, trace, stack, batch, i);
            depth = stack->depth;
            low = stack->low;
            continue;
        }
        size_t place = place_of(depth); /* a pop leaves an entry above the top, which is harmless */
        number += pushes;
        number += number == 0;
        stack->at[place] = i + 1;
        stack->numbers[place] = number & stack->known;
        depth = pushes ? depth + 1 : event->depth;
        low = depth < low ? depth : low;
    }
    stack->depth = depth;
    stack->low = low;
    stack->number = number;
    return error;
}

/* The same for batches without rare events, from the counts of the encoder: finds only the ranges
 * open after the batch, which are few, from its last event back. */
static void scan_back(struct batch_stack *stack, const struct event_batch *batch,
                      const struct thread_state *after)
{
    uint64_t depth = after->depth, wanted = after->depth;
    uint32_t number = stack->number + after->pushes;
    number += number < stack->number;
    stack->depth = after->depth;
    stack->low = after->low;
    stack->number = number;
    for (uint64_t level = after->low; level < wanted && level < LEVELS_MAX; level++)
        stack->at[level] = 0;
    for (uint32_t i = batch->count; i-- > 0 && wanted > after->low;) {
        if (batch->events[i].kind == EVENT_PUSH) {
            if (depth == wanted) {
                size_t place = place_of(--wanted);
                stack->at[place] = i + 1;
                stack->numbers[place] = number & stack->known;
            }
            depth--;
            number--;
            number -= number == 0;
        }
        depth += batch->events[i].kind == EVENT_POP;
    }
}

/* Keeps the ranges open after the batch and pushed in it. 0 or -ENOMEM. */
static int keep_pushes(struct checkpoint *checkpoint, struct open_thread *thread,
                       const struct batch_stack *stack, const struct event_batch *batch)
{
    uint64_t end = stack->depth < LEVELS_MAX ? stack->depth : LEVELS_MAX;
    close_from(thread, stack->low);
    for (uint64_t level = stack->low; level < end; level++) {
        uint32_t index = stack->at[level] - 1;
        if (stack->at[level] == 0)
            continue;
        struct kept kept = {.level = level, .number = stack->numbers[level]};
        checkpoint->given_up |= batch->events[index].arg_count > ARGS_MAX;
        if (keep_args(&kept, batch, &batch->events[index]) != 0)
            return -ENOMEM;
        if (vec_push(&thread->pushes, kept) != 0) {
            free(kept.args);
            return -ENOMEM;
        }
    }
    return 0;
}

int checkpoint_add(struct checkpoint *checkpoint, const struct trace *trace,
                   const struct event_batch *batch, const struct thread_state *after)
{
    struct batch_stack stack;
    if (batch->count == 0 || checkpoint->given_up)
        return 0;
    if (know_thread(checkpoint, batch->thread) != 0)
        return -ENOMEM;
    struct open_thread *thread = &checkpoint->threads.items[batch->thread];
    stack.depth = stack.low = thread->depth;
    stack.number = thread->number;
    stack.known = thread->flags & RESUME_UNNUMBERED ? 0 : UINT32_MAX;
    int error = 0;
    if (after && !after->rare)
        scan_back(&stack, batch, after);
    else
        error = scan_batch(checkpoint, trace, &stack, batch);
    if (!error)
        error = keep_pushes(checkpoint, thread, &stack, batch);
    checkpoint->deep_count -= thread->depth > LEVELS_MAX;
    checkpoint->deep_count += stack.depth > LEVELS_MAX;
    thread->depth = stack.depth;
    thread->number = stack.number;
    thread->any = true;
    thread->last_ns = batch->events[batch->count - 1].time_ns;
    if (checkpoint->given_up)
        free_starts(checkpoint);
    return error;
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct writing {
    struct checkpoint *checkpoint;
    const struct thread_state *threads;
    struct event_encoder *encoder;
};

static int put_batch(const struct writing *writing, uint32_t thread)
{
    struct checkpoint *checkpoint = writing->checkpoint;
    struct thread_state state = {.next_index = writing->threads[thread].next_index};
    const struct event_batch batch = {.thread = thread,
                                      .count = (uint32_t)checkpoint->batch.count,
                                      .events = checkpoint->batch.items,
                                      .args = checkpoint->args.items};
    uint32_t arg_count = (uint32_t)checkpoint->args.count;
    int error = batch.count ? event_encoder_add(writing->encoder, &batch, arg_count, &state) : 0;
    checkpoint->batch.count = checkpoint->args.count = 0;
    return error;
}

static int put_kept(const struct writing *writing, const struct kept *kept)
{
    struct checkpoint *checkpoint = writing->checkpoint;
    struct event event = kept->event;
    event.args = (uint32_t)checkpoint->args.count;
    if (vec_push(&checkpoint->batch, event) != 0 ||
        vec_reserve(&checkpoint->args, event.arg_count) != 0)
        return -ENOMEM;
    if (event.arg_count)
        memcpy(checkpoint->args.items + event.args, kept->args,
               event.arg_count * sizeof(*kept->args));
    checkpoint->args.count += event.arg_count;
    bool full = checkpoint->batch.count >= BATCH_EVENTS ||
                checkpoint->args.count + ARGS_MAX > STORE_BATCH_ARGS_MAX;
    return full ? put_batch(writing, event.thread) : 0;
}

static struct kept resume_at(uint32_t thread, int64_t time_ns, uint64_t depth, uint32_t number)
{
    return (struct kept){.event = {.time_ns = time_ns,
                                   .thread = thread,
                                   .kind = EVENT_RESUME,
                                   .value_kind = VALUE_UINT64,
                                   .value.uint64 = number,
                                   .depth = depth}};
}

static int put_thread(const struct writing *writing, uint32_t ordinal)
{
    const struct open_thread *thread = &writing->checkpoint->threads.items[ordinal];
    int error = 0;
    for (size_t i = 0; i < thread->pushes.count && !error; i++) {
        const struct kept *kept = &thread->pushes.items[i];
        struct kept resume = resume_at(ordinal, kept->event.time_ns, kept->level, kept->number - 1);
        resume.event.level = kept->number ? 0 : RESUME_UNNUMBERED;
        error = put_kept(writing, &resume);
        if (!error)
            error = put_kept(writing, kept);
    }
    struct kept resume = resume_at(ordinal, thread->last_ns, thread->depth, thread->number);
    resume.event.level = thread->flags;
    if (!error)
        error = put_kept(writing, &resume);
    return error ? error : put_batch(writing, ordinal);
}

int checkpoint_encode(struct checkpoint *checkpoint, const struct thread_state *threads,
                      struct event_encoder *encoder)
{
    const struct writing writing = {checkpoint, threads, encoder};
    int error = 0;
    if (checkpoint->given_up || checkpoint->deep_count)
        return 0;
    for (size_t i = 0; i < checkpoint->starts.count && !error; i++) {
        const struct kept *kept = &checkpoint->starts.items[i];
        if (kept->event.kind)
            error = put_kept(&writing, kept);
        if (kept->event.kind && !error)
            error = put_batch(&writing, kept->event.thread);
    }
    for (uint32_t i = 0; i < checkpoint->threads.count && !error; i++)
        if (checkpoint->threads.items[i].any)
            error = put_thread(&writing, i);
    return error ? error : 1;
}
