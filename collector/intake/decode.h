/* SPDX-License-Identifier: MIT */
/* From the bytes of a block, copied into private memory, to events of the model.
 *
 * Bytes are foreign: every length is bounded, unknown kinds are skipped by their length, and what
 * cannot be believed ends the block with one EVENT_LOST of LOSS_CORRUPT. A key-value without an
 * event before it costs itself only. Times rise within a thread and never pass the present.
 * Thread-safety: none. */
#ifndef ANNOT_INTAKE_DECODE_H
#define ANNOT_INTAKE_DECODE_H

#include "clock_map.h"
#include "event.h"
#include "lives.h"
#include "names.h"
#include "schema.h"
#include "segment_reader.h"
#include "vec.h"

/* The shortest records fill a block; before them an edge and the losses, behind them one more, and
 * before all what is told of blocks that were overwritten. */
enum {
    DECODE_EVENTS_BEFORE = 1 + ANNOT_OPEN_DEPTH + LOSS_COUNT,
    DECODE_EVENTS_MAX =
        ANNOT_BLOCK_DATA_SIZE / ANNOT_GRANULE + 1 + LOSS_COUNT + 1 + DECODE_EVENTS_BEFORE,
    DECODE_TRACKS_MAX = TRACE_LANES_MAX - (1 << 16), /* that one segment may add */
};

struct decoded {
    VEC(struct event) events;
    VEC(struct arg) args; /* of all of them */
};

/* More losses than this were never counted one by one: the number is nonsense. */
#define LOSS_BELIEVABLE (UINT64_C(1) << 48)

/* What all threads of a segment share. */
struct decoder {
    struct names names;
    struct schemas schemas;
    uint32_t process;              /* ordinal in the trace */
    struct lives *lives;           /* of threads that others name; NULL: they are not */
    uint32_t track_count;          /* added to the trace */
    uint64_t misuse[MISUSE_COUNT]; /* found here, not told by the segment */
    struct clock_map *clock;       /* outlives it */
    bool recover;                  /* take clock anchors from block headers */
    bool monotonic;                /* timestamps are nanoseconds already */
    bool overwrites;               /* blocks may be gone, and those that are left tell how much */
    uint64_t created_time;         /* of the segment */
    int64_t now_ns;                /* no event is later */
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
    uint64_t wire_records;     /* of blocks that overwrite: as libannot counts them */
    uint64_t lost[LOSS_COUNT]; /* told by EVENT_LOST so far */
};

/* A timestamp of the segment as nanoseconds, at most the present. */
int64_t decode_time(struct decoder *decoder, uint64_t time);

/* Decodes the records of `part` and, the first time, what the block's header tells, into `decoded`,
 * which it empties before. 0, -ENOMEM, -EFAULT. */
int decode_block(struct decoder *decoder, struct decode_thread *thread,
                 const struct segment_block_copy *block, const struct batch_source *part,
                 struct decoded *decoded);

/* One EVENT_LOST, from the thread's last event until now. */
struct event decode_lost(struct decoder *decoder, struct decode_thread *thread, enum loss cause,
                         uint64_t count);

#endif
