/* SPDX-License-Identifier: MIT */
/* Writing a recording: events and samples into columns, definitions before those that need them,
 * all of it as chunks into the queue that writes them. Thread-safety: none. */
#include "store_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A checkpoint is at most this part of the bytes of events before it, uncompressed. */
enum { CHECKPOINT_PART = 16 };

/* ---- Chunks ---- */

int writer_put_chunk(struct store_writer *writer, const struct store_chunk_header *header,
                     const void *payload, size_t size)
{
    struct queued_chunk *chunk = chunk_queue_take(writer->queue, size);
    if (!chunk)
        return -ENOMEM;
    chunk->header = *header;
    memcpy(chunk->payload, payload, size);
    return chunk_queue_put(writer->queue, chunk);
}

int writer_put_definitions(struct store_writer *writer)
{
    int more;
    do {
        writer->definitions.bytes.count = 0;
        writer->definitions.count = 0;
        more = definitions_collect(writer->trace, &writer->defined, STORE_RAW_TARGET,
                                   &writer->definitions);
        if (more < 0 || writer->definitions.count == 0)
            return more < 0 ? more : 0;
        struct store_chunk_header header = {.type = STORE_CHUNK_DEFINITIONS,
                                            .count = (uint32_t)writer->definitions.count};
        writer->volume.definition_bytes += writer->definitions.bytes.count;
        int error = writer_put_chunk(writer, &header, writer->definitions.bytes.items,
                                     writer->definitions.bytes.count);
        if (error)
            return error;
    } while (more);
    return 0;
}

uint32_t writer_next_number(const struct store_writer *writer)
{
    struct chunk_queue_state state;
    chunk_queue_look(writer->queue, &state);
    return state.number;
}

/* NULL: there is none that is small enough; *ret_error: -ENOMEM. */
static struct queued_chunk *make_checkpoint(struct store_writer *writer, size_t size_max,
                                            int *ret_error)
{
    struct event_encoder *encoder = event_encoder_create();
    struct queued_chunk *chunk = NULL;
    int status =
        encoder ? checkpoint_encode(writer->checkpoint, writer->threads.items, encoder) : -ENOMEM;
    size_t size = status == 1 ? event_encoder_size(encoder) : 0;
    bool small = size <= STORE_RAW_MAX && size <= size_max;
    if (size && small && (chunk = chunk_queue_take(writer->queue, size))) {
        chunk->header = (struct store_chunk_header){
            .type = STORE_CHUNK_CHECKPOINT,
            .stream = STORE_STREAM_EVENTS,
            .count = (uint32_t)event_encoder_count(encoder),
            .last_ns = checkpoint_told_ns(writer->checkpoint),
        };
        event_encoder_take(encoder, chunk->payload);
    }
    event_encoder_destroy(encoder);
    *ret_error = status < 0 || (size && small && !chunk) ? -ENOMEM : 0;
    return chunk;
}

static int put_checkpoint(struct store_writer *writer)
{
    int error;
    if (writer->since_checkpoint < writer->next_checkpoint)
        return 0;
    struct queued_chunk *chunk =
        make_checkpoint(writer, writer->since_checkpoint / CHECKPOINT_PART, &error);
    writer->next_checkpoint = chunk ? writer->checkpoint_bytes : writer->since_checkpoint * 2;
    if (chunk)
        writer->since_checkpoint = 0;
    return chunk ? chunk_queue_put(writer->queue, chunk) : error;
}

int writer_put_first_checkpoint(struct store_writer *writer)
{
    int error;
    struct queued_chunk *chunk = make_checkpoint(writer, STORE_RAW_MAX, &error);
    writer->since_checkpoint = 0;
    return chunk ? chunk_queue_put(writer->queue, chunk) : error;
}

static int put_events(struct store_writer *writer)
{
    size_t size = event_encoder_size(writer->encoder);
    struct queued_chunk *chunk = size ? chunk_queue_take(writer->queue, size) : NULL;
    if (!chunk)
        return size ? -ENOMEM : 0;
    struct store_chunk_header *header = &chunk->header;
    header->type = STORE_CHUNK_EVENTS;
    header->stream = STORE_STREAM_EVENTS;
    header->settled_ns = STORE_UNSETTLED;
    header->count = (uint32_t)event_encoder_count(writer->encoder);
    event_encoder_span(writer->encoder, &header->first_ns, &header->last_ns);
    event_encoder_take(writer->encoder, chunk->payload);
    checkpoint_told(writer->checkpoint, header->last_ns);
    writer->event_count += header->count;
    writer->since_checkpoint += size;
    writer->volume.data_bytes += size;
    int error = chunk_queue_put(writer->queue, chunk);
    return error ? error : put_checkpoint(writer);
}

