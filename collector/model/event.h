/* SPDX-License-Identifier: MIT */
/* The in-memory event, shared by the collector, the recording and the exporters.
 *
 * Thread-safety: plain data. Times are CLOCK_MONOTONIC nanoseconds. Strings, threads and scopes are
 * ordinals of the recording's struct trace. Events of one thread are in time order; events of
 * different threads are in the order in which they were collected. */
#ifndef ANNOT_MODEL_EVENT_H
#define ANNOT_MODEL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are those of the recording format: explicit and append-only. */
enum event_kind {
    EVENT_PUSH = 1,       /* name, attributes */
    EVENT_POP = 2,        /* depth = open pushed ranges after it */
    EVENT_START = 3,      /* id, name, attributes: a range of the process, may overlap */
    EVENT_END = 4,        /* id */
    EVENT_MARK = 5,       /* name, attributes */
    EVENT_COUNTER = 6,    /* name, scope, value */
    EVENT_LOST = 7,       /* value.uint64 = records lost, level = enum loss, from time_ns to end_ns;
                           * depth = pushed ranges still open afterwards: those above closed inside
                           * the gap at unknown times */
    EVENT_EDGE = 8,       /* recording was switched off and on again: all open ranges of the thread
                           * end here, unfinished */
    EVENT_FLOW_BEGIN = 9, /* id = flow, name or 0: an arrow leaves the open range */
    EVENT_FLOW_STEP = 10, /* id = flow */
    EVENT_FLOW_END = 11,  /* id = flow: the arrow arrives */
    EVENT_TRACK_BEGIN = 12,  /* lane, name, attributes */
    EVENT_TRACK_END = 13,    /* lane: closes its innermost range */
    EVENT_TRACK_MARK = 14,   /* lane, name, attributes */
    EVENT_TRACK_HIDDEN = 15, /* lane: a begin that the filter holds back; not shown, but an
                              * EVENT_TRACK_END closes it */
    EVENT_SPAN = 16,    /* lane, name, attributes, end_ns, origin_ns: a complete span of work from
                         * time_ns to end_ns; thread is the one that caused it, at origin_ns. On
                         * EVENT_OWN_LANE: a span of the thread itself, reported by an outside
                         * observer */
    EVENT_KINDS = 17,   /* of arrays by kind */
    EVENT_RESUME = 128, /* only in checkpoints, where a reader begins: depth = open pushed ranges of
                         * the thread, value.uint64 = pushes before, level = enum resume_flags */
    EVENT_SPAN_END = 129, /* never stored: spans on the thread's own lane end here (read/) */
};

/* State of the events before the point where a reader begins. */
enum resume_flags {
    RESUME_LOSSY = 1u << 0,      /* some were lost */
    RESUME_UNNUMBERED = 1u << 1, /* the number of earlier pushes is unknown */
};

/* Minimum meaning of a kind, for readers that do not know the kind itself. Recordings store it for
 * each shape of events, so that a reader that drops a kind still counts right. */
enum event_trait {
    EVENT_OPENS = 1u << 0,    /* opens one more range of its thread */
    EVENT_CLOSES = 1u << 1,   /* leaves event.depth ranges open, 0 if the event has no depth */
    EVENT_CALL = 1u << 2,     /* stands for a call of the program, as losses and edges do not */
    EVENT_HAS_END = 1u << 3,  /* event.end_ns */
    EVENT_OWN_TIME = 1u << 4, /* is not ordered by time with the other events of its thread */
    EVENT_GOES_ON = 1u << 5,  /* has EVENT_CONTINUES */
};

/* By kind: enum event_trait. 0: an unknown kind. */
extern const uint8_t event_traits[256];

enum event_flags {
    EVENT_HAS_COLOR = 1u << 0,
    EVENT_CONTINUES = 1u << 1, /* of a begin: it resumes an earlier one, as a generator does. Its
                                * time counts, it does not */
};

/* Why records are missing; the numbers of the recording format (and of the wire). */
enum loss {
    LOSS_POOL_FULL = 0,
    LOSS_NO_MEMORY = 1,
    LOSS_THREAD_LIMIT = 2, /* or, set by the collector, TRACE_LANES_MAX */
    LOSS_INTERRUPTED = 3,
    LOSS_COLLECTOR_LATE = 4,
    LOSS_OVERWRITTEN = 5,
    LOSS_CORRUPT = 6,
    LOSS_TOO_LARGE = 7,
    LOSS_SHARED = 8,
    LOSS_REFUSED = 9,  /* set by the collector */
    LOSS_MISSING = 10, /* set by a reader: the volume that holds them is missing */
    LOSS_COUNT = 11,
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

/* A key-value of an event. A unit is part of the key: "size [bytes]". */
struct arg {
    uint32_t key;  /* string */
    uint32_t kind; /* enum value_kind */
    union value value;
};

/* All of an event's key-values, in its order; without the single payload of the event itself. */
struct args {
    const struct arg *items;
    uint32_t count;
};

struct event {
    int64_t time_ns;
    uint32_t thread; /* ordinal in struct trace */
    uint8_t kind;    /* enum event_kind */
    uint8_t level;   /* 0..7; EVENT_LOST: enum loss */
    uint8_t value_kind;
    uint8_t flags;  /* enum event_flags */
    uint32_t name;  /* string ordinal; 0 = unnamed */
    uint32_t scope; /* ordinal: domain, category, observer (struct scope) */
    uint32_t color; /* 0xAARRGGBB, if EVENT_HAS_COLOR */
    uint32_t lane;  /* EVENT_TRACK_, EVENT_SPAN: ordinal in struct trace, which may not define it;
                     * EVENT_SPAN: or EVENT_OWN_LANE */
    union value value;

