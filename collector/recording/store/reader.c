/* SPDX-License-Identifier: MIT */
/* Reading a recording: all definitions first, then batch by batch.
 *
 * Every byte is foreign. Memory: one chunk, one batch, 20 bytes a thread, 88 or less a chunk. If a
 * damaged chunk held events of a thread, the next batch of that thread gives their number, and an
 * EVENT_LOST of cause LOSS_CORRUPT is put in their place. Thread-safety: none. */
#include "reader.h"
#include "reader_parts.h"

#include "chunk.h"
#include "event_decode.h"
#include "event_encode.h"
#include "fields.h"
#include "joined.h"
#include "sample_stream.h"
#include "stacks.h"
#include "volumes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Chunks of all volumes in a row. */
static inline uint64_t chunk_order(const struct chunk_place *chunk)
{
    return (uint64_t)chunk->volume << 32 | chunk->header.number;
}

/* ---- Reader outline -------------------------------------------------------------------------- */

/* Read before the first event: the places of all chunks, the order in which they are read, and all
 * definitions. Every byte is foreign. */

enum { LOST_THREADS_MAX = 1 << 16, LOST_TRACKS_MAX = 1 << 16 };

/* Reads whether another volume follows this END; files of other writers may have a shorter
 * payload. */
static void read_end(struct volume *volume, const uint8_t *payload, size_t size)
{
    struct store_end end = {0};
    memcpy(&end, payload, size < sizeof(end) ? size : sizeof(end));
    volume->follows = end.follows & 1;
    volume->ids_mixed = end.ids_mixed & 1;
}

/* Loads a chunk that the first pass needs. */
static int read_facts(struct store_reader *reader, const struct chunk_place *chunk)
{
    const uint8_t *payload;
    const char *reason = NULL;
    int error = volumes_load(reader->volumes, &reader->buffer, chunk, &payload, &reason);
    if (!error && chunk->header.type == STORE_CHUNK_END)
        read_end(&reader->volumes->items.items[chunk->volume], payload, chunk->header.raw_size);
    if (!error && chunk->header.type == STORE_CHUNK_DEFINITIONS) {
        reason = "malformed definitions";
        error = definitions_apply(reader->trace, &reader->holes, payload, chunk->header.raw_size);
    }
    return error == -EBADMSG ? volumes_add_damage(reader->volumes, chunk, reason) : error;
}

static int take_chunk(struct store_reader *reader, const struct chunk_place *chunk)
{
    struct volume *volume = &reader->volumes->items.items[chunk->volume];
    reader->info.chunk_count++;
    reader->info.raw_bytes += chunk->header.raw_size;
    volume->has_data |= chunk->header.type != STORE_CHUNK_DEFINITIONS;
    switch (chunk->header.type) {
    case STORE_CHUNK_SAMPLES:
        reader->info.sample_count += chunk->header.count;
        return sample_stream_add(&reader->samples, chunk);
    case STORE_CHUNK_EVENTS:
        reader->has_late |= chunk->header.stream >= STORE_STREAM_DECLARED;
        reader->info.event_count += chunk->header.count;
        volume->event_count += chunk->header.count;
        return vec_push(&reader->chunks, ((struct events_chunk){.chunk = *chunk}));
    case STORE_CHUNK_CHECKPOINT:
        reader->info.checkpoint_count++;
        return reader->follow ? 0 : vec_push(&reader->checkpoints, *chunk);
    case STORE_CHUNK_DEFINITIONS:
    case STORE_CHUNK_END:
        return read_facts(reader, chunk);
    default:
        return 0;
    }
}

/* Highest ordinals in a chunk's events; damage is left to the second pass. */
struct named {
    uint32_t thread;      /* ordinal */
    uint64_t track_count; /* 1 + ordinal */
    uint64_t track_limit; /* larger numbers are not ordinals */
};

