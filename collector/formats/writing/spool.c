/* SPDX-License-Identifier: MIT */
/* See spool.h. When the streams hold too much together, all of it goes to the file, where
 * each stream is a chain of chunks. */
#include "spool.h"
#include "file_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD_MAX = 16 << 20, FIRST_SIZE = 256, COPY_SIZE = 64 << 10 };

void spool_init(struct spool *spool)
{
    *spool = (struct spool){.fd = -1};
}

void spool_fini(struct spool *spool)
{
    for (size_t i = 0; i < spool->streams.count; i++) {
        free(spool->streams.items[i].bytes);
        vec_free(&spool->streams.items[i].chunks);
    }
    vec_free(&spool->streams);
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
}

uint32_t spool_add(struct spool *spool)
{
    if (!spool->error && vec_push(&spool->streams, (struct spool_stream){0}) == 0)
        return (uint32_t)(spool->streams.count - 1);
    spool->error = spool->error ? spool->error : -ENOMEM;
    return 0;
}

static int put_away(struct spool *spool, struct spool_stream *stream)
{
    int error = 0;
    if (stream->used > 0) {
        const struct spool_chunk chunk = {spool->file_size, stream->used};
        error = vec_push(&stream->chunks, chunk);
        if (!error)
            error = file_write_all(spool->fd, stream->bytes, stream->used);
        spool->file_size += stream->used;
    }
    free(stream->bytes);
    stream->bytes = NULL;
    stream->used = stream->capacity = 0;
    return error;
}

static void put_all_away(struct spool *spool)
{
    if (spool->fd < 0)
        spool->fd = file_open_temporary();
    if (spool->fd < 0)
        spool->error = spool->fd;
    for (size_t i = 0; !spool->error && i < spool->streams.count; i++)
        spool->error = put_away(spool, &spool->streams.items[i]);
    spool->held = 0;
}

static void grow(struct spool *spool, struct spool_stream *stream, size_t need)
{
    size_t capacity = stream->capacity ? 2ul * stream->capacity : FIRST_SIZE;
    while (capacity < need)
        capacity *= 2;
    uint8_t *bytes = capacity <= UINT32_MAX ? realloc(stream->bytes, capacity) : NULL;
    if (!bytes) {
        spool->error = -ENOMEM;
        return;
    }
    spool->held += capacity - stream->capacity;
    stream->bytes = bytes;
    stream->capacity = (uint32_t)capacity;
}

void spool_write(struct spool *spool, uint32_t stream, const void *bytes, size_t size)
{
    if (spool->error || size == 0)
        return;
    struct spool_stream *entry = &spool->streams.items[stream];
    if (entry->capacity - entry->used < size && spool->held >= HELD_MAX)
        put_all_away(spool);
    if (!spool->error && entry->capacity - entry->used < size)
        grow(spool, entry, entry->used + size);
    if (spool->error)
        return;
    memcpy(entry->bytes + entry->used, bytes, size);
    entry->used += (uint32_t)size;
}

static int copy_chunk(const struct spool *spool, const struct spool_chunk *chunk,
                      struct out_stream *out)
{
    for (uint64_t done = 0; done < chunk->size;) {
        uint64_t rest = chunk->size - done;
        size_t size = rest < COPY_SIZE ? (size_t)rest : COPY_SIZE;
        ssize_t got = file_read_at(spool->fd, out_reserve(out, size), size, chunk->offset + done);
        if (got <= 0)
            return got < 0 ? (int)got : -EIO;
        out_advance(out, (size_t)got);
        done += (uint64_t)got;
    }
    return 0;
}

int spool_copy(struct spool *spool, uint32_t stream, struct out_stream *out)
{
    if (spool->error)
        return spool->error;
    struct spool_stream *entry = &spool->streams.items[stream];
    for (size_t i = 0; !spool->error && i < entry->chunks.count; i++)
        spool->error = copy_chunk(spool, &entry->chunks.items[i], out);
    if (entry->used > 0)
        out_write(out, entry->bytes, entry->used);
    spool->held -= entry->capacity;
    free(entry->bytes);
    vec_free(&entry->chunks);
    *entry = (struct spool_stream){0};
    return spool->error;
}
