/* SPDX-License-Identifier: MIT */
/* The samples of a recording, chunk by chunk; part of a store_reader. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_SAMPLE_STREAM_H
#define ANNOT_SAMPLE_STREAM_H

#include "chunk.h"
#include "sample.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample_decoder;
struct trace;
struct volumes;

enum { SAMPLE_STREAM_MAX = 1024 }; /* samples handed out at once */

struct samples_chunk {
    struct chunk_place chunk;
    int64_t settled_ns; /* no sample of it or of a later one begins earlier */
    bool damage_noted;
};

struct sample_stream {
    struct chunk_buffer buffer;
    struct sample_decoder *decoder;
    struct sample *samples;
    int64_t (*values)[SAMPLE_VALUES_MAX]; /* of these */
    VEC(struct samples_chunk) chunks;
    size_t next_chunk;
    bool in_chunk;
    bool settled;    /* the settled times of the chunks are set */
    int64_t from_ns; /* chunks that end earlier are skipped */
};

/* 0 or -ENOMEM. fini accepts a zeroed or half initialised stream. */
int sample_stream_init(struct sample_stream *stream);
void sample_stream_fini(struct sample_stream *stream);

/* Adds a chunk. 0 or -ENOMEM. */
int sample_stream_add(struct sample_stream *stream, const struct chunk_place *chunk);

/* Raises *highest to the largest thread ordinal of all samples. 0, -ENOMEM, -EIO. To be called
 * before the first sample_stream_next, which reports damage. */
int sample_stream_highest_thread(struct sample_stream *stream, struct volumes *volumes,
                                 uint32_t *highest);

/* As store_reader_next_samples: stacks, paths and threads are in the trace. Damage goes into the
 * list of the volumes. */
int sample_stream_next(struct sample_stream *stream, struct volumes *volumes,
                       const struct trace *trace, const struct sample **ret_samples,
                       uint32_t *ret_count);

/* Sets the settled time of each chunk, after all were added. Then: no sample still to be handed out
 * begins before the result; INT64_MIN: unknown. */
void sample_stream_settle(struct sample_stream *stream);
int64_t sample_stream_settled_ns(const struct sample_stream *stream);

/* Drops the chunks that were read, if there will be no rewind. */
void sample_stream_forget(struct sample_stream *stream);
void sample_stream_rewind(struct sample_stream *stream);
void sample_stream_seek(struct sample_stream *stream, int64_t from_ns);

#endif
