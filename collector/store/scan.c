/* SPDX-License-Identifier: MIT */
/* Headers in a row; after a bad one the search for the next good one. Invariant: `offset` only
 * grows, so the walk ends on any bytes. Thread-safety: none. */
#include "store_parts.h"

#include "file_io.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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

/* The header is unreadable: the first chunk, which repeats what matters, decides what this is. */
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

/* Why no chunk could be taken at `offset`; NULL if one can. */
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

/* May the rest of it still be written? */
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

/* Skips what is no chunk and notes it. */
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
