/* SPDX-License-Identifier: MIT */
/* Orders the blocks of each thread, and tracks the bytes that were read. */
#include "drain.h"

#include "annot_barrier.h"
#include "clock_map.h"
#include "clock_now.h"
#include "decode.h"
#include "drain_recorder.h"
#include "drain_sums.h"
#include "schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int drain_name_thread(struct drain *drain, struct drain_thread *thread, uint32_t name_id);

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

/* The offset up to which a continued recording has the block's events of a kind. */
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

/* The progress of a block, reset if the block has another owner now. */
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

/* Passes on the first `count` of drain->events. 0 or -errno of the sink. */
static int drain_hand_on(struct drain *drain, struct drain_thread *thread,
                         const struct batch_source *source, size_t count)
{
    thread->last = *source; /* also of dropped events */
    if (count == 0)
        return 0;
    struct event_batch batch = {.thread = thread->decode.ordinal,
                                .count = (uint32_t)count,
                                .events = drain->decoded.events.items,
                                .source = *source,
                                .args = drain->decoded.args.items};
    return drain->sink(drain->sink_context, &batch);
}

/* Emits one EVENT_LOST for a block that is missing or invalid. */
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

/* Decodes a part of the current block, up to the next offset at which the set of kinds already
 * recorded changes. */
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

/* Finds where the thread's stream continues after a recovery. */
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
        return 0; /* reported when it is released */
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
    if (block->sequence < thread->next) /* recorded before a recovery */
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

/* Scans once and reads all blocks found. */
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

/* Reads a flight recorder, only once its program writes no more. */
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
     * claimed: a second scan finds it if it exists; the third continues without it. */
    for (int again = 0; again < 2 && bytes >= 0 && drain->missing; again++) {
        total += bytes;
        bytes = pass(drain, depth, again == 1);
    }
    return bytes < 0 ? bytes : total + bytes;
}

/* Releases held-back calls: everything that threads wrote before begin_ns is read. */
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

/* Returns how many blocks of `done` are in the file, and removes their tickets. */
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
    for (size_t i = 0; i < count; i++) /* blocks of sums have no progress */
        if (drain->done.items[i] < drain->progress.count)
            drain->progress.items[drain->done.items[i]] = (struct drain_progress){0};
    drain->done.count -= count;
    memmove(drain->done.items, drain->done.items + count,
            drain->done.count * sizeof(*drain->done.items));
}

/* ---- Threads in the trace -------------------------------------------------------------------- */

/* Copies names, times, counts and losses of a segment's threads to the trace. */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t drain_thread_lost(const struct drain_thread *thread, enum loss cause)
{
    uint64_t told = thread->decode.lost[cause];
    return thread->left ? told - thread->trailing[cause] : larger(thread->lost[cause], told);
}

/* Sets the name that an entered thread gave itself; ignores 0 and the current name. Both its record
 * and each of its blocks carry it, because the next thread takes over the record. 0 or -ENOMEM. */
static int drain_name_thread(struct drain *drain, struct drain_thread *thread, uint32_t name_id)
{
    if (name_id == 0 || name_id == thread->name_id)
        return 0;
    int64_t name = names_by_id(&drain->decoder.names, name_id);
    if (name < 0)
        return (int)name;
    struct trace_thread *entry = trace_thread(drain->trace, thread->decode.ordinal);
    thread->name_id = name_id;
    entry->name = (uint32_t)name;
    entry->revision++;
    return 0;
}

/* Enters a thread without blocks too if it has losses. */
static int read_record(struct drain *drain, uint32_t index)
{
    struct annot_thread record;
    int error = segment_read_thread(drain->segment, index, &record);
    if (error <= 0)
        return error;
    bool any = drain->complete && record.records != 0;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        any = any || record.lost[cause] != 0;
    uint64_t key = record.serial + UINT64_C(1);
    if (!any && record.name == 0 && !map64_find(&drain->thread_index, key))
        return 0;
    struct drain_thread *thread;
    error = drain_thread(drain, record.serial, &thread);
    if (error != 0)
        return error;
    if (!thread->entered) {
        if (!any)
            return 0;
        error = drain_enter_thread(drain, thread,
                                   &(struct drain_who){record.tid, clock_now_ns(), record.comm});
        if (error != 0)
            return error;
    }
    thread->record = index;
    thread->in_record = true;
    thread->left = record.state == ANNOT_THREAD_FREE;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        if (record.lost[cause] <= LOSS_BELIEVABLE)
            thread->lost[cause] = larger(thread->lost[cause], record.lost[cause]);
    if (drain->complete && thread->decode.headers == 0 && record.records <= LOSS_BELIEVABLE)
        thread->lost[LOSS_OVERWRITTEN] = record.records; /* all of its blocks are overwritten */
    return drain_name_thread(drain, thread, record.name);
}

