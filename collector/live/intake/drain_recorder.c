/* SPDX-License-Identifier: MIT */
/* Reads a flight recorder while its program may overwrite blocks at any time: copies all blocks as
 * fast as possible, at the end or for a snapshot, and decodes them afterwards.
 *
 * The newest are copied first, because the oldest are overwritten next: a program that writes
 * faster than this copies costs only the oldest blocks. Blocks claimed after the instant of the
 * capture are skipped, so no thread misses a block in the middle. A copy is valid only if the block
 * was the same before and after. Work functions run under the guard: see guard.h. Thread-safety:
 * one thread per object. */
#include "drain_recorder.h"

#include "annot_barrier.h"
#include "clock_map.h"
#include "clock_now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TAKES_MAX = 8 };

/* ---- Copies ---------------------------------------------------------------------------------- */

static uint32_t *state_word(const struct segment *segment, uint32_t index)
{
    char *base = (char *)(uintptr_t)segment->range.address;
    return (uint32_t *)(base + segment->info.block_states_offset) + index;
}

static struct annot_block *block_at(const struct segment *segment, uint32_t index)
{
    char *base = (char *)(uintptr_t)segment->range.address;
    return (struct annot_block *)(base + segment->info.blocks_offset +
                                  (uint64_t)index * ANNOT_BLOCK_SIZE);
}

static bool is_readable(uint32_t state)
{
    uint32_t is = state & ANNOT_BLOCK_STATE_MASK;
    return is == ANNOT_BLOCK_CLAIMED || is == ANNOT_BLOCK_RELEASED || is == ANNOT_BLOCK_TAKEN;
}

/* True if all reads since the state was loaded belong to one claim. */
static bool is_unchanged(const struct segment *segment, const struct capture_place *place)
{
    annot_fence_acquire(); /* partner: the fence in overwrite_claim, before the block is filled */
    uint32_t now = annot_load_relaxed(state_word(segment, place->index));
    return is_readable(now) &&
           (now & ANNOT_BLOCK_TAG_MASK) == (place->state & ANNOT_BLOCK_TAG_MASK);
}

/* The program may write concurrently; then the copy is discarded. Hence ThreadSanitizer is off, and
 * loads are of whole words. */
