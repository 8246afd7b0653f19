/* SPDX-License-Identifier: MIT */
/* Encodes samples into the payload of a chunk. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLE_ENCODE_H
#define ANNOT_SAMPLE_ENCODE_H

#include "hash_map.h"
#include "sample.h"
#include "vec.h"

#include <stddef.h>
#include <stdint.h>

struct sample_encoder;

/* Reference for the differences of later samples of the same thread. */
struct sample_before {
    int64_t time_ns, step_ns; /* of those without an end; step: difference of the last two */
    int64_t end_ns;           /* of those with an end */
    uint32_t stack, path;
    uint16_t cpu;
};

/* The threads of one chunk. `{0}` is empty. */
struct sample_threads {
    struct map64 index; /* by ordinal + 1 */
    VEC(struct sample_before) items;
};

/* The state of a thread; of a new one, made from the sample before it. NULL: out of memory. Valid
 * until the next call. */
struct sample_before *sample_thread(struct sample_threads *threads, uint32_t thread,
                                    const struct sample *before);
void sample_threads_reset(struct sample_threads *threads);
void sample_threads_free(struct sample_threads *threads);

/* NULL: out of memory. destroy accepts NULL. */
struct sample_encoder *sample_encoder_create(void);
void sample_encoder_destroy(struct sample_encoder *encoder);

/* 0 or -ENOMEM, after which the current chunk is unusable. `set`: of the sample; a set without
 * types is unknown. */
int sample_encoder_add(struct sample_encoder *encoder, const struct sample_set *set,
                       const struct sample *sample);

/* Bytes of the payload so far; 0 if empty. */
size_t sample_encoder_size(const struct sample_encoder *encoder);
uint64_t sample_encoder_count(const struct sample_encoder *encoder);
void sample_encoder_span(const struct sample_encoder *encoder, int64_t *ret_first_ns,
                         int64_t *ret_last_ns);

/* Writes sample_encoder_size() bytes and starts anew. */
void sample_encoder_take(struct sample_encoder *encoder, uint8_t *payload);

#endif
