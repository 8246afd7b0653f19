/* SPDX-License-Identifier: MIT */
/* Reading a recording: all definitions first, then batch by batch.
 *
 * Every byte is foreign. Memory: one chunk, one batch, 20 bytes a thread, 88 and less a chunk.
 * Where a damaged chunk took events of a thread, the next batch of that thread tells how many, and
 * an EVENT_LOST of cause LOSS_CORRUPT stands in their place. Thread-safety: none. */
#include "store_parts.h"

#include "chunk.h"
#include "definitions.h"
#include "event_code.h"
#include "file_io.h"
#include "sample_stream.h"
#include "scan.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOST_THREADS_MAX = 1 << 16, LOST_TRACKS_MAX = 1 << 16 };

struct thread_position {
    struct thread_state state;
    int64_t last_ns;
};

struct events_chunk {
    struct chunk_place chunk;
    int64_t settled_ns; /* no event of it or of a later one is earlier */
    bool damage_noted;
};

struct checkpoint_place {
    struct chunk_place chunk;
    uint32_t number; /* of the chunk */
};

struct store_reader {
    int fd;
    struct scan scan;
    struct trace *trace;
    struct chunk_buffer buffer;
    struct event_decoder *decoder;
    struct sample_stream samples;
    VEC(struct events_chunk) chunks;
    VEC(struct checkpoint_place) checkpoints;
    uint32_t begin_number; /* chunks of stream 0 with smaller numbers are passed over */
    bool has_late;         /* there are declared streams */
    size_t next_chunk;
    bool in_chunk;
    bool in_checkpoint; /* it is one */
    struct thread_position *threads;
    uint32_t thread_capacity;
    bool follow; /* read as it grows */
    bool again;  /* fd and trace are another's */
    struct definitions_holes holes;
    struct store_info info;
    /* A batch that waits behind the EVENT_LOST made for it. */
    struct event lost;
    struct event_batch waiting;
    bool has_waiting;
};

/* Loads a chunk that the first pass needs; of END only that it is whole. */
static int read_facts(struct store_reader *reader, const struct chunk_place *chunk,
                      struct definitions_holes *holes)
{
    const uint8_t *payload;
    const char *reason = NULL;
    int error = chunk_load(&reader->buffer, reader->fd, chunk, &payload, &reason);
    if (!error && chunk->header.type == STORE_CHUNK_DEFINITIONS) {
        reason = "malformed definitions";
        error = definitions_apply(reader->trace, holes, payload, chunk->header.raw_size);
    }
    if (error != -EBADMSG)
        return error;
    return scan_add_damage(&reader->scan, chunk->offset,
                           sizeof(chunk->header) + chunk->header.stored_size, reason);
}

static int take_chunk(struct store_reader *reader, const struct chunk_place *chunk,
                      struct definitions_holes *holes)
{
    reader->info.chunk_count++;
    reader->info.raw_bytes += chunk->header.raw_size;
    switch (chunk->header.type) {
    case STORE_CHUNK_SAMPLES:
        reader->info.sample_count += chunk->header.count;
        return sample_stream_add(&reader->samples, chunk);
    case STORE_CHUNK_EVENTS:
        reader->has_late |= chunk->header.stream >= STORE_STREAM_DECLARED;
        reader->info.event_count += chunk->header.count;
        return vec_push(&reader->chunks, ((struct events_chunk){.chunk = *chunk}));
    case STORE_CHUNK_CHECKPOINT:
        reader->info.checkpoint_count++;
        return reader->follow ? 0
                              : vec_push(&reader->checkpoints,
                                         ((struct checkpoint_place){*chunk, chunk->header.number}));
    case STORE_CHUNK_DEFINITIONS:
    case STORE_CHUNK_END:
        return read_facts(reader, chunk, holes);
    default:
        return 0;
    }
}

