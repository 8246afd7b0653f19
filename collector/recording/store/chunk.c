/* SPDX-License-Identifier: MIT */
/* Chunks: their places, their integrity, and their contents. Foreign bytes: sizes are limited
 * before memory is allocated. Thread-safety: none. */
#include "chunk.h"

#include "file_io.h"
#include "hash.h"
#include "store.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* The first whole header that begins in `window`; its last 63 bytes belong to the next window. */
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
    size_t window_size = SEARCH_WINDOW_FIRST; /* small first: there may be many small damages */
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

/* ---- Scan ------------------------------------------------------------------------------------ */

/* Reads headers in a row; after a bad one searches the next good one. Invariant: `offset` only
 * grows, so the walk ends on any bytes. */

int scan_add_damage(struct scan *scan, uint64_t offset, uint64_t length, const char *reason)
{
    struct damage_list *damage = scan->damage;
    if (damage->count >= SCAN_DAMAGE_MAX) {
        struct store_damage *last = &damage->items[damage->count - 1];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a count implies items */
        last->length = offset + length > last->offset ? offset + length - last->offset : 0;
        last->reason = "many places from here on";
        return 0;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): room implies items */
    return vec_push(damage,
                    ((struct store_damage){
                        .path = scan->path, .offset = offset, .length = length, .reason = reason}));
}

/* For an unreadable file header: the first chunk, which repeats the necessary fields, decides. */
static int start_without_header(struct scan *scan)
{
    struct store_chunk_header chunk;
    ssize_t size = file_read_at(scan->fd, &chunk, sizeof(chunk), STORE_HEADER_SIZE);
    if (size < 0)
        return (int)size;
    if (size < (ssize_t)sizeof(chunk) || !chunk_header_is_whole(&chunk))
        return -EBADMSG;
    scan->header = (struct store_file_header){
        .file_id = chunk.file_id,
        .major = chunk.major,
        .header_size = STORE_HEADER_SIZE,
    };
    return scan_add_damage(scan, 0, STORE_HEADER_SIZE, "file header is damaged");
}

int scan_start(struct scan *scan, int fd, const char *path, struct damage_list *damage)
{
    struct stat status;
    *scan = (struct scan){.fd = fd, .path = path, .damage = damage};
    if (fstat(fd, &status) != 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    scan->file_size = (uint64_t)status.st_size;
    ssize_t size = file_read_at(fd, &scan->header, sizeof(scan->header), 0);
    if (size < 0)
        return (int)size;
    size_t magic_size =
        (size_t)size < sizeof(scan->header.magic) ? (size_t)size : sizeof(scan->header.magic);
    if ((size_t)size < sizeof(scan->header))
        return memcmp(scan->header.magic, STORE_FILE_MAGIC, magic_size) == 0 ? -ENODATA : -EBADMSG;
    if (!file_header_is_whole(&scan->header)) {
        int error = start_without_header(scan);
        if (error)
            return error;
    }
    if (scan->header.major != STORE_VERSION_MAJOR)
        return scan->header.major > STORE_VERSION_MAJOR ? -EPROTONOSUPPORT : -EBADMSG;
    scan->offset = scan->resume_offset = scan->header.header_size;
    return 0;
}

static bool is_of_file(const struct scan *scan, const struct store_chunk_header *header)
{
    return chunk_header_is_whole(header) && header->file_id == scan->header.file_id &&
           header->major == scan->header.major;
}

/* Returns the reason why there is no chunk at `offset`; NULL if there is one. */
static const char *judge(const struct scan *scan, uint64_t offset,
                         const struct store_chunk_header *header, ssize_t size)
{
    uint64_t rest = scan->file_size - offset;
    if (size < (ssize_t)sizeof(*header))
        return "cut inside a chunk header";
    if (!is_of_file(scan, header))
        return scan->ended ? "bytes behind the end" : "not a chunk";
    if (header->stored_size > rest - sizeof(*header))
        return "cut inside a chunk";
    if (scan->any && header->number <= scan->last_number)
        return "chunk out of order";
    return NULL;
}

/* True if the rest of the chunk may still be written. */
static bool is_under_way(const struct scan *scan, const struct store_chunk_header *header,
                         ssize_t size)
{
    if (!scan->follow)
        return false;
    if (size < (ssize_t)sizeof(*header))
        return true;
    return is_of_file(scan, header) &&
           header->stored_size > scan->file_size - scan->offset - sizeof(*header);
}

int scan_refresh(struct scan *scan)
{
    struct stat status;
    if (fstat(scan->fd, &status) != 0)
        return -errno;
    scan->file_size = (uint64_t)status.st_size;
    return scan->file_size < scan->offset ? -ESTALE : 0;
}

/* Skips bytes up to the next chunk and notes the damage. */
static int skip_damage(struct scan *scan, const char *reason)
{
    uint64_t next;
    int error =
        chunk_find(scan->fd, scan->offset + 1, scan->file_size, scan->header.file_id, &next);
    if (!error)
        error = scan_add_damage(scan, scan->offset, next - scan->offset, reason);
    scan->offset = next;
    return error;
}

static int note_missing(struct scan *scan, uint64_t offset, const struct store_chunk_header *header)
{
    uint32_t expected = scan->any ? scan->last_number + 1 : 0;
    const struct damage_list *damage = scan->damage;
    const struct store_damage *last = damage->count ? &damage->items[damage->count - 1] : NULL;
    bool noted = last && last->path == scan->path && last->offset + last->length == offset;
    if (header->number == expected || noted)
        return 0;
    return scan_add_damage(scan, offset, 0, "chunks are missing");
}

int scan_next(struct scan *scan, struct chunk_place *ret_chunk)
{
    while (scan->offset < scan->file_size) {
        struct store_chunk_header header;
        ssize_t size = file_read_at(scan->fd, &header, sizeof(header), scan->offset);
        if (size < 0)
            return (int)size;
        if (is_under_way(scan, &header, size))
            return 0;
        const char *reason = judge(scan, scan->offset, &header, size);
        int error = reason ? skip_damage(scan, reason) : note_missing(scan, scan->offset, &header);
        if (error)
            return error;
        if (reason)
            continue;
        *ret_chunk = (struct chunk_place){.offset = scan->offset, .header = header};
        scan->any = true;
        scan->last_number = header.number;
        scan->ended = header.type == STORE_CHUNK_END ||
                      (scan->ended && header.type == STORE_CHUNK_DEFINITIONS);
        scan->offset += sizeof(header) + header.stored_size;
        scan->whole_offset = scan->offset;
        if (!scan->ended) {
            scan->resume_offset = scan->offset;
            scan->resume_number = header.number + 1;
        }
        return 1;
    }
    return 0;
}
