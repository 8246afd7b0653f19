/* SPDX-License-Identifier: MIT */
/* The order of blocks within a thread, and the bookkeeping of what was read. Names and losses of
 * threads are in drain_publish.c. */
#include "drain.h"

#include "clock_now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 1 << 20 };

struct drain *drain_create(struct segment *segment, struct trace *trace, struct clock_map *clock,
                           uint32_t process)
{
    struct drain *drain = calloc(1, sizeof(*drain));
    if (!drain || names_init(&drain->decoder.names, segment, trace) != 0 ||
        vec_reserve(&drain->decoded.events, DECODE_EVENTS_MAX) != 0) {
        drain_destroy(drain);
        return NULL;
    }
    drain->segment = segment;
    drain->trace = trace;
    drain->process = process;
    drain->threads_max = THREADS_MAX;
    drain->decoder.clock = clock;
    drain->decoder.process = process;
    drain->decoder.monotonic = segment->info.clock == ANNOT_CLOCK_MONOTONIC;
    drain->decoder.overwrites = segment->info.policy == ANNOT_POLICY_OVERWRITE_OLDEST;
    drain->decoder.created_time = segment->info.created_time;
    return drain;
}

void drain_destroy(struct drain *drain)
{
    if (!drain)
        return;
    names_fini(&drain->decoder.names);
    schemas_free(&drain->decoder.schemas);
    vec_free(&drain->decoded.events);
    vec_free(&drain->decoded.args);
    vec_free(&drain->spans);
    vec_free(&drain->kept);
    for (size_t i = 0; i < drain->threads.count; i++)
        drain_forget_waiting(&drain->threads.items[i]);
    decode_queues_free(&drain->decoder.queues);
    drain_forget_sums(drain);
    map64_free(&drain->origins);
    vec_free(&drain->progress);
    vec_free(&drain->threads);
    vec_free(&drain->blocks);
    vec_free(&drain->fresh);
    vec_free(&drain->done);
    vec_free(&drain->sealed);
    map64_free(&drain->thread_index);
    free(drain);
}

int drain_thread(struct drain *drain, uint32_t serial, struct drain_thread **ret_thread)
{
    uint64_t key = serial + UINT64_C(1);
    uint64_t *index = map64_find(&drain->thread_index, key);
    if (index) {
        *ret_thread = &drain->threads.items[*index];
        return 0;
    }
    if (drain->threads.count >= drain->threads_max)
        return -EFAULT;
    if (vec_push(&drain->threads, ((struct drain_thread){.serial = serial})) != 0)
        return -ENOMEM;
    if (map64_put(&drain->thread_index, key, drain->threads.count - 1) != 0) {
        drain->threads.count--;
        return -ENOMEM;
    }
    *ret_thread = &drain->threads.items[drain->threads.count - 1];
    return 0;
}

int drain_resume_thread(struct drain *drain, uint32_t serial, const struct drain_resumed *resumed)
{
    struct drain_thread *thread;
    int error = drain_thread(drain, serial, &thread);
    if (error != 0)
        return error;
    thread->decode = resumed->thread;
    thread->entered = true;
    for (int kind = 0; kind < DRAIN_KINDS; kind++) {
        uint32_t next = resumed->seen[kind] ? resumed->last[kind].sequence : 0;
        thread->next = kind == 0 || next < thread->next ? next : thread->next;
        thread->next_unknown |= resumed->seen[kind];
        if (resumed->seen[kind])
            thread->known[kind] = resumed->last[kind];
    }
    if (!resumed->seen[DRAIN_PLAIN])
        return 0;
    thread->decode.headers = resumed->last[DRAIN_PLAIN].sequence + UINT64_C(1);
    thread->last = resumed->last[DRAIN_PLAIN];
    return 0;
}

/* Up to where a block's events of a kind are in the recording that is continued. */
static uint32_t known_until(const struct drain_thread *thread, int kind, uint32_t sequence)
{
    const struct batch_source *known = &thread->known[kind];
    if (known->end_offset == 0 && known->sequence == 0)
        return 0;
    return known->sequence > sequence    ? ANNOT_BLOCK_DATA_SIZE
           : known->sequence == sequence ? known->end_offset
                                         : 0;
}

