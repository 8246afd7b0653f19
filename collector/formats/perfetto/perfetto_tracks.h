/* SPDX-License-Identifier: MIT */
/* Tracks of the Perfetto exporter.
 *
 * Descriptions of the session, processes, threads and tracks below them. All go onto the session's
 * sequence. Track numbers (uuid) count from 1: processes, threads, then the others as they appear.
 *
 * Groups: ranges and marks of the recording's tracks, a Perfetto track for each shelf of shelves.h.
 * All lie on the session's sequence. The reader merges the shelves of a line, which have one name,
 * into one.
 *
 * Launches: an arrow leads from a thread's launch to the launched work of a queue. The launch is an
 * instant on the thread, inside of the open range or call: the reader draws arrows from the end of
 * a slice. One launch may lead to several spans, which come in any order: so launches are kept
 * until all have come, or PERFETTO_LAUNCHES_MAX of them: then a later span of one launch has
 * another instant at the same place. Thread-safety: one thread per object. */
#ifndef ANNOT_PERFETTO_TRACKS_H
#define ANNOT_PERFETTO_TRACKS_H

#include "event.h"
#include "export_ids.h"
#include "hash_map.h"
#include "pass.h"
#include "shelves.h"
#include "varint.h"
#include "vec.h"

#include <stdint.h>

struct perfetto_sequence;
struct perfetto_output;

enum { PERFETTO_LAUNCHES_MAX = 1 << 16 };

struct perfetto_launch {
    int64_t origin_ns;
    uint64_t arrow;
    uint32_t thread;
};

struct perfetto_launches {
    /* `count` arrows of one thread and time. */
    int (*place)(void *context, const struct perfetto_launch *launches, uint32_t count);
    void *context;
    VEC(struct perfetto_launch) items;
    uint64_t arrow_count;
};

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
    uint32_t session_pid;        /* of the process that stands for the recording, and its thread */
    struct map64 shelves_by_key; /* index into shelves */
    VEC(struct perfetto_shelves) shelves;
};

int perfetto_launches_finish(struct perfetto_launches *launches);
uint64_t perfetto_process_uuid(uint32_t process);
uint64_t perfetto_thread_uuid(const struct perfetto_tracks *tracks, uint32_t thread);

/* Ranks among the children of a process. */
enum { PERFETTO_RANK_TRACKS = 50000, PERFETTO_RANK_COUNTERS = 100000 };

/* A descriptor of a track: begin, fields, end. */
struct proto_writer *perfetto_track_begin(struct perfetto_tracks *tracks, uint64_t uuid);
void perfetto_track_end(struct perfetto_tracks *tracks);

/* All descriptions known before the first event. */
void perfetto_describe_all(struct perfetto_tracks *tracks);

/* A process "annot", below all others, and its thread "all processes", with one slice over the
 * whole recording that carries its facts; `cut_flows`: number of points that may lack arrows. */
void perfetto_begin_session(struct perfetto_tracks *tracks);
void perfetto_end_session(struct perfetto_tracks *tracks, uint64_t cut_flows);

/* The shelf for a range from start to end: of its process and name, or of its thread's gaps. */
int perfetto_range_track(struct perfetto_tracks *tracks, const struct event *begin, int64_t end_ns,
                         uint64_t *ret_uuid);
int perfetto_lost_track(struct perfetto_tracks *tracks, const struct event *lost,
                        uint64_t *ret_uuid);

/* Tracks below a thread, in display order; older readers sort them by their names, and put a
 * thread's own track below them. The names include the thread's, "main: ranges", as these readers
 * do not show it. */
enum perfetto_child { PERFETTO_RANGES, PERFETTO_STATE, PERFETTO_STACKS };

/* Makes one and returns its number. */
uint64_t perfetto_thread_child(struct perfetto_tracks *tracks, uint32_t thread,
                               enum perfetto_child child);
void perfetto_tracks_fini(struct perfetto_tracks *tracks);

struct perfetto_groups {
    struct perfetto_tracks *tracks;
    struct track_groups groups;
    struct perfetto_launches launches; /* of items on queues; the caller sets `place` */
    const char *prefixes;              /* of file names: profile/call_label.h */
};

/* 0 or -ENOMEM; then fini all the same. */
int perfetto_groups_init(struct perfetto_groups *groups, struct perfetto_tracks *tracks);
void perfetto_groups_fini(struct perfetto_groups *groups);

/* Items of LANE_TRACK and LANE_QUEUE. */
int perfetto_groups_take(struct perfetto_groups *groups, const struct item *item);

#endif