static void publish_thread(struct drain *drain, struct drain_thread *thread)
{
    uint64_t state = thread->decode.record_count;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        state += larger(thread->lost[cause], thread->decode.lost[cause]);
    if (!thread->entered || state == thread->published)
        return;
    thread->published = state;
    struct trace_thread *entry = trace_thread(drain->trace, thread->decode.ordinal);
    entry->event_count = thread->decode.record_count;
    entry->first_ns = thread->decode.first_ns;
    if (entry->last_ns < thread->decode.last_ns) /* its sums may be later */
        entry->last_ns = thread->decode.last_ns;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        entry->lost[cause] = larger(thread->lost[cause], thread->decode.lost[cause]);
    entry->revision++;
}

/* True once the thread record was freed and one full visit found none of its blocks. Keeps a thread
 * with losses that only drain_finish publishes, or that its free record still shows, which would be
 * counted twice. */
static bool is_over(const struct drain *drain, struct drain_thread *thread)
{
    if (!thread->left)
        thread->left_visit = 0;
    else if (thread->left_visit == 0)
        thread->left_visit = drain->visit + 1;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        if (thread->lost[cause] > thread->decode.lost[cause] || drain_is_waiting(thread) ||
            (thread->in_record && thread->lost[cause] > 0))
            return false;
    return thread->left_visit != 0 && thread->left_visit <= drain->whole_visit &&
           thread->visit < drain->whole_visit;
}

/* Adds a thread to the totals of `past` and removes it; the last thread moves to its place. */
static int forget_thread(struct drain *drain, size_t place)
{
    struct drain_thread *thread = &drain->threads.items[place];
    struct drain_thread *last = &drain->threads.items[drain->threads.count - 1];
    uint64_t ignored;
    drain->past.event_count += thread->decode.record_count;
    if (thread->decode.last_ns > drain->past.last_ns)
        drain->past.last_ns = thread->decode.last_ns;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        drain->past.lost[cause] += drain_thread_lost(thread, (enum loss)cause);
    map64_take(&drain->thread_index, thread->serial + UINT64_C(1), &ignored);
    drain_forget_waiting(thread);
    drain->threads.count--;
    if (last == thread)
        return 0;
    *thread = *last;
    return map64_put(&drain->thread_index, thread->serial + UINT64_C(1), place);
}

static int forget_threads(struct drain *drain)
{
    int error = 0;
    for (size_t i = drain->threads.count; i-- > 0 && error == 0;)
        if (is_over(drain, &drain->threads.items[i]))
            error = forget_thread(drain, i);
    return error;
}

int drain_publish(struct drain *drain)
{
    struct annot_shared shared;
    int error = drain->broken ? -EFAULT : segment_read_shared(drain->segment, &shared);
    uint32_t high = error == 0 ? shared.thread_high : 0;
    if (high > drain->segment->info.thread_count)
        high = drain->segment->info.thread_count;
    /* A thread has left if its record is not found: another thread took the record. */
    for (size_t i = 0; i < drain->threads.count; i++)
        drain->threads.items[i].left = true, drain->threads.items[i].in_record = false;
    for (uint32_t i = 0; i < high && error == 0; i++)
        error = read_record(drain, i);
    for (size_t i = 0; i < drain->threads.count; i++)
        publish_thread(drain, &drain->threads.items[i]);
    if (error == -EFAULT)
        drain->broken = true;
    else if (error == 0)
        error = forget_threads(drain);
    return error == -EFAULT ? 0 : error;
}

