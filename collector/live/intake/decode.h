/* SPDX-License-Identifier: MIT */
/* From the bytes of a block, copied into private memory, to events of the model: its timestamps to
 * times, its structs to key-values, its records to events. */
#ifndef ANNOT_INTAKE_DECODE_H
#define ANNOT_INTAKE_DECODE_H

#include "event.h"
#include "hash_map.h"
#include "lives.h"
#include "names.h"
#include "sample.h"
#include "segment_reader.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Time ------------------------------------------------------------------------------------ */

/* From the timestamps of programs to CLOCK_MONOTONIC nanoseconds.
 *
 * Anchors are pairs (timestamp, ns) of one instant. Between two neighbours time runs straight, so
 * conversion is continuous and rises; a few anchors a second keep the error at the noise of one
 * anchor (some tens of ns) however the kernel slews its clock. A timestamp of the last seconds has
 * one time, also if it is asked for again: what is told of an instant by several (a launch by its
 * stack, its spans and its thread's ranges) is at one, and in order with all others. */

struct clock_anchor {
    uint64_t raw;
    int64_t ns;
};

/* One straight piece: ns + (raw - begin) * mult / 2^32. */
struct clock_line {
    uint64_t begin, end; /* raw; begin >= end: none */
    int64_t ns;
    uint64_t mult;
};

struct clock_map {
    VEC(struct clock_anchor) anchors; /* rising in raw and ns */
    struct clock_line line;           /* the one that was used last */
    double ns_per_tick;               /* before the first anchor and with only one */
};

/* The timestamp counter of this machine now; 0 where there is none. */
uint64_t clock_now_raw(void);

/* Timestamp and CLOCK_MONOTONIC at one instant, the best of a few tries. */
struct clock_anchor clock_anchor_now(void);

/* 0 or -ENOMEM. Measures the rate of the counter for about a millisecond. */
int clock_map_init(struct clock_map *map);
void clock_map_fini(struct clock_map *map);

/* Takes an anchor if the last one is long ago; call it now and then, as times that are converted
 * later lie between them. Notices that the counter was set back. 0 or -ENOMEM. */
int clock_map_advance(struct clock_map *map);

/* Adds an anchor that somebody else took, if it is believable: within 1 ms + 1/1000 of what the
 * rate tells. For segments whose collector died. 0, -EBADMSG or -ENOMEM. */
int clock_map_offer(struct clock_map *map, struct clock_anchor anchor);

/* Takes an anchor for what is later than all. Never fails: times outside of the anchors are cut to
 * a day around them. */
int64_t clock_map_ns_anywhere(struct clock_map *map, uint64_t raw);

static inline int64_t clock_map_ns(struct clock_map *map, uint64_t raw)
{
    const struct clock_line *line = &map->line;
    if (__builtin_expect(raw < line->begin || raw >= line->end, 0))
        return clock_map_ns_anywhere(map, raw);
    return line->ns + (int64_t)((unsigned __int128)(raw - line->begin) * line->mult >> 32);
}

/* ---- Structs --------------------------------------------------------------------------------- */

/* Structs that programs emit as bytes, taken apart by the schema that they registered.
 *
 * Texts of schemas and bytes of structs are foreign: a field lies inside the size that the schema
 * says and the struct has, or the schema is none. */

enum {
    SCHEMA_VALUES_MAX = 256, /* of one struct that are shown; few more than it has bytes */
    SCHEMAS_MAX = 1024,      /* of one segment */
};

#define SCHEMA_FITS_NONE UINT32_MAX

/* One value of a struct. */
struct schema_field {
    uint32_t key; /* string: "size [bytes]", "a[3]" */
    uint16_t offset, size;
    uint8_t type; /* enum annot_field_type */
};

struct schema {
    uint32_t name; /* string */
    uint32_t size; /* bytes of the struct; SCHEMA_FITS_NONE: its text makes no sense */
    uint32_t count, left_out;
    struct schema_field fields[];
};

/* By number; `{0}` is empty. */
struct schemas {
    VEC(struct schema *) items;
    uint32_t count;
};

void schemas_free(struct schemas *schemas);

/* The schema of that number: 1; 0: there is none; -ENOMEM, -EFAULT. */
int schemas_find(struct schemas *schemas, struct names *names, uint16_t number,
                 const struct schema **ret_schema);

/* The value of a field, of a struct with schema->size bytes. 0 or -ENOMEM. */
int schema_value(struct names *names, const struct schema_field *field, const uint8_t *bytes,
                 struct arg *arg);

/* Bytes that no schema explains, as a value: hexadecimal. 0 or -ENOMEM. */
int schema_show_bytes(struct names *names, const uint8_t *bytes, size_t size, struct arg *arg);

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* From the bytes of a block, copied into private memory, to events of the model.
 *
 * Bytes are foreign: every length is bounded, unknown kinds are skipped by their length, and what
 * cannot be believed ends the block with one EVENT_LOST of LOSS_CORRUPT. A key-value without an
 * event before it costs itself only. Times rise within a thread and never pass the present.
 * */

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

/* ---- Queues: decode_spans.c ----
 *
 * What SPANs refer to, by their string ids, which are foreign. */

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
 * it. An EVENT_SPAN has in
 * place of a colour 1 + the serial of the thread that caused it, or 0. */

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