static void note_named(struct named *named, const struct event_batch *batch)
{
    named->thread = batch->thread > named->thread ? batch->thread : named->thread;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        named->thread = event->thread > named->thread ? event->thread : named->thread;
        if (event_has_lane(event->kind) && event->lane >= named->track_count &&
            event->lane < named->track_limit)
            named->track_count = event->lane + UINT64_C(1);
    }
}

static int find_named(struct store_reader *reader, const struct chunk_place *chunk,
                      struct named *named)
{
    const uint8_t *payload;
    const char *reason;
    struct event_batch batch;
    struct batch_before before;
    int status = volumes_load(reader->volumes, &reader->buffer, chunk, &payload, &reason);
    if (!status)
        status = event_decoder_start(reader->decoder, payload, chunk->header.raw_size);
    while (status >= 0 && (status = event_decoder_next(reader->decoder, &batch, &before)) == 1)
        note_named(named, &batch);
    return status == -EBADMSG ? 0 : status;
}

/* If damage took the definitions of threads and tracks with intact events or samples, these get
 * empty entries, the threads in a separate process. */
static int define_lost(struct store_reader *reader)
{
    uint32_t count = trace_thread_count(reader->trace);
    struct named named = {.track_limit = trace_lane_count(reader->trace) + LOST_TRACKS_MAX};
    for (size_t i = 0; i < reader->chunks.count; i++) {
        int error = find_named(reader, &reader->chunks.items[i].chunk, &named);
        if (error)
            return error;
    }
    while (trace_lane_count(reader->trace) < named.track_count)
        if (trace_lane_add(reader->trace, 0) < 0)
            return -ENOMEM;
    int sampled = sample_stream_highest_thread(&reader->samples, reader->volumes, &named.thread);
    bool any = reader->chunks.count || reader->samples.chunks.count;
    if (sampled || !any || named.thread < count || named.thread - count >= LOST_THREADS_MAX)
        return sampled;
    int64_t process = trace_process_add(reader->trace);
    for (; process >= 0 && count <= named.thread; count++)
        if (trace_thread_add(reader->trace, (uint32_t)process) < 0)
            return -ENOMEM;
    return process < 0 ? -ENOMEM : 0;
}

/* Chunks of streams, each with its position: the stream with the earliest next chunk goes on. */
struct stream_chunks {
    VEC(struct events_chunk) items;
    size_t next;
};

static int split_streams(struct store_reader *reader, struct stream_chunks *streams)
{
    for (size_t i = 0; i < reader->chunks.count; i++) {
        const struct events_chunk *chunk = &reader->chunks.items[i];
        if (vec_push(&streams[chunk->chunk.header.stream % STORE_STREAMS_MAX].items, *chunk) != 0)
            return -ENOMEM;
    }
    return 0;
}

static struct stream_chunks *first_stream(struct stream_chunks *streams)
{
    struct stream_chunks *first = NULL;
    for (unsigned i = 0; i < STORE_STREAMS_MAX; i++) {
        struct stream_chunks *at = &streams[i];
        if (at->next < at->items.count &&
            (!first || at->items.items[at->next].chunk.header.first_ns <
                           first->items.items[first->next].chunk.header.first_ns))
            first = at;
    }
    return first;
}

/* A late stream does not delay others: its chunks come at their times. */
static int order_streams(struct store_reader *reader)
{
    struct stream_chunks *streams = calloc(STORE_STREAMS_MAX, sizeof(*streams)), *first;
    int error = streams ? split_streams(reader, streams) : -ENOMEM;
    size_t count = 0;
    while (!error && (first = first_stream(streams)))
        reader->chunks.items[count++] = first->items.items[first->next++];
    for (unsigned i = 0; streams && i < STORE_STREAMS_MAX; i++)
        vec_free(&streams[i].items);
    free(streams);
    return error;
}

/* From the last chunk to the first: the earliest time still to come. */
static void settle_chunks(struct store_reader *reader)
{
    int64_t settled_ns = INT64_MAX;
    for (size_t i = reader->chunks.count; i-- > 0;) {
        struct events_chunk *at = &reader->chunks.items[i];
        int64_t first_ns = store_time(at->chunk.header.first_ns);
        settled_ns = first_ns < settled_ns ? first_ns : settled_ns;
        at->settled_ns = settled_ns;
    }
    sample_stream_settle(&reader->samples);
}