static int put_late(struct store_writer *writer, uint32_t stream)
{
    struct late_stream *late = &writer->late.items[stream];
    size_t size = event_encoder_size(late->encoder);
    struct queued_chunk *chunk = size ? chunk_queue_take(writer->queue, size) : NULL;
    if (!chunk)
        return size ? -ENOMEM : 0;
    chunk->header = (struct store_chunk_header){
        .type = STORE_CHUNK_EVENTS,
        .stream = (uint16_t)(STORE_STREAM_DECLARED + stream),
        .settled_ns = late->settled_ns,
        .count = (uint32_t)event_encoder_count(late->encoder),
    };
    event_encoder_span(late->encoder, &chunk->header.first_ns, &chunk->header.last_ns);
    event_encoder_take(late->encoder, chunk->payload);
    writer->event_count += chunk->header.count;
    writer->volume.data_bytes += size;
    return chunk_queue_put(writer->queue, chunk);
}

static int put_all_late(struct store_writer *writer)
{
    int error = 0;
    for (uint32_t i = 0; i < writer->late.count && !error; i++)
        error = put_late(writer, i);
    return error;
}

static int put_samples(struct store_writer *writer)
{
    size_t size = sample_encoder_size(writer->samples);
    struct queued_chunk *chunk = size ? chunk_queue_take(writer->queue, size) : NULL;
    if (!chunk)
        return size ? -ENOMEM : 0;
    struct store_chunk_header *header = &chunk->header;
    header->type = STORE_CHUNK_SAMPLES;
    header->stream = STORE_STREAM_SAMPLES;
    header->settled_ns = STORE_UNSETTLED;
    header->count = (uint32_t)sample_encoder_count(writer->samples);
    sample_encoder_span(writer->samples, &header->first_ns, &header->last_ns);
    sample_encoder_take(writer->samples, chunk->payload);
    writer->volume.data_bytes += size;
    return chunk_queue_put(writer->queue, chunk);
}

int writer_put_all(struct store_writer *writer)
{
    int error = writer_put_definitions(writer);
    if (!error)
        error = put_events(writer);
    if (!error)
        error = put_all_late(writer);
    return error ? error : put_samples(writer);
}

int store_writer_seal(struct store_writer *writer, uint64_t *ret_ticket)
{
    if (!writer->error)
        writer->error = writer_put_all(writer);
    if (!writer->error)
        writer->error = writer_turn(writer);
    struct chunk_queue_state state;
    *ret_ticket = chunk_queue_mark(writer->queue);
    chunk_queue_look(writer->queue, &state);
    if (!writer->error)
        writer->error = state.error;
    return writer->error;
}

int store_writer_flush(struct store_writer *writer)
{
    uint64_t ticket;
    int error = store_writer_seal(writer, &ticket);
    if (!error)
        error = writer->error = chunk_queue_await(writer->queue, ticket);
    return error;
}

/* ---- Adding ---- */

/* What fits an encoder at once of the events from `begin` on. */
struct part_size {
    uint32_t events, args;
};

static struct part_size part_size(const struct event_batch *batch, uint32_t begin)
{
    uint32_t left = batch->count - begin;
    struct part_size size = {.events = left < STORE_BATCH_MAX / 2 ? left : STORE_BATCH_MAX / 2};
    for (uint32_t i = 0; i < size.events; i++)
        size.args += batch->events[begin + i].arg_count;
    while (size.args > STORE_BATCH_ARGS_MAX)
        size.args -= batch->events[begin + --size.events].arg_count;
    return size;
}

/* Part of a batch that fits an encoder. The last part carries the batch's source, the ones before
 * it an empty range: after a crash, no part counts as written unless all are. */
static int add_part(struct store_writer *writer, const struct event_batch *batch, uint32_t begin,
                    const struct part_size *size)
{
    uint32_t count = size->events;
    struct event_batch part = *batch;
    part.events = batch->count ? batch->events + begin : NULL;
    part.count = count;
    if (begin + count < batch->count)
        part.source.end_offset = part.source.begin_offset;
    struct thread_state *state = &writer->threads.items[batch->thread];
    int error = event_encoder_add(writer->encoder, &part, size->args, state);
    if (!error && state->rare)
        error = checkpoint_note_ids(writer->checkpoint, writer->trace, &part);
    if (!error)
        error = checkpoint_add(writer->checkpoint, writer->trace, &part, state);
    if (!error && event_encoder_size(writer->encoder) >= STORE_RAW_TARGET) {
        error = writer_put_definitions(writer);
        return error ? error : put_events(writer);
    }
    return error;
}

static int know_thread(struct store_writer *writer, uint32_t thread)
{
    if (thread >= trace_thread_count(writer->trace))
        return -EINVAL;
    while (writer->threads.count <= thread)
        if (vec_push(&writer->threads, ((struct thread_state){0})) != 0)
            return -ENOMEM;
    return 0;
}

int store_writer_add(struct store_writer *writer, const struct event_batch *batch)
{
    uint32_t begin = 0;
    if (!writer->error)
        writer->error = know_thread(writer, batch->thread);
    while (!writer->error) {
        struct part_size size = part_size(batch, begin);
        writer->error = add_part(writer, batch, begin, &size);
        begin += size.events;
        if (begin == batch->count)
            break;
    }
    if (!writer->error)
        writer->error = writer_turn(writer);
    return writer->error;
}

