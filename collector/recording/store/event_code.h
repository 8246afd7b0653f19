/* SPDX-License-Identifier: MIT */
/* The payload of an EVENTS chunk: batches of events in columns.
 *
 * An event is a token for its shape (kind, name, attributes: most programs have few), a time
 * difference of 1, 2, 3 or 8 bytes, and what its shape says it brings. A chunk decodes alone.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_STORE_EVENT_CODE_H
#define ANNOT_STORE_EVENT_CODE_H

#include "event.h"

#include <stddef.h>
#include <stdint.h>

/* What is known of a thread between its batches: how many of its events went before, and how many
 * pushed ranges are open. */
struct thread_state {
    uint64_t next_index;
    uint64_t depth;
    /* Of the last batch that was encoded: the lowest depth since before it, how many ranges were
     * pushed, and whether there is more in it than pushes, pops of the innermost range, marks and
     * counters. */
    uint64_t low;
    uint32_t pushes;
    bool rare;
};

/* ---- Encoding ---- */

struct event_encoder;

/* NULL: out of memory. destroy accepts NULL. */
struct event_encoder *event_encoder_create(void);
void event_encoder_destroy(struct event_encoder *encoder);

/* At most STORE_BATCH_MAX / 2 events, which have `arg_count` key-values, at most
 * STORE_BATCH_ARGS_MAX. Updates `state`. 0 or -ENOMEM, then nothing was added. */
int event_encoder_add(struct event_encoder *encoder, const struct event_batch *batch,
                      uint32_t arg_count, struct thread_state *state);

/* Bytes of the payload so far; 0 if empty. */
size_t event_encoder_size(const struct event_encoder *encoder);
uint64_t event_encoder_count(const struct event_encoder *encoder);
void event_encoder_span(const struct event_encoder *encoder, int64_t *ret_first_ns,
                        int64_t *ret_last_ns);

/* Writes event_encoder_size() bytes and starts anew. */
void event_encoder_take(struct event_encoder *encoder, uint8_t *payload);

/* ---- Decoding ---- */

struct event_decoder;

struct event_decoder *event_decoder_create(void);
void event_decoder_destroy(struct event_decoder *decoder);

/* Readable bytes that must follow a payload. */
enum { EVENT_DECODER_SLACK = 8 };

/* The payload stays the caller's and unchanged until the last batch. 0 or -EBADMSG. */
int event_decoder_start(struct event_decoder *decoder, const uint8_t *payload, size_t size);

/* From here on spans have the threads that caused them, which need not be known. */
void event_decoder_take_causes(struct event_decoder *decoder);

/* The same for the payload of a CHECKPOINT: events of kind EVENT_RESUME are known, too. */
int event_decoder_start_checkpoint(struct event_decoder *decoder, const uint8_t *payload,
                                   size_t size);

/* What a batch says of its thread's state before it. */
struct batch_before {
    uint64_t first_index;
    uint64_t depth;
    uint64_t stored_count; /* with events of kinds that we do not know */
    uint64_t depth_after;
};

/* 1, 0 at the end, -EBADMSG, -ENOMEM. The events are valid until the next call. */
int event_decoder_next(struct event_decoder *decoder, struct event_batch *ret_batch,
                       struct batch_before *ret_before);

#endif
