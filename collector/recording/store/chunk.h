/* SPDX-License-Identifier: MIT */
/* Headers of a recording and of its chunks: made, checked, found again after damage; and the walk
 * over them: places of the whole chunks, and the damage between them. The walk reads no payloads.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_CHUNK_H
#define ANNOT_CHUNK_H

#include "format.h"
#include "store.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct chunk_place {
    uint32_t volume; /* index of the file among those of the recording */
    uint64_t offset;
    struct store_chunk_header header;
};

/* The payload of a chunk, uncompressed, in memory that is reused for the next one. */
struct chunk_buffer {
    uint8_t *stored, *raw;
    size_t stored_capacity, raw_capacity;
    void *context; /* ZSTD_DCtx */
};

void file_header_seal(struct store_file_header *header);
bool file_header_is_whole(const struct store_file_header *header);

/* Magic, version and checksum. */
void chunk_header_seal(struct store_chunk_header *header);

/* Magic, checksum and limits hold; the major version may be another. */
bool chunk_header_is_whole(const struct store_chunk_header *header);

/* The first offset >= `offset` of a whole chunk header of this file, or `file_size`. -EIO...,
 * -ENOMEM. */
int chunk_find(int fd, uint64_t offset, uint64_t file_size, uint64_t file_id, uint64_t *ret_offset);

/* 0; -EBADMSG: damaged, with a text in *ret_reason; -EIO..., -ENOMEM. At least EVENT_DECODER_SLACK
 * bytes after the payload are readable. */
int chunk_load(struct chunk_buffer *buffer, int fd, const struct chunk_place *chunk,
               const uint8_t **ret_payload, const char **ret_reason);
void chunk_buffer_free(struct chunk_buffer *buffer);

/* ---- The walk over a file -------------------------------------------------------------------- */

struct damage_list {
    struct store_damage *items;
    size_t count, capacity;
};

struct scan {
    int fd;
    uint64_t file_size, offset;
    struct store_file_header header;
    bool any;             /* a chunk was found */
    uint32_t last_number; /* of it */
    bool ended;           /* END was found, followed only by DEFINITIONS */
    bool follow;          /* a writer may be active: a cut chunk at the end is not damage */
    /* Where a writer continues: after the last chunk other than END. */
    uint64_t resume_offset;
    uint32_t resume_number;
    uint64_t whole_offset; /* the end of the last whole chunk */
    const char *path;      /* owned by the caller */
    struct damage_list *damage;
};

enum { SCAN_DAMAGE_MAX = 4096 }; /* entries of the list; the last one then grows */

/* Reads the file's header, or reconstructs it from the first chunk. 0, -EBADMSG, -ENODATA,
 * -EPROTONOSUPPORT, -EIO..., -ENOMEM. `fd`, `path` and `damage` stay the caller's. */
int scan_start(struct scan *scan, int fd, const char *path, struct damage_list *damage);

/* 1 and the next chunk with a whole header and its payload inside of the file; 0 at the end. */
int scan_next(struct scan *scan, struct chunk_place *ret_chunk);

/* Updates the length of the file. 0; -ESTALE: shorter than the part already read; -errno. */
int scan_refresh(struct scan *scan);

/* 0 or -ENOMEM. */
int scan_add_damage(struct scan *scan, uint64_t offset, uint64_t length, const char *reason);

/* Readable bytes that must follow a payload. */
enum { EVENT_DECODER_SLACK = 8 };

#endif
