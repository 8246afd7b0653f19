/* SPDX-License-Identifier: MIT */
/* Writing a recording: events and samples into columns, definitions before their users, all of it
 * as chunks into the queue that writes them. Thread-safety: none. */
#include "writer.h"

#include "checkpoint.h"
#include "chunk.h"
#include "chunk_queue.h"
#include "clock_now.h"
#include "event_encode.h"
#include "fields.h"
#include "file_io.h"
#include "reader.h"
#include "reader_parts.h"
#include "sample_encode.h"
#include "stacks.h"
#include "volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* A declared stream. */
struct late_stream {
    struct event_encoder *encoder;
    int64_t settled_ns; /* promised */
    VEC(struct thread_state) threads;
};

/* The current file. */
struct written_volume {
    char *path; /* of volume 0; owned; NULL: no further volumes */
    uint64_t set_id, bytes_max;
    uint32_t number;
    bool overwrite;
    uint64_t definition_bytes, data_bytes; /* put so far, uncompressed */
    uint64_t retry_bytes;                  /* data size before the next attempt at another file */
};

struct store_writer {
    int fd;      /* the first file that it wrote */
    int lock_fd; /* the first volume, if that is another file; else -1 */
    int error;
    struct written_volume volume;
    const struct trace *trace;
    uint64_t event_count; /* of the file */
    struct chunk_queue *queue;
    struct event_encoder *encoder;
    VEC(struct late_stream) late;
    struct checkpoint *checkpoint;
    uint32_t checkpoint_bytes;
    uint64_t since_checkpoint, next_checkpoint; /* bytes of events */
    struct sample_encoder *samples;
    struct definitions_state defined;
    struct definitions_buffer definitions;
    VEC(struct thread_state) threads;
};

static int writer_put_end(struct store_writer *writer, bool follows);
static uint32_t writer_queue_max(const struct store_writer *writer);
static int writer_turn(struct store_writer *writer);

/* A checkpoint is at most this part of the bytes of events before it, uncompressed. */
enum { CHECKPOINT_PART = 16 };

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* Puts the next chunk, with a copy of the payload. 0 or -errno. */
static int writer_put_chunk(struct store_writer *writer, const struct store_chunk_header *header,
                            const void *payload, size_t size)
{
    struct queued_chunk *chunk = chunk_queue_take(writer->queue, size);
    if (!chunk)
        return -ENOMEM;
    chunk->header = *header;
    memcpy(chunk->payload, payload, size);
    return chunk_queue_put(writer->queue, chunk);
}

static int writer_put_definitions(struct store_writer *writer)
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

/* The number of the next chunk. */
static uint32_t writer_next_number(const struct store_writer *writer)
{
    struct chunk_queue_state state;
    chunk_queue_look(writer->queue, &state);
    return state.number;
}

/* NULL: not available or too large; *ret_error: -ENOMEM. */
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

/* The ranges open at the start of a volume, if they are known. */
static int writer_put_first_checkpoint(struct store_writer *writer)
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

/* Puts all that was added. */
static int writer_put_all(struct store_writer *writer)
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

/* ---- Adding ---------------------------------------------------------------------------------- */

/* The part of the events from `begin` on that fits an encoder at once. */
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

/* ---- Writer turn ----------------------------------------------------------------------------- */

/* Turns from one volume to the next. The full one gets its end, which announces the next; the next
 * file is created before, so that a reader that finds the end finds the file too. Each volume
 * begins with all definitions and the open ranges, so that it can be read alone. If the next cannot
 * be made, the full one goes on. */

/* The header of the current volume. 0 or -EIO. */
static int writer_make_header(const struct store_writer *writer,
                              struct store_file_header *ret_header)
{
    *ret_header = (struct store_file_header){
        .set_id = writer->volume.set_id,
        .volume = writer->volume.number,
        .session_id = trace_session_get(writer->trace)->id,
        .created_realtime_ns = (uint64_t)clock_real_ns(),
    };
    ssize_t size = (ssize_t)sizeof(ret_header->file_id);
    if (getrandom(&ret_header->file_id, (size_t)size, 0) != size)
        return -EIO;
    file_header_seal(ret_header);
    return 0;
}

