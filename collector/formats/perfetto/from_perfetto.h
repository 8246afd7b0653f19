/* SPDX-License-Identifier: MIT */
/* State of the reader of Perfetto traces, shared by its files. Thread-safety: one thread per
 * reader. */
#ifndef ANNOT_FROM_PERFETTO_H
#define ANNOT_FROM_PERFETTO_H

#include "event.h"
#include "hash_map.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_sink;

struct perfetto_numbers {
    uint64_t *items;
    size_t count, capacity;
};

/* Field of TrackEvent and of its defaults that annot does not write. */
enum { PERFETTO_EXTRA_DOUBLE_TRACKS = 45 };

/* Values of counters that come with events: integers, and doubles as their bits. */
enum { PERFETTO_INTEGERS, PERFETTO_DOUBLES, PERFETTO_VALUE_KINDS };

struct perfetto_clock_state {
    uint64_t id;
    uint64_t multiplier_ns;
    int64_t offset_ns; /* to the trace's clock */
    int64_t last_ns;   /* incremental clocks: their last reading */
    bool incremental;
};

struct perfetto_sequence {
    uint64_t id, state; /* state: number of times it was cleared */
    uint64_t default_track;
    uint64_t default_clock;
    int64_t pid, tid, reference_ns; /* of its thread; pid -1: without a thread */
    VEC(struct perfetto_clock_state) clocks;
    struct perfetto_numbers value_tracks[PERFETTO_VALUE_KINDS];
    struct wide_map interned;  /* by table and number, until it is cleared */
    VEC(uint64_t) frame_lists; /* a count, then that many frames */
};

struct perfetto_track {
    uint64_t uuid, parent;
    uint32_t name, unit; /* strings */
    int64_t pid, tid;    /* -1: not set */
    uint32_t process_name;
    bool counter, described;
    bool incremental; /* a counter's values are differences */
    int64_t multiplier, last;
    double last_double;
    uint64_t state_of, state; /* of the last value: its sequence, and that sequence's state */
    /* Its place in the recording; made after all is read. */
    bool made, is_lane;
    bool others; /* it stands for all tracks beyond the limit, so its ranges may overlap */
    uint32_t thread, lane;
    VEC(struct event) begins; /* waiting for their ends */
    VEC(struct arg) args;     /* of these */
};

struct perfetto {
    struct import_sink *sink;
    struct sorter *records; /* events in order of arrival; event.lane: the track's index */
    VEC(struct perfetto_sequence) sequences;
    VEC(struct perfetto_track) tracks;
    uint32_t other_tracks; /* 1 + the index of the track for those beyond the limit; 0: unset */
    size_t open_count;     /* begins of all tracks, and their values */
    struct map64 sequence_index, track_index; /* by id | mixed: 1 + index */
    VEC(struct arg) args;                     /* of the current event */
    struct perfetto_numbers values[PERFETTO_VALUE_KINDS], value_tracks[PERFETTO_VALUE_KINDS];
    VEC(uint8_t) unpacked; /* contents of the current compressed packets */
    bool inside;           /* reading these */
    size_t held_bytes;     /* held by sequences, approximately */
    uint64_t packets, skipped, nested;
    uint64_t unheld;      /* entries of sequences dropped beyond the limit */
    uint64_t unsequenced; /* packets of sequences beyond the limit */
};

/* The key of a track; 0 and the largest number share one. */
static inline uint64_t perfetto_track_key(uint64_t uuid)
{
    return uuid == UINT64_MAX ? 1 : uuid + 1;
}

enum {
    PERFETTO_TRACKS_MAX = 1 << 18,
    PERFETTO_SEQUENCES_MAX = 1 << 16,
    PERFETTO_HELD_MAX = 128 << 20,  /* bytes held by all sequences */
    PERFETTO_NUMBERS_MAX = 1 << 16, /* of counters of one event */
};

/* Its index, added if new; once there are `most`, new ones get that of the others. */
int64_t perfetto_track(struct perfetto *trace, uint64_t uuid, size_t most);

#endif
