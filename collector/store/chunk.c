/* SPDX-License-Identifier: MIT */
/* Checks and loading behind chunk.h. Foreign bytes: sizes are limited before memory is taken.
 * Thread-safety: functions without state. */
#include "store_parts.h"

#include "event_code.h"
#include "file_io.h"
#include "hash.h"
#include "store.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { SEARCH_WINDOW_FIRST = 1024, SEARCH_WINDOW = 64 * 1024 };

void file_header_seal(struct store_file_header *header)
{
    memcpy(header->magic, STORE_FILE_MAGIC, sizeof(header->magic));
    header->major = STORE_VERSION_MAJOR;
    header->minor = STORE_VERSION_MINOR;
    header->header_size = STORE_HEADER_SIZE;
    header->crc = checksum_crc32c(0, header, offsetof(struct store_file_header, crc));
}

bool file_header_is_whole(const struct store_file_header *header)
{
    return memcmp(header->magic, STORE_FILE_MAGIC, sizeof(header->magic)) == 0 &&
           header->crc == checksum_crc32c(0, header, offsetof(struct store_file_header, crc)) &&
           header->header_size >= STORE_HEADER_SIZE && header->header_size <= STORE_HEADER_SIZE_MAX;
}

void chunk_header_seal(struct store_chunk_header *header)
{
    memcpy(header->magic, STORE_CHUNK_MAGIC, sizeof(header->magic));
    header->major = STORE_VERSION_MAJOR;
    header->crc = checksum_crc32c(0, header, offsetof(struct store_chunk_header, crc));
}

bool chunk_header_is_whole(const struct store_chunk_header *header)
{
    return memcmp(header->magic, STORE_CHUNK_MAGIC, sizeof(header->magic)) == 0 &&
           header->crc == checksum_crc32c(0, header, offsetof(struct store_chunk_header, crc)) &&
           header->raw_size <= STORE_RAW_MAX && header->stored_size <= STORE_STORED_MAX;
}

/* The first whole header that begins in `window`, whose last 63 bytes belong to the next one. */
static size_t search_window(const uint8_t *window, size_t size, uint64_t file_id)
{
    struct store_chunk_header header;
    for (size_t at = 0; at + sizeof(header) <= size; at++) {
        const uint8_t *found = memmem(window + at, size - at, STORE_CHUNK_MAGIC, 3);
        if (!found || (size_t)(found - window) + sizeof(header) > size)
            return size;
        at = (size_t)(found - window);
        memcpy(&header, found, sizeof(header));
        if (header.file_id == file_id && chunk_header_is_whole(&header))
            return at;
    }
    return size;
}

int chunk_find(int fd, uint64_t offset, uint64_t file_size, uint64_t file_id, uint64_t *ret_offset)
{
    uint8_t *window = malloc(SEARCH_WINDOW);
    size_t window_size = SEARCH_WINDOW_FIRST; /* many small damages must not each read much */
    int error = window ? 0 : -ENOMEM;
    *ret_offset = file_size;
    while (!error && offset + STORE_HEADER_SIZE <= file_size) {
        ssize_t size = file_read_at(fd, window, window_size, offset);
        if (size < STORE_HEADER_SIZE) {
            error = size < 0 ? (int)size : 0;
            break;
        }
        size_t at = search_window(window, (size_t)size, file_id);
        if (at < (size_t)size) {
            *ret_offset = offset + at;
            break;
        }
        offset += (size_t)size - (STORE_HEADER_SIZE - 1);
        window_size = window_size < SEARCH_WINDOW ? window_size * 2 : SEARCH_WINDOW;
    }
    free(window);
    return error;
}

static int decompress(struct chunk_buffer *buffer, const struct store_chunk_header *header,
                      const char **ret_reason)
{
    if (!buffer->context && !(buffer->context = ZSTD_createDCtx()))
        return -ENOMEM;
    if (vec_grow((void **)&buffer->raw, &buffer->raw_capacity,
                 header->raw_size + EVENT_DECODER_SLACK, 1) != 0)
        return -ENOMEM;
    size_t size = ZSTD_decompressDCtx(buffer->context, buffer->raw, header->raw_size,
                                      buffer->stored, header->stored_size);
    if (!ZSTD_isError(size) && size == header->raw_size)
        return 0;
    *ret_reason = "compressed data cannot be read";
    return -EBADMSG;
}

int chunk_load(struct chunk_buffer *buffer, int fd, const struct chunk_place *chunk,
               const uint8_t **ret_payload, const char **ret_reason)
{
    const struct store_chunk_header *header = &chunk->header;
    if (vec_grow((void **)&buffer->stored, &buffer->stored_capacity,
                 header->stored_size + EVENT_DECODER_SLACK, 1) != 0)
        return -ENOMEM;
    ssize_t size =
        file_read_at(fd, buffer->stored, header->stored_size, chunk->offset + sizeof(*header));
    if (size < 0)
        return (int)size;
    *ret_reason = (size_t)size != header->stored_size ? "cut inside a chunk"
                  : checksum_crc32c(0, buffer->stored, (size_t)size) != header->payload_crc
                      ? "checksum of a chunk is wrong"
                  : header->flags & ~STORE_FLAG_ZSTD ? "chunk of a newer format"
                                                     : NULL;
    if (*ret_reason)
        return -EBADMSG;
    if (header->flags & STORE_FLAG_ZSTD) {
        int error = decompress(buffer, header, ret_reason);
        *ret_payload = buffer->raw;
        return error;
    }
    *ret_payload = buffer->stored;
    if (header->raw_size == header->stored_size)
        return 0;
    *ret_reason = "sizes of a chunk disagree";
    return -EBADMSG;
}

void chunk_buffer_free(struct chunk_buffer *buffer)
{
    free(buffer->stored);
    free(buffer->raw);
    ZSTD_freeDCtx(buffer->context);
    *buffer = (struct chunk_buffer){0};
}