/* Queued data is expected to shrink like the data before it. */
static bool is_full(const struct store_writer *writer)
{
    const struct written_volume *volume = &writer->volume;
    uint64_t data = volume->data_bytes + store_writer_pending_bytes(writer);
    struct chunk_queue_state state;
    if (volume->bytes_max == 0 || data < volume->definition_bytes || data < volume->retry_bytes)
        return false;
    chunk_queue_look(writer->queue, &state);
    double raw = (double)(state.waiting_bytes + store_writer_pending_bytes(writer));
    return (double)state.present + raw * state.ratio >= (double)volume->bytes_max;
}

/* Number of chunks that may wait. One if a volume could end with the waiting chunks, uncompressed:
 * then no more than that one exceeds its limit. */
static uint32_t writer_queue_max(const struct store_writer *writer)
{
    struct chunk_queue_state state;
    uint64_t bytes_max = writer->volume.bytes_max;
    if (bytes_max == 0)
        return CHUNK_QUEUE_MAX;
    chunk_queue_look(writer->queue, &state);
    uint64_t most = state.present + state.waiting_bytes + store_writer_pending_bytes(writer);
    return most < bytes_max ? CHUNK_QUEUE_MAX : 1;
}

/* True if the file is a volume of this number, or empty. */
static bool is_leftover(const char *path, uint32_t number)
{
    struct damage_list damage = {0};
    struct scan scan = {0};
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    int error = fd < 0 ? fd : scan_start(&scan, fd, path, &damage);
    if (fd >= 0)
        close(fd);
    vec_free(&damage);
    return error == -ENODATA || (error == 0 && scan.header.volume == number);
}

/* Checks that the names of later volumes of `path` are free. With `overwrite`, volumes of an older
 * recording are ignored. 0, -EEXIST or -ENOMEM. */
static int writer_look_beside(const char *path, bool overwrite)
{
    struct volume_numbers numbers = {0};
    int error = volume_numbers(path, &numbers);
    for (size_t i = 0; i < numbers.items.count && !error; i++) {
        char *beside = store_volume_path(path, numbers.items.items[i]);
        if (!beside)
            error = -ENOMEM;
        else if (!overwrite || !is_leftover(beside, numbers.items.items[i]))
            error = -EEXIST;
        free(beside);
    }
    vec_free(&numbers.items);
    return error;
}

/* Makes the next volume's file; -errno: there will be no next volume. */
static int make_file(const struct written_volume *volume)
{
    if (volume->number >= VOLUME_NUMBER_MAX)
        return -ENOSPC;
    char *path = store_volume_path(volume->path, volume->number + 1);
    if (!path)
        return -ENOMEM;
    if (volume->overwrite && is_leftover(path, volume->number + 1))
        unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0666);
    int error = fd < 0 ? -errno : file_lock(fd);
    free(path);
    if (error && fd >= 0)
        close(fd);
    return error ? error : fd;
}

/* 0 or -errno. Takes `fd` in any case. */
static int begin_file(struct store_writer *writer, int fd)
{
    struct store_file_header header;
    int error = writer_put_end(writer, true);
    writer->volume.number++;
    writer->volume.definition_bytes = writer->volume.data_bytes = writer->volume.retry_bytes = 0;
    writer->event_count = 0;
    if (!error)
        error = writer_make_header(writer, &header);
    if (error)
        close(fd);
    else
        error = chunk_queue_turn(writer->queue, fd, &header);
    return error;
}

/* Goes on in another volume if this one is full. 0 or -errno. */
static int writer_turn(struct store_writer *writer)
{
    struct written_volume *volume = &writer->volume;
    if (!is_full(writer))
        return 0;
    int error = writer_put_all(writer);
    int fd = error ? error : make_file(volume);
    if (fd < 0) {
        volume->retry_bytes = 2 * volume->data_bytes;
        return error;
    }
    error = begin_file(writer, fd);
    definitions_state_free(&writer->defined);
    writer->defined = (struct definitions_state){0};
    if (!error)
        error = writer_put_definitions(writer);
    return error ? error : writer_put_first_checkpoint(writer);
}

