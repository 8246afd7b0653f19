/* SPDX-License-Identifier: MIT */
/* Waiting items are in runs, each in order of time; a heap holds the first of each run. As long as
 * the next item of a run is before all other runs, the heap stays unchanged.
 *
 * Events: the run of a thread continues with its next batch. An event out of order within a thread
 * begins another run, so that the output equals a stable sort. Samples: a few runs are open at
 * once; each sample is appended to one with an end that is not later. Thread-safety: none. */
#include "merge.h"

#include "pass_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Runs ------------------------------------------------------------------------------------ */

struct run {
    int64_t told_ns;  /* of its first */
    uint64_t arrival; /* of its first, too: equal times keep the order of arrival */

    union {
        struct block *block;
        uint32_t slot;
    };
};

typedef VEC(struct run) run_heap;

/* Branchless: the order is unpredictable. */
static inline bool run_is_before(const struct run *a, const struct run *b)
{
    return (a->told_ns < b->told_ns) | ((a->told_ns == b->told_ns) & (a->arrival < b->arrival));
}

/* Puts `run` in place of the first. */
static inline void heap_replace(run_heap *heap, struct run run)
{
    struct run *runs = heap->items;
    size_t at = 0, count = heap->count;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && run_is_before(&runs[child + 1], &runs[child]);
        if (run_is_before(&run, &runs[child]))
            break;
        runs[at] = runs[child];
        at = child;
    }
    runs[at] = run;
}

static void heap_remove_first(run_heap *heap)
{
    struct run last = heap->items[--heap->count];
    if (heap->count)
        heap_replace(heap, last);
}

