/* SPDX-License-Identifier: MIT */
/* Encodes events into the payload of a chunk (docs/recording-format.md). Thread-safety: one thread
 * per object. */
#ifndef ANNOT_EVENT_ENCODE_H
#define ANNOT_EVENT_ENCODE_H

#include "event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_encoder;

/* State of a thread between its batches: the number of its events so far, and of its open pushed
 * ranges. */
struct thread_state {
    uint64_t next_index;
    uint64_t depth;
    /* Of the last encoded batch: the lowest depth since before it, the number of pushes, and true
     * if it has other events than pushes, pops of the innermost range, marks and counters. */
    uint64_t low;
    uint32_t pushes;
    bool rare;
};

/* NULL: out of memory. destroy accepts NULL. */
struct event_encoder *event_encoder_create(void);
void event_encoder_destroy(struct event_encoder *encoder);

/* At most STORE_BATCH_MAX / 2 events with `arg_count` key-values, at most STORE_BATCH_ARGS_MAX.
 * Updates `state`. 0 or -ENOMEM, in which case the encoder is unchanged. */
int event_encoder_add(struct event_encoder *encoder, const struct event_batch *batch,
                      uint32_t arg_count, struct thread_state *state);

/* Bytes of the payload so far; 0 if empty. */
size_t event_encoder_size(const struct event_encoder *encoder);
uint64_t event_encoder_count(const struct event_encoder *encoder);
void event_encoder_span(const struct event_encoder *encoder, int64_t *ret_first_ns,
                        int64_t *ret_last_ns);

/* Writes event_encoder_size() bytes and starts anew. */
void event_encoder_take(struct event_encoder *encoder, uint8_t *payload);

#endif