/* The writer of a recording holds a lock on its first file. */
static int look_for_writer(const char *first)
{
    int fd = file_open_regular(AT_FDCWD, first, O_RDONLY, NULL);
    int error = fd < 0 ? 0 : file_lock(fd);
    if (fd >= 0)
        close(fd);
    return error;
}

/* The locked file at the path will be overwritten by another recording: if it is the first volume
 * of one, removes its later volumes. 0, -ENOMEM; -EBUSY: it is a volume of a recording that is
 * being written. */
static int writer_leave_recording(const char *path)
{
    struct volumes volumes = {0};
    int error = volumes_open(&volumes, path, false);
    const struct volume *first = volumes.items.items;
    bool any = volumes.items.count > 0;
    bool is_first = any && first->number == 0 && strcmp(first->path, path) == 0;
    error = error == -ENOMEM ? error : any && !is_first ? look_for_writer(first->path) : 0;
    for (size_t i = 1; i < volumes.items.count && is_first; i++)
        unlink(volumes.items.items[i].path);
    volumes_close(&volumes);
    return error;
}

/* ---- Writer open ----------------------------------------------------------------------------- */

/* Opening and closing of a writer: a new recording, one continued after its collector died, names
 * added to a complete one. */

/* Measured: level 3 costs a third more CPU for the same size, -1 saves little for a fifth more
 * bytes. */
enum { COMPRESSION_DEFAULT = 1 };

/* Bytes of events between checkpoints, uncompressed. */
enum { CHECKPOINT_BYTES = 4 << 20 };

static void destroy(struct store_writer *writer)
{
    chunk_queue_destroy(writer->queue);
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->lock_fd >= 0)
        close(writer->lock_fd);
    free(writer->volume.path);
    event_encoder_destroy(writer->encoder);
    for (size_t i = 0; i < writer->late.count; i++) {
        event_encoder_destroy(writer->late.items[i].encoder);
        vec_free(&writer->late.items[i].threads);
    }
    vec_free(&writer->late);
    checkpoint_destroy(writer->checkpoint);
    sample_encoder_destroy(writer->samples);
    definitions_state_free(&writer->defined);
    definitions_buffer_free(&writer->definitions);
    vec_free(&writer->threads);
    free(writer);
}

static int write_file_header(struct store_writer *writer)
{
    struct store_file_header header;
    ssize_t size = (ssize_t)sizeof(writer->volume.set_id);
    if (getrandom(&writer->volume.set_id, (size_t)size, 0) != size)
        return -EIO;
    int error = writer_make_header(writer, &header);
    if (error)
        return error;
    const struct chunk_queue_place place = {
        .fd = writer->fd, .file_id = header.file_id, .offset = sizeof(header)};
    chunk_queue_begin(writer->queue, &place);
    return file_write_all(writer->fd, &header, sizeof(header));
}

static struct store_writer *create(const struct trace *trace,
                                   const struct store_writer_options *options)
{
    struct store_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return NULL;
    writer->fd = writer->lock_fd = -1;
    writer->trace = trace;
    writer->queue =
        chunk_queue_create(options->compression ? options->compression : COMPRESSION_DEFAULT);
    writer->encoder = event_encoder_create();
    writer->samples = sample_encoder_create();
    writer->checkpoint = checkpoint_create();
    writer->checkpoint_bytes =
        options->checkpoint_bytes ? options->checkpoint_bytes : CHECKPOINT_BYTES;
    writer->next_checkpoint = writer->checkpoint_bytes;
    if (writer->queue && writer->encoder && writer->samples && writer->checkpoint)
        return writer;
    destroy(writer);
    return NULL;
}

/* Old contents are cut off after the file is locked; devices and pipes have no length. */
static int open_new(struct store_writer *writer, const char *path, bool overwrite)
{
    writer->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? 0 : O_EXCL), 0666);
    int error = writer->fd < 0 ? -errno : file_lock(writer->fd);
    if (error == 0 && overwrite)
        error = writer_leave_recording(path);
    if (error == 0 && overwrite && ftruncate(writer->fd, 0) != 0 && errno != EINVAL)
        error = -errno;
    return error;
}

