/* SPDX-License-Identifier: MIT */
/* A writer's begin and end: a new recording, one that goes on after its collector died, names that
 * are added to a whole one. Thread-safety: none. */
#include "clock_now.h"
#include "file_io.h"
#include "store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* Measured: level 3 costs a third more CPU for the same size, -1 saves little for a fifth more
 * bytes. */
enum { COMPRESSION_DEFAULT = 1 };

/* A checkpoint comes after so many bytes of events, uncompressed. */
enum { CHECKPOINT_BYTES = 4 << 20 };

static void destroy(struct store_writer *writer)
{
    chunk_queue_destroy(writer->queue);
    if (writer->fd >= 0)
        close(writer->fd);
    event_encoder_destroy(writer->encoder);
    for (size_t i = 0; i < writer->late.count; i++)
        event_encoder_destroy(writer->late.items[i].encoder);
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
    struct chunk_queue_place place = {.fd = writer->fd};
    uint64_t ids[2];
    if (getrandom(ids, sizeof(ids), 0) != sizeof(ids))
        return -EIO;
    place.file_id = ids[0];
    struct store_file_header header = {
        .file_id = place.file_id,
        .set_id = ids[1],
        .session_id = trace_session_get(writer->trace)->id,
        .created_realtime_ns = (uint64_t)clock_real_ns(),
    };
    file_header_seal(&header);
    place.offset = sizeof(header);
    chunk_queue_begin(writer->queue, &place);
    return file_write_all(writer->fd, &header, sizeof(header));
}

static struct store_writer *create(const struct trace *trace,
                                   const struct store_writer_options *options)
{
    struct store_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return NULL;
    writer->fd = -1;
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

/* What was there before is cut off once the file is ours; devices and pipes have no length. */
static int open_new(struct store_writer *writer, const char *path, bool overwrite)
{
    writer->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? 0 : O_EXCL), 0666);
    int error = writer->fd < 0 ? -errno : file_lock(writer->fd);
    if (error == 0 && overwrite && ftruncate(writer->fd, 0) != 0 && errno != EINVAL)
        error = -errno;
    return error;
}

int store_writer_create(const char *path, const struct trace *trace,
                        const struct store_writer_options *options,
                        struct store_writer **ret_writer)
{
    struct store_writer *writer = create(trace, options);
    if (!writer)
        return -ENOMEM;
    int error = open_new(writer, path, options->overwrite);
    if (error == 0)
        error = write_file_header(writer);
    if (error) {
        if (writer->fd >= 0 && !options->overwrite)
            unlink(path); /* ours: it was not there before */
        destroy(writer);
        return error;
    }
    *ret_writer = writer;
    return 0;
}

/* Takes over where the recording stands: its threads. All processes and threads are defined once
 * more, as `trace` may know more of them by now. */
static int take_over(struct store_writer *writer, const struct store_reader *reader)
{
    struct store_info info;
    store_reader_info(reader, &info);
    writer->event_count = info.event_count;
    for (uint32_t i = 0; i < store_reader_thread_count(reader); i++)
        if (vec_push(&writer->threads, store_reader_thread_state(reader, i)) != 0)
            return -ENOMEM;
    return 0;
}

/* Reads the recording to its end: only then the state of each thread is known. */
static int read_through(const char *path, struct store_writer *writer,
                        struct chunk_queue_place *ret_place)
{
    struct store_reader *reader;
    struct event_batch batch;
    int status = store_reader_open_bare(path, &reader);
    if (status)
        return status;
    struct trace *trace = store_reader_trace(reader);
    while ((status = store_reader_next(reader, &batch)) == 1) {
        if (store_reader_stream(reader) != STORE_STREAM_EVENTS)
            continue;
        for (uint32_t i = 0; i < batch.count; i++)
            checkpoint_told(writer->checkpoint, batch.events[i].time_ns);
        if (checkpoint_add(writer->checkpoint, trace, &batch, NULL) != 0) {
            status = -ENOMEM;
            break;
        }
    }
    definitions_state_resume(&writer->defined, trace);
    if (!status && trace_thread_count(trace) > trace_thread_count(writer->trace))
        status = -EINVAL;
    if (!status)
        status = take_over(writer, reader);
    const struct scan *scan = store_reader_scan(reader);
    *ret_place = (struct chunk_queue_place){.file_id = scan->header.file_id,
                                            .offset = scan->resume_offset,
                                            .number = scan->resume_number};
    store_reader_close(reader);
    return status;
}

static int open_behind(struct store_writer *writer, const char *path,
                       struct chunk_queue_place *place)
{
    writer->fd = file_open_regular(AT_FDCWD, path, O_WRONLY, NULL);
    if (writer->fd < 0)
        return writer->fd;
    int error = file_lock(writer->fd);
    if (error != 0)
        return error;
    if (ftruncate(writer->fd, (off_t)place->offset) != 0 ||
        lseek(writer->fd, (off_t)place->offset, SEEK_SET) < 0)
        return -errno;
    place->fd = writer->fd;
    chunk_queue_begin(writer->queue, place);
    return 0;
}

int store_writer_resume(const char *path, const struct trace *trace,
                        struct store_writer **ret_writer)
{
    struct store_writer *writer = create(trace, &(struct store_writer_options){0});
    if (!writer)
        return -ENOMEM;
    struct chunk_queue_place place;
    int error = read_through(path, writer, &place);
    if (!error)
        error = open_behind(writer, path, &place);
    if (error) {
        destroy(writer);
        return error;
    }
    *ret_writer = writer;
    return 0;
}

/* Cuts off what a writer that was killed here left of a chunk, and nothing else. */
static int open_at_end(struct store_writer *writer, const char *path)
{
    struct store_reader *reader;
    int error = store_reader_open_bare(path, &reader);
    if (error)
        return error;
    const struct scan *scan = store_reader_scan(reader);
    struct chunk_queue_place place = {.file_id = scan->header.file_id,
                                      .offset = scan->whole_offset,
                                      .number = scan->last_number + 1};
    definitions_state_resume(&writer->defined, store_reader_trace(reader));
    error = scan->ended ? open_behind(writer, path, &place) : -ENODATA;
    store_reader_close(reader);
    return error;
}

int store_add_names(const char *path, const struct trace *trace)
{
    struct store_writer *writer = create(trace, &(struct store_writer_options){0});
    if (!writer)
        return -ENOMEM;
    int error = open_at_end(writer, path);
    if (!error)
        error = store_writer_flush(writer);
    if (!error && fsync(writer->fd) != 0 && errno != EINVAL)
        error = -errno;
    destroy(writer);
    return error;
}

static int put_end(struct store_writer *writer)
{
    struct store_end end = {.event_count = writer->event_count,
                            .chunk_count = writer_next_number(writer)};
    struct store_chunk_header header = {.type = STORE_CHUNK_END};
    return writer_put_chunk(writer, &header, &end, sizeof(end));
}

/* The last definitions hold all processes, threads and facts: what damage takes of the earlier ones
 * is then known all the same. */
static int write_ending(struct store_writer *writer)
{
    definitions_state_repeat(&writer->defined);
    int error = store_writer_flush(writer);
    if (!error)
        error = put_end(writer);
    return error ? error : chunk_queue_await(writer->queue, chunk_queue_mark(writer->queue));
}

int store_writer_close(struct store_writer *writer)
{
    int error = store_writer_flush(writer);
    if (!error)
        error = write_ending(writer);
    chunk_queue_destroy(writer->queue);
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