__attribute__((no_sanitize("thread"))) static void copy_words(void *to, const void *from,
                                                              size_t size)
{
    uint64_t *target = to;
    const uint64_t *source = from;
    for (size_t i = 0; i < size / sizeof(*target); i++)
        target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

__attribute__((no_sanitize("thread"))) static uint64_t load_claim_time(const struct annot_block *at)
{
    return __atomic_load_n(&at->claim_time, __ATOMIC_RELAXED);
}

struct work {
    const struct segment *segment;
    struct capture *capture;
    uint64_t until;
    uint32_t high; /* blocks from here on were never claimed */
};

static int list_work(void *context)
{
    const struct work *work = context;
    const struct segment *segment = work->segment;
    uint32_t count = 0;
    for (uint32_t i = 0; i < work->high; i++) {
        /* Partner: the thread's release stores of CLAIMED and RELEASED. */
        struct capture_place place = {.index = i,
                                      .state = annot_load_acquire(state_word(segment, i))};
        if (!is_readable(place.state))
            continue;
        place.claim_time = load_claim_time(block_at(segment, i));
        if (place.claim_time <= work->until && is_unchanged(segment, &place))
            work->capture->places.items[count++] = place;
    }
    work->capture->places.count = count;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct capture_place *left = a, *right = b;
    if (left->claim_time != right->claim_time)
        return left->claim_time < right->claim_time ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static bool copy_block(const struct segment *segment, struct capture_place *place,
                       struct segment_block_copy *copy)
{
    const struct annot_block *block = block_at(segment, place->index);
    /* Partner: the thread's release store of committed, after the record. */
    uint32_t end = annot_load_acquire(&block->committed);
    if (end > ANNOT_BLOCK_DATA_SIZE)
        end = ANNOT_BLOCK_DATA_SIZE; /* garbage, or from the next claim */
    end -= end % ANNOT_GRANULE;
    copy_words(&copy->header, block, sizeof(*block));
    copy_words(copy->records, (const uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE, end);
    place->end = end;
    return is_unchanged(segment, place);
}

/* Copies the newest first; skips blocks overwritten meanwhile. */
static int copy_work(void *context)
{
    const struct work *work = context;
    struct capture *capture = work->capture;
    for (size_t i = capture->places.count; i-- > 0;)
        if (!copy_block(work->segment, &capture->places.items[i], &capture->copies[i]))
            capture->places.items[i].state = ANNOT_BLOCK_FREE;
    return 0;
}

void capture_free(struct capture *capture)
{
    if (capture->copies)
        munmap(capture->copies, capture->size);
    vec_free(&capture->places);
    *capture = (struct capture){0};
}

/* Allocates populated memory: page faults while copying would cost the oldest blocks. */
static int reserve(struct capture *capture, uint32_t *count, uint32_t count_max)
{
    capture_free(capture);
    if (*count > count_max)
        *count = count_max;
    size_t size = *count * sizeof(struct segment_block_copy);
    if (vec_reserve(&capture->places, *count) != 0)
        return -ENOMEM;
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    capture->copies = memory;
    capture->size = size;
    return 0;
}

static uint64_t now_of(const struct segment *segment)
{
    return segment->info.clock == ANNOT_CLOCK_MONOTONIC ? (uint64_t)clock_now_ns()
                                                        : clock_now_raw();
}

/* True if more than half of the blocks were overwritten before they were copied: this process did
 * not run in between. */
static bool is_poor(const struct capture *capture)
{
    size_t missed = 0;
    for (size_t i = 0; i < capture->places.count; i++)
        missed += capture->places.items[i].state == ANNOT_BLOCK_FREE;
    return missed > capture->places.count / 2;
}

static int take_once(const struct segment *segment, bool everything, struct capture *capture)
{
    struct work work = {.segment = segment, .capture = capture};
    struct annot_shared shared;
    int error = segment_read_shared(segment, &shared);
    while (error == 0 && work.high < shared.high_water && work.high < segment->info.block_count) {
        /* The second try takes all blocks: more were claimed for the first time meanwhile. */
        work.high = work.high == 0 ? shared.high_water : segment->info.block_count;
        error = reserve(capture, &work.high, segment->info.block_count);
        work.until = everything ? UINT64_MAX : now_of(segment);
        if (error == 0)
            error = segment_read_shared(segment, &shared);
    }
    if (error != 0 || work.high == 0)
        return error;
    error = guard_call(&segment->range, list_work, &work);
    if (error != 0)
        return error;
    qsort(capture->places.items, capture->places.count, sizeof(*capture->places.items), by_time);
    return guard_call(&segment->range, copy_work, &work);
}

int capture_take(const struct segment *segment, bool everything, struct capture *capture)
{
    *capture = (struct capture){0};
    int error = take_once(segment, everything, capture);
    for (int i = 0; i < TAKES_MAX && error == 0 && is_poor(capture); i++)
        error = take_once(segment, everything, capture);
    return error;
}

/* ---- Their records --------------------------------------------------------------------------- */

/* The offset to read a block from: 0, the end of the part passed on earlier, or the block's end. */
static uint32_t begin_of(const struct drain_thread *thread, uint32_t sequence, uint32_t end)
{
    if (sequence >= thread->decode.headers)
        return 0;
    bool is_last = sequence + UINT64_C(1) == thread->decode.headers;
    if (!is_last)
        return end;
    return thread->last.sequence == sequence ? thread->last.end_offset : 0;
}

static int read_copy(struct drain *drain, const struct capture_place *place,
                     const struct segment_block_copy *copy)
{
    const struct annot_block *header = &copy->header;
    struct drain_thread *thread;
    int error = drain_thread(drain, header->thread_serial, &thread);
    if (error != 0)
        return error;
    uint32_t begin = begin_of(thread, header->sequence, place->end);
    if (begin >= place->end && header->sequence < thread->decode.headers)
        return 0;
    drain->cut = drain->room && !drain->room(drain->sink_context);
    if (drain->cut)
        return 0;
    error = drain_enter_block(drain, header, &thread);
    if (error != 0)
        return error;
    thread->record = header->thread_index;
    struct batch_source source = {header->sequence, begin, place->end};
    error = decode_block(&drain->decoder, &thread->decode, copy, &source, &drain->decoded);
    if (error == 0)
        error = drain_hand_on_block(drain, thread, &source);
    return error != 0 ? error : (int)(place->end - begin);
}

/* Enters all threads before any block is read: they are the origins of spans in earlier blocks. */
static int enter_threads(struct drain *drain, const struct capture *capture)
{
    struct drain_thread *thread;
    int error = 0;
    for (size_t i = 0; i < capture->places.count && error == 0; i++)
        if (capture->places.items[i].state != ANNOT_BLOCK_FREE)
            error = drain_enter_block(drain, &capture->copies[i].header, &thread);
    return error;
}

int64_t drain_recorder(struct drain *drain, bool everything)
{
    struct capture capture;
    int64_t total = 0;
    int bytes = capture_take(drain->segment, everything, &capture);
    if (bytes >= 0)
        bytes = enter_threads(drain, &capture);
    for (size_t i = 0; i < capture.places.count && bytes >= 0 && !drain->cut; i++) {
        if (capture.places.items[i].state == ANNOT_BLOCK_FREE)
            continue;
        bytes = read_copy(drain, &capture.places.items[i], &capture.copies[i]);
        total += bytes;
    }
    capture_free(&capture);
    return bytes < 0 ? bytes : total;
}