int drain_finish(struct drain *drain)
{
    int error = drain_sums(drain, true);
    if (error == 0)
        error = drain_publish(drain);
    drain->decoder.now_ns = clock_now_ns();
    for (size_t i = 0; i < drain->threads.count && error == 0; i++) {
        struct drain_thread *thread = &drain->threads.items[i];
        size_t count = 0;
        for (int cause = 0; cause < LOSS_COUNT && thread->entered; cause++) {
            if (thread->lost[cause] <= thread->decode.lost[cause])
                continue;
            uint64_t rest = thread->lost[cause] - thread->decode.lost[cause];
            thread->trailing[cause] += rest;
            drain->decoded.events.items[count++] =
                decode_lost(&drain->decoder, &thread->decode, (enum loss)cause, rest);
        }
        struct batch_source source = {thread->last.sequence, thread->last.end_offset,
                                      thread->last.end_offset};
        error = drain_hand_on_waiting(drain, thread, INT64_MAX);
        if (error == 0)
            error = drain_hand_on(drain, thread, &source, count);
    }
    return error != 0 ? error : drain_publish(drain);
}

/* ---- Spans of queues ------------------------------------------------------------------------- */

/* Moves spans out of the other events of their block: they form a separate stream, with the threads
 * that caused them. */

enum { ORIGINS_MAX = 1 << 16 };

/* Finds a thread without events by its record; it lived at that time, perhaps not now. 1, 0,
 * -errno. */
static int find_record(struct drain *drain, uint32_t serial, int64_t time_ns, uint32_t *ret_ordinal)
{
    struct annot_shared shared;
    int error = segment_read_shared(drain->segment, &shared);
    uint32_t count = drain->segment->info.thread_count;
    for (uint32_t i = 0; error == 0 && i < count && i < shared.thread_high; i++) {
        struct annot_thread record;
        struct drain_thread *thread;
        int found = segment_read_thread(drain->segment, i, &record);
        if (found < 0)
            return found;
        if (found == 0 || record.serial != serial)
            continue;
        error = drain_thread(drain, serial, &thread);
        if (error == 0 && !thread->entered)
            error = drain_enter_thread(drain, thread,
                                       &(struct drain_who){record.tid, time_ns, record.comm});
        *ret_ordinal = error == 0 ? thread->decode.ordinal : 0;
        return error == 0 ? 1 : error;
    }
    return error;
}

/* Finds a thread that has left, in the trace. */
static bool find_past(const struct drain *drain, uint32_t serial, uint32_t *ret_ordinal)
{
    uint32_t told = drain->serial_base + serial + 1;
    for (uint32_t i = trace_thread_count(drain->trace); i-- > 0;) {
        const struct trace_thread *thread = trace_thread_get(drain->trace, i);
        if (thread->process == drain->process && thread->serial == told) {
            *ret_ordinal = i;
            return true;
        }
    }
    return false;
}

/* Finds a thread with no block read yet, by one of its blocks. 1, 0, -errno. */
static int find_block(struct drain *drain, const segment_blocks *blocks, uint32_t serial,
                      uint32_t *ret_ordinal)
{
    for (size_t i = 0; i < blocks->count; i++) {
        struct annot_block header;
        struct drain_thread *thread;
        if (blocks->items[i].serial != serial)
            continue;
        int error = segment_read_header(drain->segment, blocks->items[i].index, &header);
        if (error == 0 && header.thread_serial != serial)
            continue;
        if (error == 0)
            error = drain_enter_block(drain, &header, &thread);
        *ret_ordinal = error == 0 ? thread->decode.ordinal : 0;
        return error == 0 ? 1 : error;
    }
    return 0;
}

/* Finds a thread that freed its record, perhaps since the visit scanned for blocks. */
static int find_left(struct drain *drain, uint32_t serial, uint32_t *ret_ordinal)
{
    if (find_past(drain, serial, ret_ordinal))
        return 1;
    int found = find_block(drain, &drain->blocks, serial, ret_ordinal);
    if (found != 0)
        return found;
    drain->fresh.count = 0;
    int error = segment_scan(drain->segment, SEGMENT_RECORDS, &drain->fresh);
    return error != 0 ? error : find_block(drain, &drain->fresh, serial, ret_ordinal);
}