    union {
        uint64_t id;       /* EVENT_START, EVENT_END, EVENT_FLOW_ */
        uint64_t depth;    /* EVENT_POP, EVENT_LOST */
        int64_t origin_ns; /* EVENT_SPAN; EVENT_NO_ORIGIN: unknown */
    };

    int64_t end_ns;     /* EVENT_LOST, EVENT_SPAN; EVENT_PUSH: from read/own_spans.c, not stored */
    uint32_t args;      /* index of the first in the batch's array */
    uint16_t arg_count; /* at most EVENT_ARGS_MAX */
};

enum { EVENT_ARGS_MAX = UINT16_MAX };

#define EVENT_NO_ORIGIN INT64_MIN

/* The lane of event.thread, which has no entry in struct trace. A span on it that has an origin_ns
 * is an instant: readers get an EVENT_MARK. */
#define EVENT_OWN_LANE UINT32_MAX

/* True for an event that stands for a call of the program. */
static inline bool event_is_record(uint8_t kind)
{
    return (event_traits[kind] & EVENT_CALL) != 0;
}

/* The kind, or 0 if it is unknown. */
static inline uint8_t event_known_kind(uint8_t kind)
{
    return event_traits[kind] ? kind : 0;
}

/* True for kinds that may have EVENT_CONTINUES. */
static inline bool event_can_continue(uint8_t kind)
{
    return kind == EVENT_PUSH || kind == EVENT_START || kind == EVENT_TRACK_BEGIN;
}

/* True for kinds that lie on event.lane instead of their thread. */
static inline bool event_has_lane(uint8_t kind)
{
    return kind == EVENT_TRACK_BEGIN || kind == EVENT_TRACK_END || kind == EVENT_TRACK_MARK ||
           kind == EVENT_TRACK_HIDDEN || kind == EVENT_SPAN;
}

/* A span of event.thread that an outside observer reports. */
static inline bool event_is_own_span(const struct event *event)
{
    return event->kind == EVENT_SPAN && event->lane == EVENT_OWN_LANE;
}

static inline bool event_is_flow(uint8_t kind)
{
    return kind == EVENT_FLOW_BEGIN || kind == EVENT_FLOW_STEP || kind == EVENT_FLOW_END;
}

/* Open pushed ranges of the thread after an event, when `depth` were open before it. */
static inline uint64_t event_depth_after(const struct event *event, uint64_t depth)
{
    uint8_t traits = event_traits[event->kind];
    return traits & EVENT_OPENS ? depth + 1 : traits & EVENT_CLOSES ? event->depth : depth;
}

/* The time at which readers order it: for a gap its end, where the ranges in it end too. */
static inline int64_t event_order_ns(const struct event *event)
{
    return event->kind == EVENT_LOST && event->end_ns > event->time_ns ? event->end_ns
                                                                       : event->time_ns;
}

/* Origin of a batch in shared memory. After a crash of the collector it identifies the committed
 * records that the file has already. */
struct batch_source {
    uint32_t sequence;     /* of the block within its thread */
    uint32_t begin_offset; /* bytes of the block's records: [begin_offset, end_offset) */
    uint32_t end_offset;
};

/* Events of one thread, in time order; of a declared stream, EVENT_SPANs, and EVENT_COUNTERs of an
 * outside observer, in any order. The maker of the batch owns `events` and `args`; they are valid
 * until the receiving call returns. */
struct event_batch {
    uint32_t thread;
    uint32_t count;
    const struct event *events;
    struct batch_source source;
    int64_t settled_ns; /* no later batch of any thread has an event before this; 0: unknown */
    const struct arg *args;
    uint32_t late;    /* 0: of the programs' own stream; else 1 + the ordinal of the declared one */
    uint32_t emitter; /* as read, if late: the thread of the block in `source` */
};

/* Splits off the events of the first thread: all of the batch, unless it holds spans. The last part
 * keeps the source. */
static inline struct event_batch event_batch_take(struct event_batch *rest)
{
    struct event_batch part = *rest;
    part.thread = rest->count ? rest->events->thread : rest->thread;
    part.count = rest->late ? 0 : rest->count;
    while (part.count < rest->count && rest->events[part.count].thread == part.thread)
        part.count++;
    rest->events += part.count;
    rest->count -= part.count;
    if (rest->count)
        part.source.end_offset = part.source.begin_offset;
    return part;
}

/* The key-values of an event of the batch. */
static inline struct args event_args(const struct event_batch *batch, const struct event *event)
{
    struct args args = {NULL, event->arg_count};
    if (args.count)
        args.items = batch->args + event->args;
    return args;
}

#endif
