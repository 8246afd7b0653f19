/* SPDX-License-Identifier: MIT */
/* Headers of a recording and its chunks: made, checked, found again after damage.
 * Thread-safety: functions without state. */
#ifndef ANNOT_STORE_CHUNK_H
#define ANNOT_STORE_CHUNK_H

#include "format.h"

#include <stdbool.h>

void file_header_seal(struct store_file_header *header);
bool file_header_is_whole(const struct store_file_header *header);

/* Magic, version and checksum. */
void chunk_header_seal(struct store_chunk_header *header);

/* Magic, checksum and limits hold; the major version may be another. */
bool chunk_header_is_whole(const struct store_chunk_header *header);

/* The first offset >= `offset` at which a whole chunk header of this file lies, or `file_size`.
 * -EIO..., -ENOMEM. */
int chunk_find(int fd, uint64_t offset, uint64_t file_size, uint64_t file_id, uint64_t *ret_offset);

struct chunk_place {
    uint32_t volume; /* index of the file among those of the recording */
    uint64_t offset;
    struct store_chunk_header header;
};

/* The payload of a chunk, uncompressed, in memory that is kept for the next one. */
struct chunk_buffer {
    uint8_t *stored, *raw;
    size_t stored_capacity, raw_capacity;
    void *context; /* ZSTD_DCtx */
};

/* 0; -EBADMSG: damaged, *ret_reason says how; -EIO..., -ENOMEM. At least EVENT_DECODER_SLACK bytes
 * behind the payload can be read. */
int chunk_load(struct chunk_buffer *buffer, int fd, const struct chunk_place *chunk,
               const uint8_t **ret_payload, const char **ret_reason);
void chunk_buffer_free(struct chunk_buffer *buffer);

#endif