int drain_find_thread(struct drain *drain, uint32_t serial, int64_t time_ns, uint32_t *ret_ordinal)
{
    const uint64_t *index = map64_find(&drain->thread_index, serial + UINT64_C(1));
    if (index && drain->threads.items[*index].entered) {
        *ret_ordinal = drain->threads.items[*index].decode.ordinal;
        return 1;
    }
    const uint64_t *known = map64_find(&drain->origins, serial + UINT64_C(1));
    if (known && *known <= UINT32_MAX) {
        *ret_ordinal = (uint32_t)(*known - 1);
        return 1;
    }
    if (known && *known == drain->visit << 32)
        return 0;
    if (!known && drain->origins.count >= ORIGINS_MAX) /* more threads than can exist */
        return 0;
    int found = find_record(drain, serial, time_ns, ret_ordinal);
    if (found == 0)
        found = find_left(drain, serial, ret_ordinal);
    if (found >= 0 && map64_put(&drain->origins, serial + UINT64_C(1),
                                found ? *ret_ordinal + UINT64_C(1) : drain->visit << 32) != 0)
        return -ENOMEM;
    return found;
}

static int set_cause(struct drain *drain, struct event *span)
{
    uint32_t ordinal = 0, serial = span->color;
    int found = serial ? drain_find_thread(drain, serial - 1, span->origin_ns, &ordinal) : 0;
    span->color = 0;
    if (found < 0 && found != -EFAULT)
        return found;
    if (found > 0)
        span->thread = ordinal;
    else
        span->origin_ns = EVENT_NO_ORIGIN;
    return 0;
}

/* Moves spans to drain->spans; the other events move up, or are dropped if the recording has
 * them. */
static int split(struct drain *drain)
{
    size_t kept = 0;
    struct event *events = drain->decoded.events.items;
    drain->spans.count = 0;
    if (vec_reserve(&drain->spans, drain->decoder.queues.span_count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < drain->decoded.events.count; i++) {
        if (events[i].kind == EVENT_SPAN)
            drain->spans.items[drain->spans.count++] = events[i];
        else if (!drain->decoder.skip.plain)
            events[kept++] = events[i];
    }
    drain->decoded.events.count = kept;
    return 0;
}

/* A span caused by its own thread; marks the thread for readers as having such spans. */
static void set_own(struct drain *drain, struct event *span)
{
    struct trace_thread *thread = trace_thread(drain->trace, span->thread);
    span->origin_ns = EVENT_NO_ORIGIN;
    thread->revision += !thread->probed;
    thread->probed = true;
}

/* Resolves the thread of each span; drops own-lane spans of unknown threads, which have no lane. */
static int set_causes(struct drain *drain)
{
    size_t kept = 0;
    for (size_t i = 0; i < drain->spans.count; i++) {
        struct event *span = &drain->spans.items[i];
        int error = set_cause(drain, span);
        if (error != 0)
            return error;
        bool own = event_is_own_span(span), known = span->origin_ns != EVENT_NO_ORIGIN;
        if (own && known)
            set_own(drain, span);
        drain->corrupt += own && !known;
        if (known || !own)
            drain->spans.items[kept++] = *span;
    }
    drain->spans.count = kept;
    return 0;
}

static int hand_on_spans(struct drain *drain, uint32_t emitter, const struct batch_source *source)
{
    int error = set_causes(drain);
    const struct event_batch batch = {.thread = emitter,
                                      .count = (uint32_t)drain->spans.count,
                                      .events = drain->spans.items,
                                      .source = *source,
                                      .args = drain->decoded.args.items,
                                      .late = 1};
    return error != 0 || batch.count == 0 ? error : drain->sink(drain->sink_context, &batch);
}

int drain_hand_on_block(struct drain *drain, struct drain_thread *thread,
                        const struct batch_source *source)
{
    uint32_t emitter = thread->decode.ordinal;
    bool any = drain->decoder.queues.span_count != 0 || drain->decoder.skip.plain;
    int error = any ? split(drain) : 0;
    if (error == 0)
        error = drain_leave_out(drain, thread);
    if (error == 0)
        error = drain_hand_on(drain, thread, source, drain->decoded.events.count);
    return error == 0 && any ? hand_on_spans(drain, emitter, source) : error;
}