static int scan_volume(struct store_reader *reader, uint32_t index)
{
    struct chunk_place chunk;
    int fd = volume_fd(reader->volumes, index);
    int status = fd < 0 ? fd : 0;
    struct scan *scan = &reader->volumes->items.items[index].scan;
    while (status == 0 && (status = scan_next(scan, &chunk)) == 1) {
        chunk.volume = index;
        status = take_chunk(reader, &chunk);
    }
    return status;
}

static void sum_up(struct store_reader *reader)
{
    const struct volumes *volumes = reader->volumes;
    const struct volume *last = &volumes->items.items[volumes->items.count - 1];
    reader->info.file_bytes = 0;
    for (size_t i = 0; i < volumes->items.count; i++)
        reader->info.file_bytes += volumes->items.items[i].scan.file_size;
    reader->info.major = last->scan.header.major;
    reader->info.minor = last->scan.header.minor;
    reader->info.complete = last->scan.ended && !last->follows;
}

/* In a growing recording, the last volume is read again. */
static int reader_read_chunks(struct store_reader *reader)
{
    struct volumes *volumes = reader->volumes;
    int status = 0;
    while (!status && reader->scanned < volumes->items.count) {
        const struct volume *volume = &volumes->items.items[reader->scanned];
        status = scan_volume(reader, reader->scanned);
        bool last = reader->scanned + 1 == volumes->items.count;
        if (!status && last && reader->follow && volume->follows)
            status = volumes_look_on(volumes) < 0 ? -ENOMEM : 0;
        if (reader->scanned + 1 == volumes->items.count)
            break;
        reader->scanned++;
    }
    sum_up(reader);
    return status;
}

static int note_end(struct store_reader *reader)
{
    struct volumes *volumes = reader->volumes;
    struct volume *last = &volumes->items.items[volumes->items.count - 1];
    size_t count = volumes->damage.count;
    int error = volumes_note_missing(volumes);
    bool noted = volumes->damage.count > count && last->follows;
    if (error || reader->info.complete || noted)
        return error;
    return scan_add_damage(&last->scan, last->scan.file_size, 0,
                           "no end mark: the recording was cut or not completed");
}

/* The first pass over a recording with open volumes. */
static int reader_read_outline(struct store_reader *reader)
{
    int status = reader_read_chunks(reader);
    if (status || reader->follow)
        return status ? status : definitions_check(reader->trace);
    if (reader->has_late)
        status = order_streams(reader);
    settle_chunks(reader);
    if (!status && reader->volumes->damage.count)
        status = define_lost(reader);
    if (!status)
        status = definitions_check(reader->trace);
    return status ? status : note_end(reader);
}