int drain_enter_thread(struct drain *drain, struct drain_thread *thread,
                       const struct drain_who *who)
{
    int64_t ordinal = drain->lives
                          ? lives_claim_thread(drain->lives, drain->process, who->tid, who->seen_ns)
                          : trace_thread_add(drain->trace, drain->process);
    const char *comm = (const char *)who->comm;
    int64_t text = trace_string_add(drain->trace, comm, strnlen(comm, 16));
    if (ordinal < 0 || text < 0)
        return -ENOMEM;
    thread->decode.ordinal = (uint32_t)ordinal;
    thread->entered = true;
    struct trace_thread *entry = trace_thread(drain->trace, (uint32_t)ordinal);
    entry->serial = drain->serial_base + thread->serial + 1;
    entry->tid = who->tid;
    entry->comm = (uint32_t)text;
    entry->revision++;
    return 0;
}

int drain_enter_block(struct drain *drain, const struct annot_block *header,
                      struct drain_thread **ret_thread)
{
    int64_t claimed_ns = header->claim_ns < INT64_MAX ? (int64_t)header->claim_ns : clock_now_ns();
    int error = drain_thread(drain, header->thread_serial, ret_thread);
    if (error == 0 && !(*ret_thread)->entered)
        error = drain_enter_thread(drain, *ret_thread,
                                   &(struct drain_who){header->tid, claimed_ns, header->comm});
    return error != 0 ? error : drain_name_thread(drain, *ret_thread, header->thread_name);
}

