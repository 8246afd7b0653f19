/* SPDX-License-Identifier: MIT */
/* Descriptions of what events lie on: the session, processes, threads and tracks below them.
 *
 * All go onto the session's sequence. Track numbers (uuid) count from 1: processes, threads, then
 * whatever turns up. Thread-safety: none. */
#ifndef ANNOT_PERFETTO_TRACKS_H
#define ANNOT_PERFETTO_TRACKS_H

#include "export_ids.h"
#include "lanes.h"
#include "map64.h"
#include "perfetto_sequence.h"
#include "vec.h"

/* A set of lanes: overlapping ranges of one name in one process, or the gaps of one thread. */
struct perfetto_lanes {
    struct lanes lanes;
    uint64_t parent_uuid;
    uint32_t name; /* string; 0: `text` */
    const char *text;
    uint32_t rank;   /* among its siblings */
    uint64_t *uuids; /* of the lanes */
    uint32_t uuid_count;
};

struct perfetto_counter {
    uint64_t uuid;
    uint32_t domain;
    uint32_t next; /* counter + 1 with the same process and name */
};

struct perfetto_tracks {
    struct perfetto_output *px;
    struct perfetto_sequence *session;
    struct export_ids *ids;
    uint64_t next_uuid;
    struct map64 lanes_by_key; /* index into lanes */
    VEC(struct perfetto_lanes) lanes;
    struct map64 counters_by_key; /* index + 1 of the first of a chain */
    VEC(struct perfetto_counter) counters;
};

uint64_t perfetto_process_uuid(uint32_t process);
uint64_t perfetto_thread_uuid(const struct perfetto_tracks *tracks, uint32_t thread);

/* Everything that is known before the first event. */
void perfetto_describe_all(struct perfetto_tracks *tracks);

/* A track "annot" with one slice over the whole recording that carries its facts. */
void perfetto_describe_session(struct perfetto_tracks *tracks);

/* The track for a value of a counter: 0 or -ENOMEM. */
int perfetto_counter_track(struct perfetto_tracks *tracks, const struct event *event,
                           uint64_t *ret_uuid);

/* The lane for a range from start to end: of its process and name, or of its thread's gaps. */
int perfetto_range_track(struct perfetto_tracks *tracks, const struct event *begin, int64_t end_ns,
                         uint64_t *ret_uuid);
int perfetto_lost_track(struct perfetto_tracks *tracks, const struct event *lost,
                        uint64_t *ret_uuid);

void perfetto_tracks_fini(struct perfetto_tracks *tracks);

#endif