/* The heap has room for it. */
static void heap_add(run_heap *heap, struct run run)
{
    struct run *runs = heap->items;
    size_t at = heap->count++;
    while (at && run_is_before(&run, &runs[(at - 1) / 2])) {
        runs[at] = runs[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    runs[at] = run;
}

/* ---- Progress -------------------------------------------------------------------------------- */

struct progress {
    int64_t settled_ns;
    int64_t ready_ns; /* until then, inclusive, all was read */
    int64_t last_ns;  /* the latest handed out */
    uint64_t late_count;
    bool live, ended;
};

static struct progress progress_begin(bool live)
{
    return (struct progress){
        .settled_ns = INT64_MIN, .ready_ns = INT64_MIN, .last_ns = INT64_MIN, .live = live};
}

static void progress_settle(struct progress *progress, int64_t settled_ns)
{
    if (settled_ns > progress->settled_ns)
        progress->settled_ns = settled_ns;
}

/* The source was read as far as possible for now. */
static void progress_read(struct progress *progress)
{
    int64_t settled_ns = progress->settled_ns;
    if (settled_ns == INT64_MAX || (progress->ended && !progress->live))
        progress->ready_ns = INT64_MAX;
    else if (settled_ns != INT64_MIN)
        progress->ready_ns = settled_ns - 1;
}

static inline void progress_hand_out(struct progress *progress, int64_t told_ns)
{
    progress->late_count += told_ns < progress->last_ns;
    if (told_ns > progress->last_ns)
        progress->last_ns = told_ns;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Large batches are split, so that handed out events are freed soon. */
enum { BLOCK_EVENTS = 128 };

struct block {
    struct block *next; /* of its run */
    uint64_t arrival;
    struct arg *args; /* after the events */
    uint32_t thread;
    uint32_t at, count, arg_count; /* [at, count) wait */
    struct event events[];
};

/* Where the next batch of a thread is appended. */
struct merge_tail {
    struct block *block; /* NULL: the thread has no waiting events */
    int64_t told_ns;     /* of its last event */
};

struct merge {
    struct merge_source source;
    struct progress progress;
    run_heap runs;
    VEC(struct merge_tail) tails; /* by thread */
    struct block *spent;          /* the caller still reads its last event */
    uint64_t arrivals;
    size_t waiting; /* key-values too */
};

struct merge *merge_create(const struct merge_source *source)
{
    struct merge *merge = calloc(1, sizeof(*merge));
    if (!merge)
        return NULL;
    merge->source = *source;
    merge->progress = progress_begin(source->live);
    return merge;
}

void merge_destroy(struct merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->runs.count; i++) {
        struct block *next, *block = merge->runs.items[i].block;
        for (; block; block = next) {
            next = block->next;
            free(block);
        }
    }
    free(merge->spent);
    vec_free(&merge->runs);
    vec_free(&merge->tails);
    free(merge);
}

void merge_settle(struct merge *merge, int64_t settled_ns)
{
    progress_settle(&merge->progress, settled_ns);
}

uint64_t merge_late_count(const struct merge *merge)
{
    return merge->progress.late_count;
}

/* Number of events, from the first on, that are in order and fit a block. */
static uint32_t stretch_length(const struct event *events, uint32_t count, int64_t *ret_told_ns)
{
    int64_t told_ns = event_order_ns(events);
    uint32_t end = 1;
    for (; end < count; end++) {
        int64_t next_ns = event_order_ns(&events[end]);
        if (next_ns < told_ns || end >= BLOCK_EVENTS)
            break;
        told_ns = next_ns;
    }
    *ret_told_ns = told_ns;
    return end;
}

/* A block with copies of the events and their key-values. NULL: out of memory. */
static struct block *make_block(const struct event_batch *batch, uint32_t at, uint32_t count)
{
    const struct event *events = batch->events + at;
    uint32_t arg_count = 0;
    for (uint32_t i = 0; i < count; i++)
        arg_count += events[i].arg_count;
    size_t events_size = count * sizeof(*events);
    struct block *block = malloc(sizeof(*block) + events_size + arg_count * sizeof(*block->args));
    if (!block)
        return NULL;
    *block = (struct block){.thread = batch->thread, .count = count, .arg_count = arg_count};
    memcpy(block->events, events, events_size);
    block->args = (struct arg *)(void *)(block->events + count);
    for (uint32_t i = 0, next = 0; arg_count && i < count; i++) {
        const struct args args = event_args(batch, &events[i]);
        block->events[i].args = next;
        if (args.count)
            memcpy(block->args + next, args.items, args.count * sizeof(*args.items));
        next += args.count;
    }
    return block;
}

/* Adds a sorted block; `told_ns`: time of its last event. 0 or -ENOMEM. */
static int add_block(struct merge *merge, struct block *block, int64_t told_ns)
{
    if (!block || vec_reserve(&merge->runs, 1) != 0) {
        free(block);
        return -ENOMEM;
    }
    block->arrival = merge->arrivals++;
    struct merge_tail *tail = &merge->tails.items[block->thread];
    int64_t first_ns = event_order_ns(block->events);
    if (tail->block && tail->told_ns <= first_ns)
        tail->block->next = block;
    else
        heap_add(&merge->runs,
                 (struct run){.told_ns = first_ns, .arrival = block->arrival, .block = block});
    *tail = (struct merge_tail){block, told_ns};
    merge->waiting += block->count + block->arg_count;
    return 0;
}

/* 0 or -ENOMEM. */
static int take_batch(struct merge *merge, const struct event_batch *batch)
{
    size_t threads = merge->tails.count, need = (size_t)batch->thread + 1;
    if (need > threads) {
        if (vec_reserve(&merge->tails, need - threads) != 0)
            return -ENOMEM;
        memset(merge->tails.items + threads, 0, (need - threads) * sizeof(*merge->tails.items));
        merge->tails.count = need;
    }
    for (uint32_t at = 0, count; at < batch->count; at += count) {
        int64_t told_ns;
        count = stretch_length(batch->events + at, batch->count - at, &told_ns);
        if (add_block(merge, make_block(batch, at, count), told_ns) != 0)
            return -ENOMEM;
    }
    progress_settle(&merge->progress, batch->settled_ns ? batch->settled_ns : INT64_MIN);
    return 0;
}

/* Reads a batch; of a live source all available ones, since its settled time refers to all of them.
 * 0 or -errno. */
static int read_events(struct merge *merge)
{
    struct event_batch batch;
    int status;
    do {
        status = merge->source.next(merge->source.context, &batch);
        if (status > 0 && take_batch(merge, &batch) != 0)
            status = -ENOMEM;
    } while (status > 0 && merge->source.live && merge->waiting < MERGE_EVENTS_MAX);
    merge->progress.ended = status == 0;
    progress_read(&merge->progress);
    return status < 0 ? status : 0;
}

static inline bool event_is_ready(const struct merge *merge)
{
    return merge->runs.count && (merge->runs.items[0].told_ns <= merge->progress.ready_ns ||
                                 merge->waiting >= MERGE_EVENTS_MAX);
}

/* 1, 0, -errno. */
static int read_until_ready(struct merge *merge)
{
    bool ended = merge->progress.ended && !merge->source.live;
    while (!ended && !event_is_ready(merge)) {
        int error = read_events(merge);
        if (error)
            return error;
        ended = merge->progress.ended;
    }
    return event_is_ready(merge);
}

int merge_peek(struct merge *merge, int64_t *ret_told_ns)
{
    int status = event_is_ready(merge) ? 1 : read_until_ready(merge);
    if (status == 1)
        *ret_told_ns = merge->runs.items[0].told_ns;
    return status;
}

/* Removes the block of the first run, which is empty. */
static void leave_block(struct merge *merge, struct block *block)
{
    struct merge_tail *tail = &merge->tails.items[block->thread];
    struct block *next = block->next;
    merge->spent = block;
    if (tail->block == block)
        tail->block = NULL;
    if (next)
        heap_replace(&merge->runs, (struct run){.told_ns = event_order_ns(next->events),
                                                .arrival = next->arrival,
                                                .block = next});
    else
        heap_remove_first(&merge->runs);
}

int merge_next(struct merge *merge, struct event_batch *ret_batch)
{
    int64_t told_ns;
    int status = merge_peek(merge, &told_ns);
    if (status != 1)
        return status;
    free(merge->spent);
    merge->spent = NULL;
    struct block *block = merge->runs.items[0].block;
    const struct event *event = &block->events[block->at];
    *ret_batch = (struct event_batch){.thread = block->thread,
                                      .count = 1,
                                      .events = event,
                                      .settled_ns = told_ns,
                                      .args = block->args};
    progress_hand_out(&merge->progress, told_ns);
    merge->waiting -= 1 + (size_t)event->arg_count;
    block->at++;
    if (block->at == block->count) {
        leave_block(merge, block);
        return 1;
    }
    event++;
    __builtin_prefetch(event + 1); /* helps when there are many threads */
    heap_replace(
        &merge->runs,
        (struct run){.told_ns = event_order_ns(event), .arrival = block->arrival, .block = block});
    return 1;
}

/* ---- Samples --------------------------------------------------------------------------------- */

enum { OPEN_RUNS = 8 };

static const uint32_t NO_SLOT = UINT32_MAX;

struct sample_slot {
    struct sample sample;
    uint64_t arrival;
    uint32_t next; /* of its run, or of the free ones */
};

struct sample_tail {
    uint32_t slot; /* NO_SLOT: an empty run */
    int64_t told_ns;
};

struct sample_merge {
    struct sample_merge_source source;
    struct progress progress;
    run_heap runs;
    VEC(struct sample_slot) slots;
    struct value_pool values;
    struct sample spent; /* handed out last */
    uint32_t free_slot;
    struct sample_tail tails[OPEN_RUNS];
    unsigned next_tail; /* the next to be reused for another run */
    uint64_t arrivals;
    size_t waiting;
};

struct sample_merge *sample_merge_create(const struct sample_merge_source *source)
{
    struct sample_merge *merge = calloc(1, sizeof(*merge));
    if (!merge)
        return NULL;
    merge->source = *source;
    merge->progress = progress_begin(source->live);
    merge->free_slot = NO_SLOT;
    for (unsigned i = 0; i < OPEN_RUNS; i++)
        merge->tails[i].slot = NO_SLOT;
    return merge;
}

void sample_merge_destroy(struct sample_merge *merge)
{
    if (!merge)
        return;
    vec_free(&merge->runs);
    vec_free(&merge->slots);
    value_pool_free(&merge->values);
    free(merge);
}

void sample_merge_settle(struct sample_merge *merge, int64_t settled_ns)
{
    progress_settle(&merge->progress, settled_ns);
}

uint64_t sample_merge_late_count(const struct sample_merge *merge)
{
    return merge->progress.late_count;
}

/* There is room for it. */
static uint32_t take_slot(struct sample_merge *merge)
{
    uint32_t slot = merge->free_slot;
    if (slot == NO_SLOT)
        return (uint32_t)merge->slots.count++;
    merge->free_slot = merge->slots.items[slot].next;
    return slot;
}

static int add_sample(struct sample_merge *merge, const struct sample *sample)
{
    int64_t told_ns = sample_order_ns(sample);
    struct sample kept = *sample;
    if (value_pool_keep(&merge->values, &kept) != 0)
        return -ENOMEM;
    uint32_t slot = take_slot(merge);
    uint64_t arrival = merge->arrivals++;
    merge->slots.items[slot] = (struct sample_slot){kept, arrival, NO_SLOT};
    merge->waiting++;
    struct sample_tail *tail = merge->tails, *end = tail + OPEN_RUNS;
    while (tail < end && (tail->slot == NO_SLOT || tail->told_ns > told_ns))
        tail++;
    if (tail < end) {
        merge->slots.items[tail->slot].next = slot;
    } else {
        tail = &merge->tails[merge->next_tail++ % OPEN_RUNS];
        heap_add(&merge->runs, (struct run){.told_ns = told_ns, .arrival = arrival, .slot = slot});
    }
    *tail = (struct sample_tail){slot, told_ns};
    return 0;
}

/* 0 or -errno. */
static int read_samples(struct sample_merge *merge)
{
    struct sample_batch batch;
    int status;
    do {
        status = merge->source.next(merge->source.context, &batch);
        if (status <= 0)
            break;
        if (vec_reserve(&merge->slots, batch.count) != 0 ||
            vec_reserve(&merge->runs, batch.count) != 0)
            return -ENOMEM;
        for (uint32_t i = 0; i < batch.count; i++)
            if (add_sample(merge, &batch.samples[i]) != 0)
                return -ENOMEM;
        progress_settle(&merge->progress, batch.settled_ns);
    } while (merge->source.live && merge->waiting < MERGE_SAMPLES_MAX);
    merge->progress.ended = status == 0;
    progress_read(&merge->progress);
    return status < 0 ? status : 0;
}

static inline bool sample_is_ready(const struct sample_merge *merge)
{
    return merge->runs.count && (merge->runs.items[0].told_ns <= merge->progress.ready_ns ||
                                 merge->waiting >= MERGE_SAMPLES_MAX);
}

int sample_merge_peek(struct sample_merge *merge, int64_t *ret_told_ns)
{
    bool ended = merge->progress.ended && !merge->source.live;
    while (!ended && !sample_is_ready(merge)) {
        int error = read_samples(merge);
        if (error)
            return error;
        ended = merge->progress.ended;
    }
    if (!sample_is_ready(merge))
        return 0;
    *ret_told_ns = merge->runs.items[0].told_ns;
    return 1;
}

static void close_run(struct sample_merge *merge, uint32_t last_slot)
{
    for (unsigned i = 0; i < OPEN_RUNS; i++)
        if (merge->tails[i].slot == last_slot)
            merge->tails[i].slot = NO_SLOT;
    heap_remove_first(&merge->runs);
}

static void go_on_with(struct sample_merge *merge, uint32_t slot)
{
    const struct sample_slot *slots = merge->slots.items;
    struct run run = {.told_ns = sample_order_ns(&slots[slot].sample),
                      .arrival = slots[slot].arrival,
                      .slot = slot};
    if (slots[slot].next != NO_SLOT)
        __builtin_prefetch(&slots[slots[slot].next]);
    heap_replace(&merge->runs, run);
}

int sample_merge_next(struct sample_merge *merge, struct sample *ret_sample)
{
    int64_t told_ns;
    int status = sample_merge_peek(merge, &told_ns);
    if (status != 1)
        return status;
    uint32_t slot = merge->runs.items[0].slot;
    struct sample_slot *item = &merge->slots.items[slot];
    value_pool_drop(&merge->values, &merge->spent);
    *ret_sample = merge->spent = item->sample;
    progress_hand_out(&merge->progress, told_ns);
    uint32_t next = item->next;
    if (next == NO_SLOT)
        close_run(merge, slot);
    else
        go_on_with(merge, next);
    item->next = merge->free_slot;
    merge->free_slot = slot;
    merge->waiting--;
    return 1;
}