static int know_late(struct store_writer *writer, uint32_t stream)
{
    if (stream >= trace_stream_count(writer->trace))
        return -EINVAL;
    while (writer->late.count <= stream) {
        struct late_stream late = {.encoder = event_encoder_create(),
                                   .settled_ns = STORE_UNSETTLED};
        if (!late.encoder || vec_push(&writer->late, late) != 0) {
            event_encoder_destroy(late.encoder);
            return -ENOMEM;
        }
    }
    return 0;
}

static int know_late_thread(struct store_writer *writer, uint32_t stream, uint32_t thread)
{
    struct late_stream *late = &writer->late.items[stream];
    if (thread >= trace_thread_count(writer->trace))
        return -EINVAL;
    while (late->threads.count <= thread)
        if (vec_push(&late->threads, ((struct thread_state){0})) != 0)
            return -ENOMEM;
    return 0;
}

int store_writer_add_late(struct store_writer *writer, uint32_t stream,
                          const struct event_batch *batch)
{
    uint32_t begin = 0;
    if (!writer->error)
        writer->error = know_late(writer, stream);
    if (!writer->error)
        writer->error = know_late_thread(writer, stream, batch->thread);
    if (!writer->error)
        writer->error = checkpoint_note_ids(writer->checkpoint, writer->trace, batch);
    while (!writer->error && begin < batch->count) {
        struct part_size size = part_size(batch, begin);
        struct event_batch part = *batch;
        struct late_stream *late = &writer->late.items[stream];
        struct event_encoder *encoder = late->encoder;
        part.events += begin;
        part.count = size.events;
        if (begin + size.events < batch->count)
            part.source.end_offset = part.source.begin_offset;
        writer->error =
            event_encoder_add(encoder, &part, size.args, &late->threads.items[batch->thread]);
        begin += size.events;
        if (writer->error || event_encoder_size(encoder) < STORE_RAW_TARGET)
            continue;
        writer->error = writer_put_definitions(writer);
        if (!writer->error)
            writer->error = put_late(writer, stream);
    }
    if (!writer->error)
        writer->error = writer_turn(writer);
    return writer->error;
}

void store_writer_settle(struct store_writer *writer, uint32_t stream, int64_t settled_ns)
{
    if (!writer->error)
        writer->error = know_late(writer, stream);
    if (!writer->error)
        writer->late.items[stream].settled_ns = settled_ns;
}

int store_writer_add_samples(struct store_writer *writer, const struct sample *samples,
                             size_t count)
{
    for (size_t i = 0; i < count && !writer->error; i++) {
        const struct sample_set *set =
            sample_set_get(trace_sets_get(writer->trace), samples[i].set);
        bool known = samples[i].thread < trace_thread_count(writer->trace) &&
                     (set->count == 0 || set->count == samples[i].value_count);
        writer->error = known ? sample_encoder_add(writer->samples, set, &samples[i]) : -EINVAL;
        if (writer->error || sample_encoder_size(writer->samples) < STORE_RAW_TARGET)
            continue;
        writer->error = writer_put_definitions(writer);
        if (!writer->error)
            writer->error = put_samples(writer);
    }
    if (!writer->error)
        writer->error = writer_turn(writer);
    return writer->error;
}

size_t store_writer_pending_bytes(const struct store_writer *writer)
{
    size_t size = event_encoder_size(writer->encoder) + sample_encoder_size(writer->samples);
    for (size_t i = 0; i < writer->late.count; i++)
        size += event_encoder_size(writer->late.items[i].encoder);
    return size;
}

uint32_t store_writer_stacks_written(const struct store_writer *writer)
{
    return writer->error ? 0 : writer->defined.next[STORE_DEFINE_STACK];
}

uint64_t store_writer_file_bytes(const struct store_writer *writer)
{
    struct chunk_queue_state state;
    chunk_queue_look(writer->queue, &state);
    return state.former + state.offset;
}

int store_writer_beside(struct store_writer *writer)
{
    return chunk_queue_beside(writer->queue);
}

int store_writer_fd(const struct store_writer *writer)
{
    return chunk_queue_fd(writer->queue);
}

void store_writer_look(struct store_writer *writer, struct store_progress *ret_progress)
{
    struct chunk_queue_state state;
    chunk_queue_hear(writer->queue);
    chunk_queue_look(writer->queue, &state);
    *ret_progress = (struct store_progress){state.written, state.waiting_since_ns,
                                            writer->error ? writer->error : state.error};
}

bool store_writer_has_room(const struct store_writer *writer)
{
    return chunk_queue_has_room(writer->queue, writer_queue_max(writer));
}

void store_writer_await_room(struct store_writer *writer)
{
    chunk_queue_await_room(writer->queue, writer_queue_max(writer));
}