/* Fails if foreign files have the names of later volumes. */
static int plan_volumes(struct store_writer *writer, const char *path,
                        const struct store_writer_options *options)
{
    if (options->volume_bytes == 0)
        return 0;
    writer->volume.bytes_max = options->volume_bytes;
    writer->volume.overwrite = options->overwrite;
    writer->volume.path = strdup(path);
    return writer->volume.path ? writer_look_beside(path, options->overwrite) : -ENOMEM;
}

static bool is_empty(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

int store_writer_create(const char *path, const struct trace *trace,
                        const struct store_writer_options *options,
                        struct store_writer **ret_writer)
{
    struct store_writer *writer = create(trace, options);
    if (!writer)
        return -ENOMEM;
    int error = plan_volumes(writer, path, options);
    if (error == 0)
        error = open_new(writer, path, options->overwrite);
    if (error == 0)
        error = write_file_header(writer);
    if (error) {
        if (writer->fd >= 0 && (!options->overwrite || is_empty(writer->fd)))
            unlink(path); /* created here, or still empty */
        destroy(writer);
        return error;
    }
    *ret_writer = writer;
    return 0;
}

static const struct volume *last_volume(const struct store_reader *reader)
{
    return &reader->volumes->items.items[reader->volumes->items.count - 1];
}

/* Takes over the threads of the recording. All processes and threads are defined once more, as
 * `trace` may have changed them. */
static int take_over(struct store_writer *writer, const struct store_reader *reader)
{
    writer->event_count = last_volume(reader)->event_count;
    for (uint32_t i = 0; i < trace_thread_count(reader->trace); i++)
        if (vec_push(&writer->threads, reader->threads[i].state) != 0)
            return -ENOMEM;
    return 0;
}

static int read_through(struct store_reader *reader, struct store_writer *writer)
{
    struct event_batch batch;
    struct trace *trace = store_reader_trace(reader);
    int status;
    while ((status = store_reader_next(reader, &batch)) == 1) {
        if (checkpoint_note_ids(writer->checkpoint, trace, &batch) != 0)
            return -ENOMEM;
        if (store_reader_stream(reader) != STORE_STREAM_EVENTS)
            continue;
        for (uint32_t i = 0; i < batch.count; i++)
            checkpoint_told(writer->checkpoint, batch.events[i].time_ns);
        if (checkpoint_add(writer->checkpoint, trace, &batch, NULL) != 0)
            return -ENOMEM;
    }
    return status;
}

/* Reads the recording to its end, which gives the state of each thread. A volume that has only
 * definitions defines everything. */
static int read_state(struct store_reader *reader, struct store_writer *writer)
{
    int error = read_through(reader, writer);
    if (!error && trace_thread_count(reader->trace) > trace_thread_count(writer->trace))
        error = -EINVAL;
    if (!error && (last_volume(reader)->has_data || last_volume(reader)->number == 0))
        definitions_state_resume(&writer->defined, reader->trace);
    return error ? error : take_over(writer, reader);
}

static int open_locked(const char *path)
{
    int fd = file_open_regular(AT_FDCWD, path, O_WRONLY, NULL);
    int error = fd < 0 ? fd : file_lock(fd);
    if (error && fd >= 0)
        close(fd);
    return error ? error : fd;
}

/* Opens the last volume, at `place`, and locks the first one, too, as every writer does. */
static int open_behind(struct store_writer *writer, const struct store_reader *reader,
                       struct chunk_queue_place *place)
{
    const struct volume *last = last_volume(reader);
    const struct volume *first = &reader->volumes->items.items[0];
    writer->fd = open_locked(last->path);
    if (writer->fd >= 0 && first != last)
        writer->lock_fd = open_locked(first->path);
    if (writer->fd < 0 || (first != last && writer->lock_fd < 0))
        return writer->fd < 0 ? writer->fd : writer->lock_fd;
    struct stat status;
    if (fstat(writer->fd, &status) != 0)
        return -errno;
    if ((uint64_t)status.st_size != last->scan.file_size)
        return -ESTALE; /* it changed before it was locked */
    if (ftruncate(writer->fd, (off_t)place->offset) != 0 ||
        lseek(writer->fd, (off_t)place->offset, SEEK_SET) < 0)
        return -errno;
    place->fd = writer->fd;
    chunk_queue_begin(writer->queue, place);
    return 0;
}

/* Removes the next volume, which was begun and is empty. */
static void remove_begun(const struct store_reader *reader)
{
    char *path = reader->volumes->next_begun ? volumes_next_path(reader->volumes) : NULL;
    if (path)
        unlink(path);
    free(path);
}

int store_writer_resume(const char *path, const struct trace *trace,
                        struct store_writer **ret_writer)
{
    struct store_writer *writer = create(trace, &(struct store_writer_options){0});
    if (!writer)
        return -ENOMEM;
    struct store_reader *reader;
    int error = store_reader_open_bare(path, &reader);
    if (!error) {
        error = read_state(reader, writer);
        const struct scan *scan = &last_volume(reader)->scan;
        struct chunk_queue_place place = {.file_id = scan->header.file_id,
                                          .offset = scan->resume_offset,
                                          .number = scan->resume_number};
        if (!error)
            error = open_behind(writer, reader, &place);
        if (!error)
            remove_begun(reader);
        store_reader_close(reader);
    }
    if (error) {
        destroy(writer);
        return error;
    }
    *ret_writer = writer;
    return 0;
}

/* Cuts off only the partial chunk of a killed writer. Ordinals are those of the first reading:
 * definitions added since may have reused some of them. */
static int open_at_end(struct store_writer *writer, const char *path,
                       const struct store_reader *read)
{
    struct store_reader *reader;
    int error = store_reader_open_bare(path, &reader);
    if (error)
        return error;
    const struct scan *scan = &last_volume(reader)->scan;
    struct chunk_queue_place place = {.file_id = scan->header.file_id,
                                      .offset = scan->whole_offset,
                                      .number = scan->last_number + 1};
    definitions_state_resume(&writer->defined, store_reader_trace(reader));
    /* Expanding inlined functions added stacks for readers. */
    writer->defined.next[STORE_DEFINE_STACK] = stacks_stack_count(trace_stacks_get(writer->trace));
    error = store_reader_ended(reader) ? 0 : -ENODATA;
    if (!error && scan->file_size != last_volume(read)->scan.file_size)
        error = -ESTALE;
    if (!error)
        error = open_behind(writer, reader, &place);
    store_reader_close(reader);
    return error;
}

int store_add_names(const char *path, const struct store_reader *read)
{
    struct store_writer *writer = create(read->trace, &(struct store_writer_options){0});
    if (!writer)
        return -ENOMEM;
    int error = open_at_end(writer, path, read);
    if (!error)
        error = store_writer_flush(writer);
    if (!error && fsync(writer->fd) != 0 && errno != EINVAL)
        error = -errno;
    destroy(writer);
    return error;
}

/* `follows`: another volume follows. */
static int writer_put_end(struct store_writer *writer, bool follows)
{
    struct store_end end = {.event_count = writer->event_count,
                            .chunk_count = writer_next_number(writer),
                            .follows = follows,
                            .ids_mixed = checkpoint_ids_mixed(writer->checkpoint)};
    struct store_chunk_header header = {.type = STORE_CHUNK_END};
    return writer_put_chunk(writer, &header, &end, sizeof(end));
}

/* The last definitions hold all processes, threads and facts, which replaces earlier ones lost by
 * damage. */
static int write_ending(struct store_writer *writer)
{
    definitions_state_repeat(&writer->defined);
    int error = store_writer_flush(writer);
    if (!error)
        error = writer_put_end(writer, false);
    return error ? error : chunk_queue_await(writer->queue, chunk_queue_mark(writer->queue));
}

int store_writer_close(struct store_writer *writer)
{
    int error = store_writer_flush(writer);
    if (!error)
        error = write_ending(writer);
    int closed = chunk_queue_destroy(writer->queue);
    error = error ? error : closed;
    writer->queue = NULL;
    int fd = writer->fd;
    writer->fd = -1;
    if (close(fd) != 0 && !error)
        error = -errno;
    destroy(writer);
    return error;
}

void store_writer_abandon(struct store_writer *writer)
{
    if (writer)
        destroy(writer);
}
