/* SPDX-License-Identifier: MIT */
/* What the files of the reader of Perfetto traces share. */
#ifndef ANNOT_IMPORT_FROM_PERFETTO_PARTS_H
#define ANNOT_IMPORT_FROM_PERFETTO_PARTS_H

#include "import_parts.h"
#include "sorter.h"

#include <string.h>

/* ---- Protocol buffers ---- */

struct proto {
    const uint8_t *at, *end;
    bool bad; /* what is left makes no sense, and was not taken */
};

struct proto_field {
    uint32_t number;
    bool is_bytes;
    uint64_t value;     /* of numbers of all widths */
    struct proto bytes; /* of the others */
};

/* The next field; false at the end. */
bool proto_next(struct proto *message, struct proto_field *ret_field);

static inline double proto_double(const struct proto_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof(value));
    return value;
}

/* ---- The trace ---- */

/* What sequences call by numbers of their own. */
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

struct perfetto_numbers {
    uint64_t *items;
    size_t count, capacity;
};

/* Field of TrackEvent and of its defaults that annot does not write. */
enum { PERFETTO_EXTRA_DOUBLE_TRACKS = 45 };

/* Values of counters that come with events: integers, and doubles by their bits. */
enum { PERFETTO_INTEGERS, PERFETTO_DOUBLES, PERFETTO_VALUE_KINDS };

struct perfetto_clock_state {
    uint64_t id;
    uint64_t multiplier_ns;
    int64_t offset_ns; /* to the trace's clock */
    int64_t last_ns;   /* incremental ones: what the last one was, of the clock itself */
    bool incremental;
};

struct perfetto_sequence {
    uint64_t id, state; /* state: how often it was cleared */
    uint64_t default_track;
    uint64_t default_clock;
    int64_t pid, tid, reference_ns; /* of its thread; pid -1: none */
    VEC(struct perfetto_clock_state) clocks;
    struct perfetto_numbers value_tracks[PERFETTO_VALUE_KINDS];
    struct wide_map interned;  /* by table and number, until it is cleared */
    VEC(uint64_t) frame_lists; /* the count, and so many frames */
};

struct perfetto_track {
    uint64_t uuid, parent;
    uint32_t name, unit; /* strings */
    int64_t pid, tid;    /* -1: none */
    uint32_t process_name;
    bool counter, described;
    bool incremental; /* a counter's values are differences */
    int64_t multiplier, last;
    double last_double;
    uint64_t state_of, state; /* the last one's sequence, and its state */
    /* Where it lies in the recording; made when all is known. */
    bool made, is_lane;
    bool others; /* it stands for all tracks beyond the limit, whose ranges may overlap */
    uint32_t thread, lane;
    VEC(struct event) begins; /* that wait for their ends */
    VEC(struct arg) args;     /* of these */
};

struct perfetto {
    struct import_sink *sink;
    struct sorter *records; /* events in order of their coming; event.lane: the track's index */
    VEC(struct perfetto_sequence) sequences;
    VEC(struct perfetto_track) tracks;
    uint32_t other_tracks; /* 1 + the index of the one for those beyond the limit; 0: none yet */
    size_t open_count;     /* begins of all tracks, and their values */
    struct map64 sequence_index, track_index; /* by id | mixed: 1 + index */
    VEC(struct arg) args;                     /* of the present event */
    struct perfetto_numbers values[PERFETTO_VALUE_KINDS], value_tracks[PERFETTO_VALUE_KINDS];
    VEC(uint8_t) unpacked; /* of the compressed packets that are read at present */
    bool inside;           /* of these */
    size_t held_bytes;     /* by what sequences know, about */
    uint64_t packets, skipped, nested;
    uint64_t unheld;      /* what sequences were to know beyond the limit */
    uint64_t unsequenced; /* packets of sequences beyond the limit */
};

/* Of an event: what is not in struct event. */
struct perfetto_told {
    uint64_t type, track;
    uint32_t category;
    struct proto legacy; /* LegacyEvent */
    bool has_stack;
    uint64_t bound; /* a flow that it is a point of, if `binds` */
    uint8_t binds;  /* enum event_kind; 0: of none */
};

/* The key of a track; 0 and the largest number are one. */
static inline uint64_t perfetto_track_key(uint64_t uuid)
{
    return uuid == UINT64_MAX ? 1 : uuid + 1;
}

enum {
    PERFETTO_TRACKS_MAX = 1 << 18,
    PERFETTO_SEQUENCES_MAX = 1 << 16,
    PERFETTO_HELD_MAX = 128 << 20,  /* bytes, by what all sequences know */
    PERFETTO_NUMBERS_MAX = 1 << 16, /* of counters of one event */
};

/* Its index; of one that is not known while there are `most`, that of the others. */
int64_t perfetto_track(struct perfetto *trace, uint64_t uuid, size_t most);
/* The process of the track, or of one above it; -1: none. */
int64_t perfetto_pid(struct perfetto *trace, const struct perfetto_track *track);

/* Adds what the field has: one, or all of a packed one. Too many are counted. 0 or -ENOMEM. */
int perfetto_numbers(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field);
/* The same of doubles, by their bits. */
int perfetto_doubles(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field);

/* Room for so many bytes more of what sequences know; false, and counted: there is none. */
bool perfetto_hold(struct perfetto *trace, size_t bytes);

/* What a number stands for; 0: it is not known. */
uint64_t perfetto_find(const struct perfetto_sequence *sequence, enum perfetto_table table,
                       uint64_t iid);
/* InternedData. 0 or -ENOMEM. */
int perfetto_intern(struct perfetto *trace, struct perfetto_sequence *sequence,
                    struct proto message);
/* The ordinal of a callstack; 0: none is known, or the sink's error. */
uint32_t perfetto_stack(struct perfetto *trace, struct perfetto_sequence *sequence, uint64_t iid);
/* Its numbers mean nothing from here on. */
void perfetto_forget(struct perfetto *trace, struct perfetto_sequence *sequence);

/* ClockSnapshot, for the packets behind it. 0 or -ENOMEM. */
int perfetto_take_clocks(struct perfetto *trace, struct perfetto_sequence *sequence,
                         struct proto message);
/* The time of a packet, whose clock may count from here on. False: it cannot be. */
bool perfetto_find_time(struct perfetto_sequence *sequence, uint64_t clock_id, uint64_t value,
                        int64_t *ret_ns);
bool perfetto_to_ns(uint64_t value, uint64_t multiplier, int64_t *ret_ns);

/* TrackEvent and TrackDescriptor. 0 or -errno. */
int perfetto_take_event(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message, int64_t time_ns);
int perfetto_take_track(struct perfetto *trace, struct proto message);

/* What the event's LegacyEvent says: the kind, if its type says none, and 0 if it is to be left
 * out; its track, times and flow. 0 or -errno. */
int perfetto_apply_legacy(struct perfetto *trace, const struct perfetto_sequence *sequence,
                          struct perfetto_told *told, struct event *event);

/* Packets that are compressed: they stay in trace->unpacked. 0; -EBADMSG: they are damaged;
 * -EMSGSIZE: too large; -ENOMEM. */
int perfetto_inflate(struct perfetto *trace, const struct proto *packed);
int perfetto_unzstd(struct perfetto *trace, const struct proto *packed);

/* DebugAnnotation: one more of trace->args. 0 or -ENOMEM. */
int perfetto_take_value(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message);

/* Sends everything to the sink, once all is known. 0 or -errno. */
int perfetto_tell(struct perfetto *trace);

uint32_t perfetto_text(struct perfetto *trace, const struct proto *bytes);

#endif