static int by_thread_and_sequence(const void *a, const void *b)
{
    const struct segment_block *left = a, *right = b;
    if (left->serial != right->serial)
        return left->serial < right->serial ? -1 : 1;
    return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

/* The progress of a block; a block that was given to somebody else begins anew. */
static struct drain_progress *progress_of(struct drain *drain, const struct segment_block *block)
{
    while (drain->progress.count <= block->index)
        if (vec_push(&drain->progress, (struct drain_progress){0}) != 0)
            return NULL;
    struct drain_progress *progress = &drain->progress.items[block->index];
    if (!progress->seen || progress->serial != block->serial ||
        progress->sequence != block->sequence)
        *progress = (struct drain_progress){
            .serial = block->serial, .sequence = block->sequence, .seen = true};
    return progress;
}

int drain_hand_on(struct drain *drain, struct drain_thread *thread,
                  const struct batch_source *source, size_t count)
{
    thread->last = *source; /* also of what was left out */
    if (count == 0)
        return 0;
    struct event_batch batch = {.thread = thread->decode.ordinal,
                                .count = (uint32_t)count,
                                .events = drain->decoded.events.items,
                                .source = *source,
                                .args = drain->decoded.args.items};
    return drain->sink(drain->sink_context, &batch);
}

/* One EVENT_LOST for a block that is missing or cannot be believed. */
static int lose_block(struct drain *drain, struct drain_thread *thread, uint32_t sequence)
{
    if (!thread->entered) {
        drain->corrupt++;
        return 0;
    }
    struct batch_source source = {sequence, 0, 0};
    int error = drain_hand_on_waiting(drain, thread, INT64_MAX);
    if (error != 0)
        return error;
    drain->decoded.events.items[0] = decode_lost(&drain->decoder, &thread->decode, LOSS_CORRUPT, 1);
    return drain_hand_on(drain, thread, &source, 1);
}

/* Decodes a part of the block at hand, up to where what the recording has of it changes. */
static int read_part(struct drain *drain, struct drain_thread *thread, struct batch_source *part)
{
    bool skip[DRAIN_KINDS];
    for (int kind = 0; kind < DRAIN_KINDS; kind++) {
        uint32_t until = known_until(thread, kind, part->sequence);
        skip[kind] = part->begin_offset < until;
        if (skip[kind] && until < part->end_offset)
            part->end_offset = until;
    }
    drain->decoder.skip = (struct decode_skip){skip[DRAIN_PLAIN], skip[DRAIN_SPANS]};
    int error = decode_block(&drain->decoder, &thread->decode, &drain->copy, part, &drain->decoded);
    if (error == 0)
        error = drain_hand_on_block(drain, thread, part);
    drain->decoder.skip = (struct decode_skip){0};
    return error;
}

/* Reads one block as far as it is committed. Bytes read or -errno. */
static int read_block(struct drain *drain, const struct segment_block *block,
                      struct drain_thread *thread, struct drain_progress *progress)
{
    int end = segment_copy_block(drain->segment, block->index, progress->consumed, &drain->copy);
    if (end < 0)
        return end;
    const struct annot_block *header = &drain->copy.header;
    if (header->thread_serial != block->serial || header->sequence != block->sequence)
        return -EBADMSG;
    int error = drain_enter_block(drain, header, &thread);
    if (error != 0)
        return error;
    thread->record = header->thread_index;
    struct batch_source part = {block->sequence, progress->consumed, (uint32_t)end};
    do {
        part.end_offset = (uint32_t)end;
        error = read_part(drain, thread, &part);
        part.begin_offset = part.end_offset;
        if (error == 0)
            error = drain_thread(drain, block->serial, &thread);
    } while (error == 0 && part.begin_offset < (uint32_t)end);
    if (error != 0)
        return error;
    int bytes = end - (int)progress->consumed;
    progress->consumed = (uint32_t)end;
    return bytes;
}

/* After a recovery: where the thread's stream goes on. */
static void resume_stream(struct drain_thread *thread, uint32_t sequence,
                          struct drain_progress *progress)
{
    if (sequence < thread->next)
        return;
    thread->next_unknown = false;
    uint32_t plain = known_until(thread, DRAIN_PLAIN, sequence);
    uint32_t spans = known_until(thread, DRAIN_SPANS, sequence);
    progress->consumed = plain < spans ? plain : spans;
    thread->next = sequence;
}

static int mark_done(struct drain *drain, uint32_t index, struct drain_progress *progress)
{
    progress->done = true;
    return vec_push(&drain->done, index);
}

/* Reads the next block of a thread. Bytes or -errno. */
static int visit_next(struct drain *drain, const struct segment_block *block,
                      struct drain_thread *thread, struct drain_progress *progress)
{
    bool whole = block->state == ANNOT_BLOCK_RELEASED;
    if (!whole)
        thread->stream = STREAM_WAITING;
    if (!whole && block->committed == progress->consumed)
        return 0;
    if (drain->room && !drain->room(drain->sink_context)) {
        thread->stream = STREAM_WAITING;
        drain->cut = true;
        return 0;
    }
    int bytes = read_block(drain, block, thread, progress);
    int error = drain_thread(drain, block->serial, &thread); /* it may have moved */
    if (error != 0)
        return error;
    if (bytes == -EBADMSG && !whole)
        return 0; /* told when it is released */
    if (bytes == -EBADMSG)
        bytes = lose_block(drain, thread, block->sequence);
    if (bytes < 0 || !whole)
        return bytes;
    thread->next++;
    error = mark_done(drain, block->index, progress);
    return error != 0 ? error : bytes;
}

static int visit_block(struct drain *drain, const struct segment_block *block, bool accept_gap)
{
    struct drain_progress *progress = progress_of(drain, block);
    struct drain_thread *thread;
    int error = progress ? drain_thread(drain, block->serial, &thread) : -ENOMEM;
    if (error != 0)
        return error;
    if (thread->visit != drain->visit) {
        thread->visit = drain->visit;
        thread->stream = STREAM_OPEN;
    }
    if (progress->done || thread->stream != STREAM_OPEN)
        return 0;
    if (thread->next_unknown)
        resume_stream(thread, block->sequence, progress);
    if (block->sequence < thread->next) /* in the recording since before a recovery */
        return block->state == ANNOT_BLOCK_RELEASED ? mark_done(drain, block->index, progress) : 0;
    if (block->sequence > thread->next && !accept_gap) {
        thread->stream = STREAM_MISSING;
        drain->missing = true;
        return 0;
    }
    if (block->sequence > thread->next) {
        error = lose_block(drain, thread, block->sequence);
        thread->next = block->sequence;
        thread->decode.headers = block->sequence;
        if (error != 0)
            return error;
    }
    return visit_next(drain, block, thread, progress);
}

/* One scan and all blocks in it. */
static int64_t pass(struct drain *drain, enum drain_depth depth, bool accept_gap)
{
    drain->blocks.count = 0;
    drain->visit++;
    drain->missing = false;
    bool claimed = depth != DRAIN_RELEASED || accept_gap;
    int error =
        segment_scan(drain->segment, claimed ? SEGMENT_RECORDS : SEGMENT_RELEASED, &drain->blocks);
    if (error != 0)
        return error;
    qsort(drain->blocks.items, drain->blocks.count, sizeof(*drain->blocks.items),
          by_thread_and_sequence);
    int64_t total = 0;
    for (size_t i = 0; i < drain->blocks.count; i++) {
        struct segment_block *block = &drain->blocks.items[i];
        if (depth == DRAIN_DEAD)
            block->state = ANNOT_BLOCK_RELEASED;
        int bytes = visit_block(drain, block, accept_gap);
        if (bytes < 0)
            return bytes;
        total += bytes;
    }
    if (claimed)
        drain->whole_visit = drain->visit;
    return total;
}

/* Only once nothing more will be written. */
static int64_t visit_recorder(struct drain *drain, enum drain_depth depth)
{
    if (depth != DRAIN_DEAD && depth != DRAIN_CLAIMED)
        return 0;
    int64_t bytes = drain_recorder(drain, depth == DRAIN_DEAD);
    drain->complete = !drain->cut;
    return bytes;
}

static int64_t visit_all(struct drain *drain, enum drain_depth depth)
{
    int64_t total = 0, bytes = pass(drain, depth, false);
    /* A later block was seen before an earlier one, which was released before the later one was
     * claimed: a second scan finds it, unless it does not exist; the third goes on without. */
    for (int again = 0; again < 2 && bytes >= 0 && drain->missing; again++) {
        total += bytes;
        bytes = pass(drain, depth, again == 1);
    }
    return bytes < 0 ? bytes : total + bytes;
}

/* All is read that threads had told by then. */
static int hand_on_waiting(struct drain *drain, int64_t begin_ns)
{
    int error = 0;
    for (size_t i = 0; i < drain->threads.count && error == 0; i++)
        error = drain_hand_on_waiting(drain, &drain->threads.items[i], begin_ns);
    return error;
}

int64_t drain_visit(struct drain *drain, enum drain_depth depth)
{
    int64_t begin_ns = clock_now_ns();
    drain->cut = false;
    if (drain->broken)
        return 0;
    int64_t bytes =
        drain->decoder.overwrites ? visit_recorder(drain, depth) : visit_all(drain, depth);
    int error = bytes < 0 ? 0 : drain_sums(drain, false);
    if (error == 0 && bytes >= 0 && depth != DRAIN_RELEASED && !drain->cut)
        error = hand_on_waiting(drain, begin_ns);
    if (error != 0)
        return error;
    if (bytes != -EFAULT)
        return bytes;
    drain->broken = true;
    drain->corrupt++;
    return 0;
}

int drain_seal(struct drain *drain, uint64_t ticket)
{
    size_t count = drain->done.count - drain->sealed_count;
    if (count == 0)
        return 0;
    drain->sealed_count += count;
    return vec_push(&drain->sealed, ((struct drain_sealed){ticket, count}));
}

/* How many of `done` are in the file; their tickets go. */
static size_t take_written(struct drain *drain, uint64_t written)
{
    size_t count = 0, tickets = 0;
    while (tickets < drain->sealed.count && drain->sealed.items[tickets].ticket <= written)
        count += drain->sealed.items[tickets++].count;
    drain->sealed.count -= tickets;
    if (tickets > 0)
        memmove(drain->sealed.items, drain->sealed.items + tickets,
                drain->sealed.count * sizeof(*drain->sealed.items));
    drain->sealed_count -= count;
    return written == DRAIN_ALL ? drain->done.count : count;
}

void drain_free(struct drain *drain, uint64_t written)
{
    size_t count = drain->done.count ? take_written(drain, written) : 0;
    if (count == 0)
        return;
    if (!drain->broken && segment_free_blocks(drain->segment, drain->done.items, count) != 0)
        drain->broken = true;
    for (size_t i = 0; i < count; i++) /* blocks of sums have none */
        if (drain->done.items[i] < drain->progress.count)
            drain->progress.items[drain->done.items[i]] = (struct drain_progress){0};
    drain->done.count -= count;
    memmove(drain->done.items, drain->done.items + count,
            drain->done.count * sizeof(*drain->done.items));
}