/* What a chunk's events name, at most; damage is left to the second pass. */
struct named {
    uint32_t thread;      /* ordinal */
    uint64_t track_count; /* 1 + ordinal */
    uint64_t track_limit; /* what lies beyond is no ordinal */
};

static void note_named(struct named *named, const struct event_batch *batch)
{
    named->thread = batch->thread > named->thread ? batch->thread : named->thread;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
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
    int status = chunk_load(&reader->buffer, reader->fd, chunk, &payload, &reason);
    if (!status)
        status = event_decoder_start(reader->decoder, payload, chunk->header.raw_size);
    while (status >= 0 && (status = event_decoder_next(reader->decoder, &batch, &before)) == 1)
        note_named(named, &batch);
    return status == -EBADMSG ? 0 : status;
}

/* Damage may have taken the definitions of threads and tracks whose events or samples are whole:
 * these get entries that say nothing, threads in a process of their own. */
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
    int sampled = sample_stream_highest_thread(&reader->samples, reader->fd, &named.thread);
    bool any = reader->chunks.count || reader->samples.chunks.count;
    if (sampled || !any || named.thread < count || named.thread - count >= LOST_THREADS_MAX)
        return sampled;
    int64_t process = trace_process_add(reader->trace);
    for (; process >= 0 && count <= named.thread; count++)
        if (trace_thread_add(reader->trace, (uint32_t)process) < 0)
            return -ENOMEM;
    return process < 0 ? -ENOMEM : 0;
}

/* Chunks of streams, each from its place on: the one goes on whose next chunk begins first. */
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

/* A stream that is late delays no other: its chunks come where their times are. */
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

/* From the last chunk to the first: what is still to come. */
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

/* Headers of all chunks that are there, payloads of definitions. */
static int read_chunks(struct store_reader *reader)
{
    struct chunk_place chunk;
    int status = 0;
    while (status == 0 && (status = scan_next(&reader->scan, &chunk)) == 1)
        status = take_chunk(reader, &chunk, &reader->holes);
    reader->info.file_bytes = reader->scan.file_size;
    reader->info.major = reader->scan.header.major;
    reader->info.minor = reader->scan.header.minor;
    reader->info.complete = reader->scan.ended;
    return status;
}

/* The first pass. */
static int read_outline(struct store_reader *reader)
{
    int status = scan_start(&reader->scan, reader->fd);
    reader->scan.follow = reader->follow;
    if (!status)
        status = read_chunks(reader);
    if (status || reader->follow)
        return status ? status : definitions_check(reader->trace);
    if (reader->has_late)
        status = order_streams(reader);
    settle_chunks(reader);
    if (!status && reader->scan.damage.count)
        status = define_lost(reader);
    if (!status)
        status = definitions_check(reader->trace);
    if (status || reader->scan.ended)
        return status;
    return scan_add_damage(&reader->scan, reader->scan.file_size, 0,
                           "no end mark: the recording was cut or not completed");
}

/* A place for each thread of the trace. 0 or -ENOMEM. */
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

static int prepare(struct store_reader *reader)
{
    reader->trace = trace_create();
    reader->decoder = event_decoder_create();
    if (!reader->trace || !reader->decoder || sample_stream_init(&reader->samples) != 0)
        return -ENOMEM;
    int error = read_outline(reader);
    return error ? error : know_threads(reader);
}

