/* SPDX-License-Identifier: MIT */
/* From one volume to the next. The full one gets its end, which says that another follows; that one
 * has a name before, so that whoever finds the end finds it too. It begins with all definitions and
 * with what is open, so that it can be read alone. If it cannot be made, the full one goes on.
 * Thread-safety: none. */
#include "clock_now.h"
#include "store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int writer_make_header(const struct store_writer *writer, struct store_file_header *ret_header)
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

/* What is on its way will be about as small as what is in the file. */
static bool is_full(const struct store_writer *writer)
{
    const struct written_volume *volume = &writer->volume;
    uint64_t data = volume->data_bytes + store_writer_pending_bytes(writer);
    struct chunk_queue_state state;
    if (volume->bytes_max == 0 || data < volume->definition_bytes || data < volume->retry_bytes)
        return false;
    chunk_queue_look(writer->queue, &state);
    double raw = (double)(data + volume->definition_bytes);
    double size = state.raw ? (double)state.offset / (double)state.raw * raw : raw / 4;
    return size >= (double)volume->bytes_max;
}

/* -errno: there will be no other volume. */
static int make_file(const struct written_volume *volume)
{
    if (volume->number >= VOLUME_NUMBER_MAX)
        return -ENOSPC;
    char *path = store_volume_path(volume->path, volume->number + 1);
    if (!path)
        return -ENOMEM;
    int fd =
        open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (volume->overwrite ? O_TRUNC : O_EXCL), 0666);
    int error = errno;
    free(path);
    return fd < 0 ? -error : fd;
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

int writer_turn(struct store_writer *writer)
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

int writer_remove_volumes(const char *path)
{
    struct volumes volumes = {0};
    int error = volumes_open(&volumes, path, false);
    for (size_t i = 0; i < volumes.items.count; i++)
        if (volumes.items.items[i].number > 0 && volumes.items.items[0].number == 0)
            unlink(volumes.items.items[i].path);
    volumes_close(&volumes);
    return error == -ENOMEM ? error : 0;
}
