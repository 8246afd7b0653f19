/* SPDX-License-Identifier: MIT */
/* Descriptions of what events lie on: the session, processes, threads and tracks below them.
 *
 * All go onto the session's sequence. Track numbers (uuid) count from 1: processes, threads, then
 * whatever turns up. Thread-safety: none. */
#ifndef ANNOT_PERFETTO_TRACKS_H
#define ANNOT_PERFETTO_TRACKS_H

#include "export_ids.h"
#include "map64.h"
#include "perfetto_sequence.h"
#include "shelf.h"
#include "vec.h"

/* A set of shelves: overlapping ranges of one name in one process, or the gaps of one thread. */
struct perfetto_shelves {
    struct shelves shelves;
    uint64_t parent_uuid;
    uint32_t name; /* string; 0: `text` */
    const char *text;
    uint32_t rank;   /* among its siblings */
    uint64_t *uuids; /* of the shelves */
    uint32_t uuid_count;
};

struct perfetto_tracks {
    struct perfetto_output *px;
    struct perfetto_sequence *session;
    struct export_ids *ids;
    uint64_t next_uuid, session_uuid;
    struct map64 shelves_by_key; /* index into shelves */
    VEC(struct perfetto_shelves) shelves;
};

uint64_t perfetto_process_uuid(uint32_t process);
uint64_t perfetto_thread_uuid(const struct perfetto_tracks *tracks, uint32_t thread);

/* Ranks among the children of a process. */
enum { PERFETTO_RANK_TRACKS = 50000, PERFETTO_RANK_COUNTERS = 100000 };

/* A descriptor of a track: begin, fields, end. */
struct proto_writer *perfetto_track_begin(struct perfetto_tracks *tracks, uint64_t uuid);
void perfetto_track_end(struct perfetto_tracks *tracks);

/* Everything that is known before the first event. */
void perfetto_describe_all(struct perfetto_tracks *tracks);

/* A track "annot" with one slice over the whole recording that carries its facts; `cut_flows`: from
 * how many points arrows may be missing. */
void perfetto_begin_session(struct perfetto_tracks *tracks);
void perfetto_end_session(struct perfetto_tracks *tracks, uint64_t cut_flows);

/* The shelf for a range from start to end: of its process and name, or of its thread's gaps. */
int perfetto_range_track(struct perfetto_tracks *tracks, const struct event *begin, int64_t end_ns,
                         uint64_t *ret_uuid);
int perfetto_lost_track(struct perfetto_tracks *tracks, const struct event *lost,
                        uint64_t *ret_uuid);

/* Tracks below a thread, in the order in which they should stand; the reader of today puts them in
 * that of their names. */
enum perfetto_child { PERFETTO_OFF_CPU, PERFETTO_RANGES, PERFETTO_STACKS };

/* A new one. Its number. */
uint64_t perfetto_thread_child(struct perfetto_tracks *tracks, uint32_t thread,
                               enum perfetto_child child);

void perfetto_tracks_fini(struct perfetto_tracks *tracks);

#endif
