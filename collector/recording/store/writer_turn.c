/* SPDX-License-Identifier: MIT */
/* From one volume to the next. The full one gets its end, which says that another follows; that one
 * has a name before, so that whoever finds the end finds it too. It begins with all definitions and
 * with what is open, so that it can be read alone. If it cannot be made, the full one goes on.
 * Thread-safety: none. */
#include "clock_now.h"
#include "file_io.h"
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

/* What is on its way will shrink as what came before it did. */
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

uint32_t writer_queue_max(const struct store_writer *writer)
{
    struct chunk_queue_state state;
    uint64_t bytes_max = writer->volume.bytes_max;
    if (bytes_max == 0)
        return CHUNK_QUEUE_MAX;
    chunk_queue_look(writer->queue, &state);
    uint64_t most = state.present + state.waiting_bytes + store_writer_pending_bytes(writer);
    return most < bytes_max ? CHUNK_QUEUE_MAX : 1;
}

/* Has the name of a volume and is one, or has nothing yet? */
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

int writer_look_beside(const char *path, bool overwrite)
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

/* -errno: there will be no other volume. */
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

/* Whoever writes a recording holds its first file. */
static int look_for_writer(const char *first)
{
    int fd = file_open_regular(AT_FDCWD, first, O_RDONLY, NULL);
    int error = fd < 0 ? 0 : file_lock(fd);
    if (fd >= 0)
        close(fd);
    return error;
}

int writer_leave_recording(const char *path)
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
