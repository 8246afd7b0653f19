/* SPDX-License-Identifier: MIT */
/* Bytes of many streams, for formats that need each stream in one piece while the recording has
 * them mixed: in memory up to a limit, then in a temporary file. Errors stick. Memory: 16 MiB, and
 * 64 bytes a stream. Thread-safety: one thread per object. */
#ifndef ANNOT_SPOOL_H
#define ANNOT_SPOOL_H

#include "out_stream.h"
#include "vec.h"

struct spool_chunk {
    uint64_t offset, size;
};

struct spool_stream {
    uint8_t *bytes; /* not yet in the file */
    uint32_t used, capacity;
    VEC(struct spool_chunk) chunks;
};

struct spool {
    VEC(struct spool_stream) streams;
    size_t held; /* bytes of capacity */
    uint64_t file_size;
    int fd;    /* -1: not yet open */
    int error; /* 0 or the first -errno */
};

void spool_init(struct spool *spool);
void spool_fini(struct spool *spool);

/* A new stream; 0 after an error. */
uint32_t spool_add(struct spool *spool);
void spool_write(struct spool *spool, uint32_t stream, const void *bytes, size_t size);

/* Copies all of a stream to `out`, and drops it. 0 or -errno. */
int spool_copy(struct spool *spool, uint32_t stream, struct out_stream *out);

#endif
