/* SPDX-License-Identifier: MIT */
/* Decodes the bytes of a block, copied into private memory, into events of the model: timestamps
 * into times, structs into key-values, records into events. */
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

/* Decodes the bytes of a block, copied into private memory, into events of the model.
 *
 * Bytes are foreign: every length is bounded, unknown kinds are skipped by their length, and an
 * invalid record ends the block with one EVENT_LOST of LOSS_CORRUPT. A key-value without an event
 * before it costs itself only. Times rise within a thread and never pass the present. */

/* A block full of the shortest records, with an edge and the losses before them, one more event
 * after them, and first the events for overwritten blocks. */
enum {
    DECODE_EVENTS_BEFORE = 1 + ANNOT_OPEN_DEPTH + LOSS_COUNT,
    DECODE_EVENTS_MAX =
        ANNOT_BLOCK_DATA_SIZE / ANNOT_GRANULE + 1 + LOSS_COUNT + 1 + DECODE_EVENTS_BEFORE,
    DECODE_TRACKS_MAX = TRACE_LANES_MAX - (1 << 16), /* per segment */
};

struct decoded {
    VEC(struct event) events;
    VEC(struct arg) args; /* of all events */
};

/* Loss counts above this are corrupt: no program counts so far one by one. */
#define LOSS_BELIEVABLE (UINT64_C(1) << 48)

/* ---- Queues: the subjects of SPANs, by their string ids, which are foreign ---- */

enum {
    QUEUES_MAX = 1 << 14, /* per segment */
    CLOCKS_MAX = 64,
    CLOCK_ANCHORS_MAX = 1 << 14, /* per clock; then the older half is dropped */
};

struct decode_queue {
    uint32_t id;   /* string */
    uint32_t kind; /* enum lane_kind; 0: invalid */
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
    uint32_t span_count; /* in the current block */
    uint32_t walked;     /* of names.queues, with known names */
    uint64_t mistimed, acausal;
};

/* For a part of a block that a recovery reads again: the kinds that the recording has already. */
struct decode_skip {
    bool plain, spans;
};

/* Shared by all threads of a segment. */
struct decoder {
    struct names names;
    struct schemas schemas;
    struct decode_queues queues;
    struct decode_skip skip;
    uint32_t process;     /* ordinal in the trace */
    struct lives *lives;  /* of threads that other threads name; NULL: such names are ignored */
    uint32_t track_count; /* added to the trace */
    uint32_t note_count;  /* facts added to the trace */
    uint64_t
        misuse[MISUSE_COUNT]; /* found by the decoder, in addition to the segment's own counts */
    struct clock_map *clock;  /* outlives it */
    bool recover;             /* take clock anchors from block headers */
    bool monotonic;           /* timestamps are already in nanoseconds */
    bool overwrites;          /* blocks may be overwritten; the remaining ones count the loss */
    uint64_t created_time;    /* of the segment */
    int64_t now_ns;           /* upper bound of event times */
};

/* Decoder state of a thread, kept between blocks. */
struct decode_thread {
    uint32_t ordinal; /* in the trace */
    uint32_t depth;   /* open pushed ranges */
    bool started;     /* a block was seen; generation is known */
    uint64_t generation;
    uint64_t headers; /* headers of blocks with a lower sequence are decoded */
    int64_t first_ns, last_ns;
    uint64_t record_count;
    uint64_t wire_records;     /* of blocks that overwrite: in libannot's count */
    uint64_t lost[LOSS_COUNT]; /* reported as EVENT_LOST so far */
};

void decode_queues_free(struct decode_queues *queues);

/* Renames queues that have spans and got a name since. 0, -ENOMEM, -EFAULT. */
int decode_queue_names(struct decoder *decoder);

/* In `decoded.events`, an EVENT_PUSH or EVENT_TRACK_BEGIN of a call with a least duration has that
 * duration as its end_ns; a push has the number of open ranges around it as its depth. An
 * EVENT_SPAN has 1 + the serial of the thread that caused it, or 0, in place of a colour. */

/* Converts a timestamp of the segment to nanoseconds, at most the present. */
int64_t decode_time(struct decoder *decoder, uint64_t time);

/* Decodes the records of `part` and, the first time, the block's header into `decoded`, which is
 * emptied first. 0, -ENOMEM, -EFAULT. */
int decode_block(struct decoder *decoder, struct decode_thread *thread,
                 const struct segment_block_copy *block, const struct batch_source *part,
                 struct decoded *decoded);

/* One EVENT_LOST, from the thread's last event until now. */
struct event decode_lost(struct decoder *decoder, struct decode_thread *thread, enum loss cause,
                         uint64_t count);

/* ---- One pass over a block's records: decode.c and decode_spans.c ---- */

/* The parts of one record, all within its length. */
struct decode_parts {
    struct annot_record record;
    struct annot_attr attr;
    struct annot_id id;
    const char *name, *text;
};

/* The owner of a key-value. */
enum decode_owner {
    OWNER_NONE,    /* no record came before */
    OWNER_EVENT,   /* the last event */
    OWNER_GROUP,   /* a group of counters */
    OWNER_UNKNOWN, /* a record of a later minor version */
};

/* One pass over the records of a block. */
struct decode_pass {
    struct decoder *decoder;
    struct decode_thread *thread;
    struct decoded *decoded;
    enum decode_owner owner;
    bool lost;          /* some record was lost: decode_lose */
    struct event group; /* OWNER_GROUP: the common part of its series */
};

/* The ordinal of a look-up, or 0 after a failure; *error keeps the first failure. */
uint32_t decode_keep(int64_t ordinal, int *error);

/* Counts records of the pass as lost. Needs room for one event. */
void decode_lose(struct decode_pass *pass, enum loss cause, uint64_t count);

/* Adds a SPAN to the events, or counts the reason it is dropped; decode_anchor takes an anchor of a
 * clock. 0 or -errno. */
int decode_span(struct decode_pass *pass, const struct decode_parts *parts);
int decode_anchor(struct decode_pass *pass, const struct decode_parts *parts);

#endif
