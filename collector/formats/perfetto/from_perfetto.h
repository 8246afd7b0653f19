/* SPDX-License-Identifier: MIT */
/* The reader of Perfetto traces: its state, interned data, events. Thread-safety: one thread per
 * reader. */
#ifndef ANNOT_FROM_PERFETTO_H
#define ANNOT_FROM_PERFETTO_H

#include "event.h"
#include "hash_map.h"
#include "varint.h"
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

/* ---- Interned data --------------------------------------------------------------------------- */

/* Names, frames and stacks that packets of a sequence refer to by number. */

/* Tables of interned numbers of a sequence. */
enum perfetto_table {
    PERFETTO_CATEGORIES,
    PERFETTO_NAMES,
    PERFETTO_KEYS,
    PERFETTO_FUNCTIONS,
    PERFETTO_FRAMES,     /* function << 32 | mapping */
    PERFETTO_CALLSTACKS, /* 1 + place in frame_lists */
    PERFETTO_PATHS,
    PERFETTO_MAPPINGS, /* its path */
    PERFETTO_STRINGS,
    PERFETTO_STACKS, /* of a callstack: the ordinal */
};

/* Adds the values of a field, single or packed. Too many are counted. 0 or -ENOMEM. */
int perfetto_numbers(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field);

/* The same for doubles, as their bits. */
int perfetto_doubles(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field);

/* Reserves `bytes` more for entries of sequences; false, and counted: beyond the limit. */
bool perfetto_hold(struct perfetto *trace, size_t bytes);

/* The value of a number; 0: unknown. */
uint64_t perfetto_find(const struct perfetto_sequence *sequence, enum perfetto_table table,
                       uint64_t iid);

/* InternedData. 0 or -ENOMEM. */
int perfetto_intern(struct perfetto *trace, struct perfetto_sequence *sequence,
                    struct proto message);

/* The ordinal of a callstack; 0: unknown, or see the sink's error. */
uint32_t perfetto_stack(struct perfetto *trace, struct perfetto_sequence *sequence, uint64_t iid);

/* Drops the meanings of its numbers. */
void perfetto_forget(struct perfetto *trace, struct perfetto_sequence *sequence);
uint32_t perfetto_text(struct perfetto *trace, const struct proto *bytes);

/* ---- Events ---------------------------------------------------------------------------------- */

/* Track events: sorted until all tracks are known, then sent to the sink. */

/* Fields of an event that struct event lacks. */
struct perfetto_event_fields {
    uint64_t type, track;
    uint32_t category;
    struct proto legacy; /* LegacyEvent */
    bool has_stack;
    uint64_t bound; /* a flow that it is a point of, if `binds` */
    uint8_t binds;  /* enum event_kind; 0: not a point */
};

/* TrackEvent and TrackDescriptor. 0 or -errno. */
int perfetto_take_event(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message, int64_t time_ns);
int perfetto_take_track(struct perfetto *trace, struct proto message);

/* Sends all events to the sink, after the file was read. 0 or -errno. */
int perfetto_emit(struct perfetto *trace);

#endif
