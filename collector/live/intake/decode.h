/* SPDX-License-Identifier: MIT */
/* From the bytes of a block, copied into private memory, to events of the model: its timestamps to
 * times, its structs to key-values, its records to events. */
#ifndef ANNOT_INTAKE_DECODE_H
#define ANNOT_INTAKE_DECODE_H

#include "annot_wire.h"
#include "clock_map.h"
#include "event.h"
#include "hash_map.h"
#include "lives.h"
#include "names.h"
#include "sample.h"
#include "schema.h"
#include "segment_reader.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* From the bytes of a block, copied into private memory, to events of the model.
 *
 * Bytes are foreign: every length is bounded, unknown kinds are skipped by their length, and what
 * cannot be believed ends the block with one EVENT_LOST of LOSS_CORRUPT. A key-value without an
 * event before it costs itself only. Times rise within a thread and never pass the present. */

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

/* ---- Queues: the subjects of SPANs, by their string ids, which are foreign ---- */

enum {
    QUEUES_MAX = 1 << 14, /* of one segment */
    CLOCKS_MAX = 64,
    CLOCK_ANCHORS_MAX = 1 << 14, /* of one clock; then older ones go */
};

struct decode_queue {
    uint32_t id;   /* string */
    uint32_t kind; /* enum lane_kind; 0: it makes no sense */
    uint64_t number;
    uint32_t lane; /* ordinal */
};

struct decode_clock {
    uint32_t id;                      /* string */
    uint32_t ordinal;                 /* in the trace */
    VEC(struct clock_anchor) anchors; /* rising in raw and ns */
};

struct decode_label {
    uint32_t name; /* string ordinal */
    uint32_t first_arg, arg_count;
};

/* `{0}` is empty. */
struct decode_queues {
    VEC(struct decode_queue) items;
    VEC(struct decode_clock) clocks;
    VEC(struct decode_label) labels;
    VEC(struct arg) args; /* of the labels */
    struct map64 by_id, label_by_id;
    uint32_t span_count; /* in the block at hand */
    uint32_t walked;     /* of names.queues, whose names are known */
    uint64_t mistimed, acausal;
};

/* Of a part of a block that a recovery reads again: what the recording has already. */
struct decode_skip {
    bool plain, spans;
};

/* What all threads of a segment share. */
struct decoder {
    struct names names;
    struct schemas schemas;
    struct decode_queues queues;
    struct decode_skip skip;
    uint32_t process;              /* ordinal in the trace */
    struct lives *lives;           /* of threads that others name; NULL: they are not */
    uint32_t track_count;          /* added to the trace */
    uint32_t note_count;           /* the same, as facts */
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

void decode_queues_free(struct decode_queues *queues);

/* Queues that have had spans get names that they were given since. 0, -ENOMEM, -EFAULT. */
int decode_queue_names(struct decoder *decoder);

/* In `decoded.events` an EVENT_PUSH or EVENT_TRACK_BEGIN of a call that must last for some time to
 * be wanted has that time as its end_ns; a push has as its depth how many ranges are open around
 * it. An EVENT_SPAN has in place of a colour 1 + the serial of the thread that caused it, or 0. */

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

/* ---- One pass over a block's records: decode.c and decode_spans.c ---- */

/* The parts of one record, all inside its length. */
struct decode_parts {
    struct annot_record record;
    struct annot_attr attr;
    struct annot_id id;
    const char *name, *text;
};

/* What a key-value belongs to. */
enum decode_owner {
    OWNER_NONE,    /* there was no record before it       */
    OWNER_EVENT,   /* the last event                      */
    OWNER_GROUP,   /* a group of counters                 */
    OWNER_UNKNOWN, /* a record of a later minor version   */
};

/* One pass over the records of a block. */
struct decode_pass {
    struct decoder *decoder;
    struct decode_thread *thread;
    struct decoded *decoded;
    enum decode_owner owner;
    bool lost;          /* some record could not be told: decode_lose */
    struct event group; /* OWNER_GROUP: what its series have in common */
};

/* The ordinal of a look-up, unless an earlier one failed; the first failure stays in *error. */
uint32_t decode_keep(int64_t ordinal, int *error);

/* Records of the pass that cannot be told. Room for one event must be there. */
void decode_lose(struct decode_pass *pass, enum loss cause, uint64_t count);

/* Adds a SPAN to the events, or counts why not; takes an anchor of a clock. 0 or -errno. */
int decode_span(struct decode_pass *pass, const struct decode_parts *parts);
int decode_anchor(struct decode_pass *pass, const struct decode_parts *parts);

#endif
