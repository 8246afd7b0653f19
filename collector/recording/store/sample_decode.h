/* SPDX-License-Identifier: MIT */
/* Decodes the payload of a chunk of samples. Foreign bytes: bounded. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_SAMPLE_DECODE_H
#define ANNOT_SAMPLE_DECODE_H

#include "sample.h"

#include <stddef.h>
#include <stdint.h>

struct sample_decoder;

struct sample_decoder *sample_decoder_create(void);
void sample_decoder_destroy(struct sample_decoder *decoder);

/* The payload is owned by the caller and must stay unchanged until the last sample. 0 or
 * -EBADMSG. */
int sample_decoder_start(struct sample_decoder *decoder, const uint8_t *payload, size_t size);

/* 1, 0 at the end, -EBADMSG, -ENOMEM. The sample's values are in `values` or in the decoder, where
 * they stay until the next chunk. */
int sample_decoder_next(struct sample_decoder *decoder, struct sample *ret_sample,
                        int64_t values[SAMPLE_VALUES_MAX]);

#endif