static int open_reader(const char *path, bool follow, struct store_reader **ret_reader)
{
    struct store_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return -ENOMEM;
    reader->follow = follow;
    reader->fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    int error = reader->fd < 0 ? reader->fd : prepare(reader);
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

int store_reader_open(const char *path, struct store_reader **ret_reader)
{
    int error = open_reader(path, false, ret_reader);
    if (error)
        return error;
    error = trace_name_places((*ret_reader)->trace);
    if (error)
        store_reader_close(*ret_reader);
    return error;
}

int store_reader_follow(const char *path, struct store_reader **ret_reader)
{
    return open_reader(path, true, ret_reader);
}

int store_reader_more(struct store_reader *reader)
{
    uint64_t count = reader->info.chunk_count;
    if (reader->next_chunk == reader->chunks.count && !reader->in_chunk)
        reader->chunks.count = reader->next_chunk = 0; /* read, and not asked for again */
    sample_stream_forget(&reader->samples);
    int status = scan_refresh(&reader->scan);
    if (!status)
        status = read_chunks(reader);
    if (!status && reader->info.chunk_count > count)
        status = definitions_check(reader->trace);
    if (!status)
        status = know_threads(reader);
    return status ? status : reader->info.chunk_count > count;
}

/* Nothing but the end mark may be missing: what damage took, a checkpoint would hide. */
static bool is_whole(const struct store_reader *reader)
{
    return reader->scan.damage.count <= !reader->scan.ended;
}

int store_reader_again(const struct store_reader *first, struct store_reader **ret_reader)
{
    struct store_reader *reader = calloc(1, sizeof(*reader));
    size_t count = first->chunks.count;
    *ret_reader = reader;
    if (!reader)
        return -ENOMEM;
    reader->again = true;
    reader->fd = first->fd;
    reader->trace = first->trace;
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
    return reader->scan.ended;
}

void store_reader_close(struct store_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0 && !reader->again)
        close(reader->fd);
    scan_free(&reader->scan);
    if (!reader->again)
        trace_destroy(reader->trace);
    chunk_buffer_free(&reader->buffer);
    event_decoder_destroy(reader->decoder);
    sample_stream_fini(&reader->samples);
    vec_free(&reader->chunks);
    vec_free(&reader->checkpoints);
    free(reader->threads);
    free(reader);
}

/* Notes the damage of the chunk at hand, once. */
static int note_damage(struct store_reader *reader, const char *reason)
{
    struct events_chunk *at = &reader->chunks.items[reader->next_chunk - 1];
    if (at->damage_noted)
        return 0;
    at->damage_noted = true;
    return scan_add_damage(&reader->scan, at->chunk.offset,
                           sizeof(at->chunk.header) + at->chunk.header.stored_size, reason);
}

/* A checkpoint stands for it. */
static bool is_before(const struct store_reader *reader, const struct store_chunk_header *header)
{
    return header->stream == STORE_STREAM_EVENTS && header->number < reader->begin_number;
}

/* Loads the next chunk: 1, 0 at the end, -errno. A damaged one is noted and left. */
static int open_chunk(struct store_reader *reader)
{
    while (reader->next_chunk < reader->chunks.count &&
           is_before(reader, &reader->chunks.items[reader->next_chunk].chunk.header))
        reader->next_chunk++;
    if (reader->next_chunk == reader->chunks.count)
        return 0;
    const struct chunk_place *chunk = &reader->chunks.items[reader->next_chunk++].chunk;
    const uint8_t *payload;
    const char *reason = NULL;
    int error = chunk_load(&reader->buffer, reader->fd, chunk, &payload, &reason);
    if (!error) {
        reason = "malformed events";
        error = event_decoder_start(reader->decoder, payload, chunk->header.raw_size);
    }
    reader->in_chunk = !error;
    if (error == -EBADMSG)
        error = note_damage(reader, reason);
    return error ? error : 1;
}

