/* SPDX-License-Identifier: MIT */
/* A writer's begin and end: a new recording, one that goes on after its collector died, names that
 * are added to a whole one. Thread-safety: none. */
#include "clock_now.h"
#include "file_io.h"
#include "stacks.h"
#include "store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
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

/* What was there before is cut off once the file is ours; devices and pipes have no length. */
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

/* Nobody else's files may be in the way of later volumes. */
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
            unlink(path); /* ours, or nothing was lost with it */
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

/* Takes over where the recording stands: its threads. All processes and threads are defined once
 * more, as `trace` may know more of them by now. */
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

/* Reads the recording to its end: only then the state of each thread is known. A volume that has
 * not got beyond its definitions defines everything. */
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

/* Opens the last volume, at `place`; whoever writes a recording holds its first one, too. */
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
        return -ESTALE; /* it was not locked yet when it was read */
    if (ftruncate(writer->fd, (off_t)place->offset) != 0 ||
        lseek(writer->fd, (off_t)place->offset, SEEK_SET) < 0)
        return -errno;
    place->fd = writer->fd;
    chunk_queue_begin(writer->queue, place);
    return 0;
}

/* The volume that was to follow has nothing yet: it is not needed. */
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

/* Cuts off what a writer that was killed here left of a chunk, and nothing else. Ordinals are those
 * of the first reading: whoever added definitions since has given some of them to others. */
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
    /* Inlined functions made more of them for who reads. */
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

int writer_put_end(struct store_writer *writer, bool follows)
{
    struct store_end end = {.event_count = writer->event_count,
                            .chunk_count = writer_next_number(writer),
                            .follows = follows,
                            .ids_mixed = checkpoint_ids_mixed(writer->checkpoint)};
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
