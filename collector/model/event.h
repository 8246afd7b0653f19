/* SPDX-License-Identifier: MIT */
/* The in-memory event: what every part of the collector, the recording and the exporters speak.
 *
 * Thread-safety: plain data. Times are CLOCK_MONOTONIC nanoseconds. Strings, threads and scopes are
 * ordinals of the recording's struct trace. Within one thread, events come in time
 * order; between threads they come in the order in which they were collected. */
#ifndef ANNOT_MODEL_EVENT_H
#define ANNOT_MODEL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are those of the recording format: explicit and append-only. */
enum event_kind {
    EVENT_PUSH = 1,       /* name, attributes                                                     */
    EVENT_POP = 2,        /* depth = open pushed ranges after it                                  */
    EVENT_START = 3,      /* id, name, attributes: a range of the process, may overlap            */
    EVENT_END = 4,        /* id                                                                   */
    EVENT_MARK = 5,       /* name, attributes                                                     */
    EVENT_COUNTER = 6,    /* name, scope, value                                                   */
    EVENT_LOST = 7,       /* value.uint64 = records lost, level = enum loss, from time_ns to
                             end_ns; depth = pushed ranges that are still open afterwards: those
                             above were closed inside the gap, nobody knows when                  */
    EVENT_EDGE = 8,       /* recording was switched off and on again: all open ranges of the
                             thread end here, unfinished                                          */
    EVENT_FLOW_BEGIN = 9, /* id = flow, name or none: an arrow leaves the open range        */
    EVENT_FLOW_STEP = 10, /* id = flow                                                      */
    EVENT_FLOW_END = 11,  /* id = flow: the arrow arrives                                   */
    EVENT_TRACK_BEGIN = 12,  /* id = ordinal of a track, name, attributes                      */
    EVENT_TRACK_END = 13,    /* id = ordinal of a track: closes its innermost range            */
    EVENT_TRACK_MARK = 14,   /* id = ordinal of a track, name, attributes                      */
    EVENT_PAYLOAD = 15,      /* name = key, value: one key-value of the event before it, with its
                                time; always in the same batch. A unit stands in the key:
                                "size [bytes]"                                                 */
    EVENT_TRACK_HIDDEN = 16, /* id = ordinal of a track: a range begins that the filter holds back;
                                not shown, but an EVENT_TRACK_END closes it                    */
    EVENT_KIND_COUNT = 17,
};

/* Why records are missing; the numbers of the recording format (and of the wire). */
enum loss {
    LOSS_POOL_FULL = 0,
    LOSS_NO_MEMORY = 1,
    LOSS_THREAD_LIMIT = 2, /* or, found by the collector, TRACE_TRACKS_MAX */
    LOSS_INTERRUPTED = 3,
    LOSS_COLLECTOR_LATE = 4,
    LOSS_OVERWRITTEN = 5,
    LOSS_CORRUPT = 6,
    LOSS_TOO_LARGE = 7,
    LOSS_SHARED = 8,
    LOSS_REFUSED = 9, /* found by the collector */
    LOSS_COUNT = 10,
};

/* A short constant text for humans: "buffer full", "shared memory full", ... */
const char *loss_name(enum loss loss);

enum value_kind {
    VALUE_NONE = 0,
    VALUE_INT64 = 1,
    VALUE_UINT64 = 2,
    VALUE_DOUBLE = 3,
    VALUE_BOOL = 4,
    VALUE_STRING = 5, /* string ordinal */
};

union value {
    int64_t int64;
    uint64_t uint64;
    double float64;
    uint32_t string;
};

struct event {
    int64_t time_ns;
    uint32_t thread; /* ordinal in struct trace */
    uint8_t kind;    /* enum event_kind */
    uint8_t level;   /* 0..7; EVENT_LOST: enum loss */
    uint8_t value_kind;
    uint8_t has_color;
    uint32_t name;  /* string ordinal; 0 = none */
    uint32_t scope; /* ordinal: domain, category, who told it (struct scope) */
    uint32_t color; /* 0xAARRGGBB, if has_color */
    union value value;

    union {
        uint64_t id;    /* EVENT_START, EVENT_END, EVENT_FLOW_, EVENT_TRACK_ */
        uint64_t depth; /* EVENT_POP, EVENT_LOST */
    };

    int64_t end_ns; /* EVENT_LOST */
};

/* Does it stand for a call of the program? Losses and edges do not, nor key-values, which belong to
 * one. */
static inline bool event_is_record(uint8_t kind)
{
    return kind != EVENT_LOST && kind != EVENT_EDGE && kind != EVENT_PAYLOAD;
}

/* Is its id the ordinal of a track? */
static inline bool event_is_of_track(uint8_t kind)
{
    return kind == EVENT_TRACK_BEGIN || kind == EVENT_TRACK_END || kind == EVENT_TRACK_MARK ||
           kind == EVENT_TRACK_HIDDEN;
}

/* Flows and tracks have an id and no value. (In recordings the id stands in place of the value: it
 * follows the last one of the same shape more closely than the ids of ranges.) */
static inline bool event_is_flow_or_track(uint8_t kind)
{
    return kind >= EVENT_FLOW_BEGIN && kind < EVENT_KIND_COUNT && kind != EVENT_PAYLOAD;
}

/* How many key-values the event at `index` of a batch has: the events that follow it. */
static inline uint32_t event_payload_count(const struct event *events, uint32_t count,
                                           uint32_t index)
{
    uint32_t end = index + 1;
    while (end < count && events[end].kind == EVENT_PAYLOAD)
        end++;
    return end - index - 1;
}

/* Open pushed ranges of the thread after an event, when `depth` were open before it. */
static inline uint64_t event_depth_after(const struct event *event, uint64_t depth)
{
    switch (event->kind) {
    case EVENT_PUSH:
        return depth + 1;
    case EVENT_POP:
    case EVENT_LOST:
        return event->depth;
    case EVENT_EDGE:
        return 0;
    default:
        return depth;
    }
}

/* When it is told: of a gap that is when it ends, as the ranges in it end then. */
static inline int64_t event_told_ns(const struct event *event)
{
    return event->kind == EVENT_LOST && event->end_ns > event->time_ns ? event->end_ns
                                                                       : event->time_ns;
}

/* Where a batch comes from: enough to tell, after a crash of the collector, which committed
 * records are in the file already. */
struct batch_source {
    uint32_t sequence;     /* of the block within its thread */
    uint32_t begin_offset; /* bytes of the block's records: [begin_offset, end_offset) */
    uint32_t end_offset;
};

/* Events of one thread, in time order. `events` belongs to whoever made the batch, until the call
 * it is handed to returns. */
struct event_batch {
    uint32_t thread;
    uint32_t count;
    const struct event *events;
    struct batch_source source;
    int64_t settled_ns; /* no later batch of any thread has an event before this; 0: not known */
};

#endif
