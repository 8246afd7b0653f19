/* SPDX-License-Identifier: MIT */
/* Decodes the payload of a chunk of events. Foreign bytes: bounded. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_EVENT_DECODE_H
#define ANNOT_EVENT_DECODE_H

#include "event.h"

#include <stddef.h>
#include <stdint.h>

struct event_decoder;

struct event_decoder *event_decoder_create(void);
void event_decoder_destroy(struct event_decoder *decoder);

/* The payload is owned by the caller and must stay unchanged until the last batch. 0 or
 * -EBADMSG. */
int event_decoder_start(struct event_decoder *decoder, const uint8_t *payload, size_t size);

/* From here on spans keep the threads that caused them, which may be undefined. */
void event_decoder_take_causes(struct event_decoder *decoder);

/* The same for the payload of a CHECKPOINT, which may hold EVENT_RESUME. */
int event_decoder_start_checkpoint(struct event_decoder *decoder, const uint8_t *payload,
                                   size_t size);

/* State of a batch's thread before the batch, as stored. */
struct batch_before {
    uint64_t first_index;
    uint64_t depth;
    uint64_t stored_count; /* including events of unknown kinds */
    uint64_t depth_after;
};

/* 1, 0 at the end, -EBADMSG, -ENOMEM. The events are valid until the next call. */
int event_decoder_next(struct event_decoder *decoder, struct event_batch *ret_batch,
                       struct batch_before *ret_before);

#endif