/* Makes room for each thread of the trace. 0 or -ENOMEM. */
static int know_threads(struct store_reader *reader)
{
    uint32_t count = trace_thread_count(reader->trace) + 1;
    if (count <= reader->thread_capacity)
        return 0;
    uint32_t capacity = reader->follow ? 2 * count : count;
    struct thread_position *threads = realloc(reader->threads, capacity * sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    memset(threads + reader->thread_capacity, 0,
           (capacity - reader->thread_capacity) * sizeof(*threads));
    reader->threads = threads;
    reader->thread_capacity = capacity;
    return 0;
}

static int prepare(struct store_reader *reader, const char *path)
{
    reader->volumes = &reader->own;
    int error = volumes_open(&reader->own, path, reader->follow);
    reader->trace = error ? NULL : trace_create();
    reader->decoder = error ? NULL : event_decoder_create();
    if (error)
        return error;
    if (!reader->trace || !reader->decoder || sample_stream_init(&reader->samples) != 0)
        return -ENOMEM;
    error = reader_read_outline(reader);
    return error ? error : know_threads(reader);
}

static int open_reader(const char *path, bool follow, struct store_reader **ret_reader)
{
    struct store_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return -ENOMEM;
    reader->follow = follow;
    int error = prepare(reader, path);
    if (error) {
        store_reader_close(reader);
        return error;
    }
    *ret_reader = reader;
    return 0;
}

int store_reader_open_bare(const char *path, struct store_reader **ret_reader)
{
    return open_reader(path, false, ret_reader);
}

static int open_joined(const struct store_manifest *manifest, struct store_reader **ret_reader)
{
    struct store_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return -ENOMEM;
    reader->trace = trace_create();
    int error = reader->trace ? joined_open(manifest, reader->trace, &reader->joined) : -ENOMEM;
    if (error)
        store_reader_close(reader);
    else
        *ret_reader = reader;
    return error;
}

static int expand(struct store_reader *reader)
{
    struct stacks *stacks = trace_stacks(reader->trace);
    reader->stack_map_count = stacks_stack_count(stacks);
    return stacks_expand(stacks, &reader->stack_map);
}

/* Completes the trace after all definitions were read. Of blocks from before the first volume, only
 * the frees are known: they are left out. */
static int finish_opening(struct store_reader *reader)
{
    const struct trace_heap_window window = {.from_ns = store_reader_begin_ns(reader)};
    trace_heap_window_set(reader->trace, &window);
    int error = trace_name_places(reader->trace);
    if (!error)
        error = expand(reader);
    if (error)
        store_reader_close(reader);
    return error;
}

int store_reader_open(const char *path, struct store_reader **ret_reader)
{
    struct store_manifest manifest = {0};
    bool joined = store_manifest_read(path, &manifest) == 0;
    int error = joined ? open_joined(&manifest, ret_reader) : open_reader(path, false, ret_reader);
    store_manifest_free(&manifest);
    return error ? error : finish_opening(*ret_reader);
}

int store_reader_open_parts(const struct store_manifest *manifest, struct store_reader **ret_reader)
{
    int error = open_joined(manifest, ret_reader);
    return error ? error : finish_opening(*ret_reader);
}

void store_reader_twice(const struct store_reader *reader, struct store_twice *ret_twice)
{
    *ret_twice = reader->joined ? *joined_twice(reader->joined) : (struct store_twice){0};
}

int store_reader_follow(const char *path, struct store_reader **ret_reader)
{
    return open_reader(path, true, ret_reader);
}

/* Refreshes the growing volume, and looks for one after it. */
static int refresh(struct store_reader *reader)
{
    struct volume *last = &reader->volumes->items.items[reader->volumes->items.count - 1];
    int status = scan_refresh(&last->scan);
    if (status || !last->follows)
        return status;
    status = volumes_look_on(reader->volumes);
    return status < 0 ? status : 0;
}

int store_reader_more(struct store_reader *reader)
{
    uint64_t count = reader->info.chunk_count;
    if (reader->next_chunk == reader->chunks.count && !reader->in_chunk)
        reader->chunks.count = reader->next_chunk = 0; /* read, and not needed again */
    sample_stream_forget(&reader->samples);
    int status = refresh(reader);
    if (!status)
        status = reader_read_chunks(reader);
    if (!status && reader->info.chunk_count > count)
        status = definitions_check(reader->trace);
    if (!status)
        status = know_threads(reader);
    return status ? status : reader->info.chunk_count > count;
}

/* True if the first volumes are missing. */
static bool begins_late(const struct store_reader *reader)
{
    return reader->volumes->items.items[0].number > 0;
}

/* Only the end mark and volumes before the first may be missing: a checkpoint would hide other
 * damage. */
static bool is_whole(const struct store_reader *reader)
{
    size_t allowed = (size_t)!reader->info.complete + begins_late(reader);
    return reader->volumes->damage.count <= allowed;
}

int store_reader_again(const struct store_reader *first, struct store_reader **ret_reader)
{
    struct store_reader *reader = calloc(1, sizeof(*reader));
    size_t count = first->chunks.count;
    *ret_reader = reader;
    if (!reader)
        return -ENOMEM;
    reader->again = true;
    reader->trace = first->trace;
    if (first->joined)
        return joined_again(first->joined, &reader->joined);
    reader->volumes = first->volumes;
    reader->info = first->info;
    reader->decoder = event_decoder_create();
    if (!reader->decoder || vec_reserve(&reader->chunks, count) != 0 || know_threads(reader) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        reader->chunks.items[reader->chunks.count++] = first->chunks.items[i];
    for (size_t i = 0; i < first->checkpoints.count && is_whole(first); i++)
        if (vec_push(&reader->checkpoints, first->checkpoints.items[i]) != 0)
            return -ENOMEM;
    return 0;
}

bool store_reader_ended(const struct store_reader *reader)
{
    if (reader->joined) {
        struct store_info info;
        joined_info(reader->joined, &info);
        return info.complete;
    }
    const struct volumes *volumes = reader->volumes;
    const struct volume *last = &volumes->items.items[volumes->items.count - 1];
    return last->scan.ended && !last->follows;
}

void store_reader_close(struct store_reader *reader)
{
    if (!reader)
        return;
    joined_destroy(reader->joined);
    volumes_close(&reader->own);
    if (!reader->again)
        trace_destroy(reader->trace);
    free(reader->stack_map);
    chunk_buffer_free(&reader->buffer);
    event_decoder_destroy(reader->decoder);
    sample_stream_fini(&reader->samples);
    vec_free(&reader->chunks);
    vec_free(&reader->checkpoints);
    free(reader->threads);
    free(reader);
}

/* Notes the damage of the current chunk, once. */
static int note_damage(struct store_reader *reader, const char *reason)
{
    struct events_chunk *at = &reader->chunks.items[reader->next_chunk - 1];
    if (at->damage_noted || reader->again)
        return 0;
    at->damage_noted = true;
    return volumes_add_damage(reader->volumes, &at->chunk, reason);
}

/* True if a checkpoint replaces it. */
static bool is_before(const struct store_reader *reader, const struct chunk_place *chunk)
{
    return chunk->header.stream == STORE_STREAM_EVENTS && chunk_order(chunk) < reader->begin_order;
}

/* Loads the next chunk: 1, 0 at the end, -errno. A damaged one is noted and skipped. */
static int open_chunk(struct store_reader *reader)
{
    while (reader->next_chunk < reader->chunks.count &&
           is_before(reader, &reader->chunks.items[reader->next_chunk].chunk))
        reader->next_chunk++;
    if (reader->next_chunk == reader->chunks.count)
        return 0;
    const struct chunk_place *chunk = &reader->chunks.items[reader->next_chunk++].chunk;
    const uint8_t *payload;
    const char *reason = NULL;
    int error = volumes_load(reader->volumes, &reader->buffer, chunk, &payload, &reason);
    if (!error) {
        reason = "malformed events";
        error = event_decoder_start(reader->decoder, payload, chunk->header.raw_size);
    }
    if (!error && chunk->header.stream >= STORE_STREAM_DECLARED)
        event_decoder_take_causes(reader->decoder);
    reader->in_chunk = !error;
    if (error == -EBADMSG)
        error = note_damage(reader, reason);
    return error ? error : 1;
}

/* Time at which its thread had written it. */
static int64_t known_ns(const struct event *event)
{
    return event->kind == EVENT_SPAN ? event->end_ns : event_order_ns(event);
}

/* Number of missing volumes before the current chunk. */
static uint32_t missing_before(const struct store_reader *reader)
{
    uint32_t index = reader->chunks.items[reader->next_chunk - 1].chunk.volume;
    return reader->volumes->items.items[index].number - index;
}

/* Events of this thread are missing before `batch`: an EVENT_LOST replaces them, and the batch
 * waits. */
static void insert_lost(struct store_reader *reader, const struct thread_position *position,
                        const struct batch_before *before, struct event_batch *batch)
{
    bool missing = reader->threads[batch->thread].missing > position->missing;
    int64_t next_ns = batch->count ? known_ns(batch->events) : position->last_ns;
    int64_t end_ns = next_ns > position->last_ns ? next_ns : position->last_ns;
    reader->lost = (struct event){
        .kind = EVENT_LOST,
        .level = missing ? LOSS_MISSING : LOSS_CORRUPT,
        .thread = batch->thread,
        .time_ns = position->state.next_index ? position->last_ns : next_ns,
        .end_ns = end_ns,
        .depth = before->depth,
        .value.uint64 = before->first_index - position->state.next_index,
    };
    reader->waiting = *batch;
    reader->has_waiting = true;
    batch->count = 1;
    batch->events = &reader->lost;
    batch->source.end_offset = batch->source.begin_offset;
}

/* 1, or 0 if the batch's thread is unknown. */
static int deliver(struct store_reader *reader, struct event_batch *batch,
                   const struct batch_before *before)
{
    bool late = !reader->in_checkpoint && store_reader_stream(reader) >= STORE_STREAM_DECLARED;
    bool known = batch->thread < trace_thread_count(reader->trace);
    batch->late = late ? store_reader_stream(reader) - STORE_STREAM_DECLARED + 1 : 0;
    batch->emitter = batch->thread;
    if (!known || late) /* in any order: losses show only in the file as a whole */
        return known;
    struct thread_position *position = &reader->threads[batch->thread];
    struct thread_position old = *position;
    position->state.next_index =
        before->first_index + (reader->in_checkpoint ? 0 : before->stored_count);
    position->state.depth = before->depth_after;
    if (batch->count)
        position->last_ns = known_ns(&batch->events[batch->count - 1]);
    if (!reader->in_checkpoint)
        position->missing = missing_before(reader);
    if (before->first_index > old.state.next_index && !reader->in_checkpoint)
        insert_lost(reader, &old, before, batch);
    return 1;
}

/* The next batch as stored: 1, 0 at the end, -errno. */
static int next_stored(struct store_reader *reader, struct event_batch *batch,
                       struct batch_before *before)
{
    for (;;) {
        while (!reader->in_chunk) {
            int status = open_chunk(reader);
            if (status != 1)
                return status;
        }
        int status = event_decoder_next(reader->decoder, batch, before);
        bool knows = reader->in_chunk && !reader->in_checkpoint;
        batch->settled_ns = knows ? reader->chunks.items[reader->next_chunk - 1].settled_ns : 0;
        if (status == 1 || status == -ENOMEM)
            return status;
        bool was_checkpoint = reader->in_checkpoint;
        reader->in_chunk = reader->in_checkpoint = false;
        if (status == -EBADMSG && !was_checkpoint && note_damage(reader, "malformed events") != 0)
            return -ENOMEM;
    }
}

/* From the rest of a batch, the events that the first thread caused; the last of them has its
 * source. 1; 0: of an unknown thread; -ENOMEM. */
static int next_spans(struct store_reader *reader, struct event_batch *ret_batch)
{
    *ret_batch = event_batch_take(&reader->spans);
    if (ret_batch->thread < trace_thread_count(reader->trace))
        return 1;
    return note_damage(reader, "spans of an unknown thread");
}

/* 1, 0 at the end, -errno. */
static int next_batch(struct store_reader *reader, struct event_batch *ret_batch)
{
    struct batch_before before;
    if (reader->has_waiting) {
        *ret_batch = reader->waiting;
        reader->has_waiting = false;
        return 1;
    }
    for (;;) {
        int status = next_stored(reader, ret_batch, &before);
        if (status != 1 || deliver(reader, ret_batch, &before))
            return status;
        if (!reader->in_checkpoint && note_damage(reader, "events of an unknown thread") != 0)
            return -ENOMEM;
    }
}

int store_reader_next(struct store_reader *reader, struct event_batch *ret_batch)
{
    if (reader->joined)
        return joined_next(reader->joined, ret_batch);
    int status = 0;
    while (status == 0) {
        if (reader->spans.count == 0) {
            status = next_batch(reader, ret_batch);
            if (status != 1 || !ret_batch->late)
                return status;
            reader->spans = *ret_batch;
        }
        status = next_spans(reader, ret_batch);
    }
    return status;
}

int store_reader_next_samples(struct store_reader *reader, const struct sample **ret_samples,
                              uint32_t *ret_count)
{
    int status = reader->joined ? joined_next_samples(reader->joined, ret_samples, ret_count)
                                : sample_stream_next(&reader->samples, reader->volumes,
                                                     reader->trace, ret_samples, ret_count);
    struct sample *samples = (struct sample *)*ret_samples; /* the reader's own */
    for (uint32_t i = 0; status == 1 && reader->stack_map && i < *ret_count; i++)
        samples[i].stack =
            samples[i].stack < reader->stack_map_count ? reader->stack_map[samples[i].stack] : 0;
    return status;
}

int64_t store_reader_samples_settled_ns(const struct store_reader *reader)
{
    if (reader->joined)
        return joined_samples_settled_ns(reader->joined);
    return sample_stream_settled_ns(&reader->samples);
}

/* The checkpoint at the start of a recording without its first volumes; or NULL. */
static const struct chunk_place *first_checkpoint(const struct store_reader *reader)
{
    bool any = begins_late(reader) && is_whole(reader) && reader->checkpoints.count > 0;
    const struct chunk_place *first = any ? reader->checkpoints.items : NULL;
    for (size_t i = 0; first && i < reader->chunks.count; i++)
        if (reader->chunks.items[i].chunk.header.stream == STORE_STREAM_EVENTS &&
            chunk_order(&reader->chunks.items[i].chunk) < chunk_order(first))
            return NULL;
    return first;
}

/* Number of checkpoints tried, to find one without an open START. */
enum { TRIES_MAX = 16 };

/* 0, -errno. */
static int start_checkpoint(struct store_reader *reader, const struct chunk_place *place)
{
    const uint8_t *payload;
    const char *reason;
    int error = volumes_load(reader->volumes, &reader->buffer, place, &payload, &reason);
    return error ? error
                 : event_decoder_start_checkpoint(reader->decoder, payload, place->header.raw_size);
}

/* 1, 0, -errno. */
static int has_open_start(struct store_reader *reader, const struct chunk_place *place)
{
    struct event_batch batch;
    struct batch_before before;
    int status = start_checkpoint(reader, place);
    if (status)
        return status;
    while ((status = event_decoder_next(reader->decoder, &batch, &before)) == 1)
        for (uint32_t i = 0; i < batch.count; i++)
            if (batch.events[i].kind == EVENT_START)
                return 1;
    return status;
}

/* The last checkpoint with only earlier events before it, and, `nested`, without an open START.
 * NULL: not found, or unreadable. 0 or -errno. */
static int find_checkpoint(struct store_reader *reader, int64_t from_ns, bool nested,
                           const struct chunk_place **ret_place)
{
    size_t count = is_whole(reader) ? reader->checkpoints.count : 0;
    const struct chunk_place *places = reader->checkpoints.items;
    *ret_place = first_checkpoint(reader);
    while (count > 0 && places[count - 1].header.last_ns >= from_ns)
        count--;
    for (size_t tries = nested ? TRIES_MAX : 1; count > 0 && tries > 0; tries--) {
        const struct chunk_place *place = &places[--count];
        int status = nested ? has_open_start(reader, place) : 0;
        if (status < 0)
            return status == -EBADMSG ? 0 : status;
        if (status == 0) {
            *ret_place = place;
            return 0;
        }
    }
    return 0;
}

int64_t store_reader_begin_ns(const struct store_reader *reader)
{
    if (reader->joined)
        return joined_begin_ns(reader->joined);
    const struct chunk_place *first = first_checkpoint(reader);
    return first ? store_time(first->header.last_ns) + 1 : 0;
}

static bool any_probed(const struct trace *trace)
{
    uint32_t count = trace_thread_count(trace), i = 0;
    while (i < count && !trace_thread_get(trace, i)->probed)
        i++;
    return i < count;
}

/* The end of a span that an observer reports of a thread depends on the thread's ranges from the
 * span's start on: so reading goes back to the first start of a chunk that lasts until
 * `from_ns`. */
static int64_t needed_from_ns(const struct store_reader *reader, int64_t from_ns)
{
    int64_t needed_ns = from_ns;
    bool probed = any_probed(reader->trace);
    for (size_t i = 0; i < reader->chunks.count && probed; i++) {
        const struct store_chunk_header *header = &reader->chunks.items[i].chunk.header;
        bool lasts = header->last_ns >= from_ns;
        needed_ns = lasts && header->first_ns < needed_ns ? header->first_ns : needed_ns;
    }
    return needed_ns;
}

/* A checkpoint keeps open ids in the order of the file. */
static bool ids_may_be_mixed(const struct store_reader *reader)
{
    bool mixed = !store_reader_ended(reader);
    for (size_t i = 0; i < reader->volumes->items.count; i++)
        mixed |= reader->volumes->items.items[i].ids_mixed;
    return mixed;
}

int store_reader_seek(struct store_reader *reader, int64_t from_ns, bool nested, bool in_time)
{
    if (reader->joined)
        return joined_seek(reader->joined, from_ns, nested, in_time);
    const struct chunk_place *place;
    bool all = in_time && ids_may_be_mixed(reader);
    int64_t needed_ns = all ? INT64_MIN : needed_from_ns(reader, from_ns);
    int error = store_reader_rewind(reader);
    if (!error)
        error = find_checkpoint(reader, needed_ns, nested, &place);
    if (error || !place)
        return error;
    error = start_checkpoint(reader, place);
    if (error)
        return error == -EBADMSG ? 0 : error; /* starts at the first event */
    sample_stream_seek(&reader->samples, from_ns);
    reader->begin_order = chunk_order(place);
    reader->in_chunk = reader->in_checkpoint = true;
    return 0;
}

int store_reader_rewind(struct store_reader *reader)
{
    if (reader->joined)
        return joined_rewind(reader->joined);
    memset(reader->threads, 0, trace_thread_count(reader->trace) * sizeof(*reader->threads));
    reader->next_chunk = 0;
    reader->begin_order = 0;
    reader->in_chunk = reader->in_checkpoint = false;
    reader->has_waiting = false;
    reader->spans.count = 0;
    sample_stream_rewind(&reader->samples);
    return 0;
}

bool store_reader_volume(const struct store_reader *reader, uint32_t index,
                         struct store_volume *ret_volume)
{
    if (reader->joined)
        return joined_volume(reader->joined, index, ret_volume);
    if (index >= reader->volumes->items.count)
        return false;
    const struct volume *volume = &reader->volumes->items.items[index];
    *ret_volume = (struct store_volume){volume->path, volume->number, volume->scan.file_size,
                                        volume->scan.header.set_id};
    return true;
}

struct trace *store_reader_trace(struct store_reader *reader)
{
    return reader->trace;
}

uint32_t store_reader_damage_count(const struct store_reader *reader)
{
    if (reader->joined)
        return joined_damage_count(reader->joined);
    return (uint32_t)reader->volumes->damage.count;
}

const struct store_damage *store_reader_damage(const struct store_reader *reader, uint32_t index)
{
    if (reader->joined)
        return joined_damage(reader->joined, index);
    const struct damage_list *damage = &reader->volumes->damage;
    return index < damage->count ? &damage->items[index] : NULL;
}

void store_reader_info(const struct store_reader *reader, struct store_info *ret_info)
{
    if (reader->joined) {
        joined_info(reader->joined, ret_info);
        return;
    }
    *ret_info = reader->info;
}

uint32_t store_reader_stream(const struct store_reader *reader)
{
    return reader->next_chunk ? reader->chunks.items[reader->next_chunk - 1].chunk.header.stream
                              : 0;
}
