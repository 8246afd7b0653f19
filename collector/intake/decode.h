/* SPDX-License-Identifier: MIT */
/* From the bytes of a block, copied into private memory, to events of the model.
 *
 * Bytes are foreign: every length is bounded, unknown kinds are skipped by their length, and what
 * cannot be believed ends the block with one EVENT_LOST of LOSS_CORRUPT. Times rise within a
 * thread and never pass the present. Thread-safety: none. */
#ifndef ANNOT_INTAKE_DECODE_H
#define ANNOT_INTAKE_DECODE_H

#include "clock_map.h"
#include "event.h"
#include "names.h"
#include "segment_reader.h"

/* The shortest records fill a block; before them an edge and the losses, behind them one more. */
enum { DECODE_EVENTS_MAX = ANNOT_BLOCK_DATA_SIZE / ANNOT_GRANULE + 1 + LOSS_COUNT + 1 };

/* More losses than this were never counted one by one: the number is nonsense. */
#define LOSS_BELIEVABLE (UINT64_C(1) << 40)

/* What all threads of a segment share. */
struct decoder {
    struct names names;
    struct clock_map *clock; /* outlives it */
    bool recover;            /* take clock anchors from block headers */
    bool monotonic;          /* timestamps are nanoseconds already */
    int64_t now_ns;          /* no event is later */
};

/* What is carried from block to block of a thread. */
struct decode_thread {
    uint32_t ordinal; /* in the trace */
    uint32_t depth;   /* open pushed ranges */
    bool started;     /* a block was seen; generation is known */
    uint64_t generation;
    uint64_t headers; /* the headers of blocks with a lower sequence are decoded */
    int64_t first_ns, last_ns;
    uint64_t record_count;
    uint64_t lost[LOSS_COUNT]; /* told by EVENT_LOST so far */
};

/* A timestamp of the segment as nanoseconds, at most the present. */
int64_t decode_time(struct decoder *decoder, uint64_t time);

/* Decodes the records of `part` and, the first time, what the block's header tells. Returns the
 * number of events written to `events` (room for DECODE_EVENTS_MAX), or -ENOMEM, -EFAULT. */
int decode_block(struct decoder *decoder, struct decode_thread *thread,
                 const struct segment_block_copy *block, const struct batch_source *part,
                 struct event *events);

/* One EVENT_LOST, from the thread's last event until now. */
struct event decode_lost(struct decoder *decoder, struct decode_thread *thread, enum loss cause,
                         uint64_t count);

#endif
