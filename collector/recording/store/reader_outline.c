/* SPDX-License-Identifier: MIT */
/* What a reader knows before the first event: where all chunks are, in which order they are read,
 * and all definitions. Every byte is foreign. Thread-safety: none. */
#include "store_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOST_THREADS_MAX = 1 << 16, LOST_TRACKS_MAX = 1 << 16 };

/* Whether another volume comes behind this END; files of other writers may say less. */
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

/* Of one that grows, the last volume is looked at again. */
int reader_read_chunks(struct store_reader *reader)
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

int reader_read_outline(struct store_reader *reader)
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
