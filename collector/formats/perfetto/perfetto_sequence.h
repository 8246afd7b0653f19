/* SPDX-License-Identifier: MIT */
/* Packet sequences: events of one thread with a clock of deltas, names by number.
 *
 * A reader handles each sequence separately, so every thread gets one: its packets need no track,
 * its times are differences (two bytes instead of eight), and each name is spelled out once. Events
 * out of time order (overlapping ranges, gaps) share the sequence of absolute times. A name's
 * number is its string ordinal. A bit set holds the names numbered in a sequence; when all sets
 * together reach PERFETTO_INTERN_BYTES, further names are spelled out in each event. Thread-safety:
 * one thread per object. */
#ifndef ANNOT_PERFETTO_SEQUENCE_H
#define ANNOT_PERFETTO_SEQUENCE_H

#include "event.h"
#include "export_facts.h"
#include "flow_arrows.h"
#include "varint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfetto_launch;

enum {
    PERFETTO_SEQUENCE_SESSION = 1, /* absolute times */
    PERFETTO_SEQUENCE_THREADS = 2, /* + thread */
    PERFETTO_TAIL_SIZE = 32,
    PERFETTO_INTERN_BYTES = 64 << 20,
};

struct name_set {
    uint64_t *words;
    uint32_t word_count;
};

struct perfetto_sequence {
    uint32_t id;         /* 0: not begun */
    uint64_t track_uuid; /* of its events without a track; 0 = not set */
    int64_t last_ns;     /* of the clock of deltas; INT64_MAX if absolute */
    bool absolute;       /* times are CLOCK_MONOTONIC */
    uint8_t head_size;   /* the bytes after the time in each packet, up to the event's message */
    uint8_t head[PERFETTO_TAIL_SIZE];
    uint8_t end_size; /* all bytes after the time in a packet that ends a range */
    uint8_t end[PERFETTO_TAIL_SIZE];
    struct name_set names, categories, keys, messages, files;
};

struct perfetto_output {
    const struct trace *trace;
    struct out_stream *out;
    struct proto_writer packet;
    struct export_keys keys;
    int64_t begin_ns;
    int64_t origin_ns;   /* time 0 of the file; 0 if all are positive */
    size_t intern_bytes; /* of all name sets */
    int error;           /* 0 or -ENOMEM: a packet is missing */
};

/* One event on a track; attributes and payload are those of `event`. */
struct perfetto_event {
    int64_t time_ns;
    uint8_t type;                           /* enum perfetto_event_type */
    uint64_t track_uuid;                    /* 0: the sequence's own */
    const struct event *event;              /* NULL: an end, or an event of `text` */
    const struct args *values;              /* of `event`, or of an end; NULL = without values */
    const char *text;                       /* name other than a string of the recording */
    const struct flow_place *flow;          /* NULL: not a point of a flow */
    const struct perfetto_launch *launches; /* that leave it: `launch_count` many */
    uint32_t launch_count;
    const struct fact *arguments; /* more facts, ended by one without a name; NULL = no facts */
};

/* The first packet of a sequence: its clock, its track (0 = without track). */
void perfetto_sequence_begin(struct perfetto_output *px, struct perfetto_sequence *sequence,
                             uint32_t id, uint64_t track_uuid);
void perfetto_sequence_fini(struct perfetto_sequence *sequence);

/* Any event. */
void perfetto_put(struct perfetto_output *px, struct perfetto_sequence *sequence,
                  const struct perfetto_event *event);

/* The same for usual events: a name, perhaps a category, on the sequence's own track. */
void perfetto_put_named(struct perfetto_output *px, struct perfetto_sequence *sequence,
                        uint8_t type, const struct event *event);
void perfetto_put_end(struct perfetto_output *px, struct perfetto_sequence *sequence,
                      int64_t time_ns);

/* by_number: the name (its string ordinal) has a number in the sequence; is_new: from now on, so it
 * goes into the interned data of the same packet. */
struct perfetto_name_use {
    bool by_number, is_new;
};

bool perfetto_knows(const struct name_set *set, uint32_t name);
struct perfetto_name_use perfetto_use_name(struct perfetto_output *px, struct name_set *set,
                                           uint32_t name, bool may_learn);

/* Packets of other kinds: begin, fields, end. */
struct proto_writer *perfetto_packet_begin(struct perfetto_output *px);

/* A time of CLOCK_MONOTONIC as a field of the packet. */
void perfetto_put_time(struct perfetto_output *px, uint32_t field, int64_t time_ns);
void perfetto_packet_end(struct perfetto_output *px);

/* The same for the first packet of a sequence, with the message of its defaults open. */
struct proto_writer *perfetto_defaults_begin(struct perfetto_output *px, uint32_t sequence,
                                             uint32_t clock);

/* Begins a sequence with times of CLOCK_MONOTONIC, and says that the other clock, which the reader
 * assumes for some packets, has equal times. */
void perfetto_clock_sequence(struct perfetto_output *px, uint32_t sequence, uint32_t other_clock);

#endif