/* Events of this thread are missing before `batch`: an EVENT_LOST says so, the batch waits. */
static void insert_lost(struct store_reader *reader, const struct thread_position *position,
                        const struct batch_before *before, struct event_batch *batch)
{
    int64_t end_ns = batch->count ? batch->events[0].time_ns : position->last_ns;
    reader->lost = (struct event){
        .kind = EVENT_LOST,
        .level = LOSS_CORRUPT,
        .thread = batch->thread,
        .time_ns = position->state.next_index ? position->last_ns : end_ns,
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

/* 1, or 0 if the batch's thread is not known. */
static int deliver(struct store_reader *reader, struct event_batch *batch,
                   const struct batch_before *before)
{
    if (batch->thread >= trace_thread_count(reader->trace))
        return 0;
    struct thread_position *position = &reader->threads[batch->thread];
    struct thread_position old = *position;
    position->state.next_index =
        before->first_index + (reader->in_checkpoint ? 0 : before->stored_count);
    position->state.depth = before->depth_after;
    if (batch->count)
        position->last_ns = batch->events[batch->count - 1].time_ns;
    if (before->first_index > old.state.next_index && !reader->in_checkpoint)
        insert_lost(reader, &old, before, batch);
    return 1;
}

/* The next batch as it is stored: 1, 0 at the end, -errno. */
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

int store_reader_next(struct store_reader *reader, struct event_batch *ret_batch)
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

int store_reader_next_samples(struct store_reader *reader, const struct sample **ret_samples,
                              uint32_t *ret_count)
{
    return sample_stream_next(&reader->samples, &reader->scan, reader->trace, ret_samples,
                              ret_count);
}

int64_t store_reader_samples_settled_ns(const struct store_reader *reader)
{
    return sample_stream_settled_ns(&reader->samples);
}

/* The last checkpoint before which all was told earlier; NULL: there is none. */
static const struct checkpoint_place *find_checkpoint(const struct store_reader *reader,
                                                      int64_t from_ns)
{
    const struct checkpoint_place *found = NULL;
    for (size_t i = 0; i < reader->checkpoints.count && is_whole(reader); i++)
        if (reader->checkpoints.items[i].chunk.header.last_ns < from_ns)
            found = &reader->checkpoints.items[i];
    return found;
}

int store_reader_seek(struct store_reader *reader, int64_t from_ns)
{
    const uint8_t *payload;
    const char *reason;
    int error = store_reader_rewind(reader);
    const struct checkpoint_place *place = find_checkpoint(reader, from_ns);
    if (error || !place)
        return error;
    error = chunk_load(&reader->buffer, reader->fd, &place->chunk, &payload, &reason);
    if (!error)
        error =
            event_decoder_start_checkpoint(reader->decoder, payload, place->chunk.header.raw_size);
    if (error)
        return error == -EBADMSG ? 0 : error; /* from the first event on */
    sample_stream_seek(&reader->samples, from_ns);
    reader->begin_number = place->number;
    reader->in_chunk = reader->in_checkpoint = true;
    return 0;
}

int store_reader_rewind(struct store_reader *reader)
{
    memset(reader->threads, 0, trace_thread_count(reader->trace) * sizeof(*reader->threads));
    reader->next_chunk = reader->begin_number = 0;
    reader->in_chunk = reader->in_checkpoint = false;
    reader->has_waiting = false;
    sample_stream_rewind(&reader->samples);
    return 0;
}

struct trace *store_reader_trace(struct store_reader *reader)
{
    return reader->trace;
}

uint32_t store_reader_damage_count(const struct store_reader *reader)
{
    return (uint32_t)reader->scan.damage.count;
}

const struct store_damage *store_reader_damage(const struct store_reader *reader, uint32_t index)
{
    return index < reader->scan.damage.count ? &reader->scan.damage.items[index] : NULL;
}

void store_reader_info(const struct store_reader *reader, struct store_info *ret_info)
{
    *ret_info = reader->info;
}

uint32_t store_reader_stream(const struct store_reader *reader)
{
    return reader->next_chunk ? reader->chunks.items[reader->next_chunk - 1].chunk.header.stream
                              : 0;
}

const struct scan *store_reader_scan(const struct store_reader *reader)
{
    return &reader->scan;
}

uint32_t store_reader_thread_count(const struct store_reader *reader)
{
    return trace_thread_count(reader->trace);
}

struct thread_state store_reader_thread_state(const struct store_reader *reader, uint32_t thread)
{
    return reader->threads[thread].state;
}
