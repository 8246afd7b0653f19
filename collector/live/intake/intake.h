/* SPDX-License-Identifier: MIT */
/* The intake of one session: finds segments, empties them into a sink, follows their processes.
 *
 * Runs in steps, all on the caller's thread. The caller waits on intake_fd between steps, and calls
 * intake_seal and intake_free as the sink's data goes into the file. Hostile or broken segments
 * cost their own process's data only. Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_H
#define ANNOT_INTAKE_H

#include "clock_map.h"
#include "drain.h"
#include "intake_directory.h"
#include "intake_filter.h"
#include "lives.h"
#include "refusals.h"

struct intake;
struct segment_source;

struct intake_options {
    struct directory *directory; /* the first one; these four outlive the intake */
    struct trace *trace;
    struct clock_map *clock;
    struct lives *lives; /* registry of the processes found */
    uint64_t session_id;
    int64_t late_ns;                    /* see annot_control.late_ticks; 0: as the session says */
    const struct counted_sums *counted; /* totals of a continued recording; or NULL */
    bool recover;              /* the session's collector died: its clock anchors died with it */
    bool snapshot;             /* read only: see intake_snapshot */
    int32_t only_pid;          /* of a snapshot; 0: all processes */
    struct refusals *refusals; /* receives the refusals of unusable files; or NULL */
    drain_sink_fn *sink;       /* its errors end a step */
    drain_samples_fn *samples; /* likewise; NULL: sums are not read */
    void *samples_context;
    drain_room_fn *room;         /* see struct drain; NULL: always room */
    names_function_fn *function; /* names functions; may be NULL: names.h */
    void *function_context;
    void *sink_context;
};

/* State of one thread in a recording of a dead collector. */
struct intake_known {
    uint32_t serial; /* as in the trace */
    struct drain_resumed resumed;
};

struct intake_counts {
    uint32_t process_count, live_count, thread_count;
    uint32_t left_count; /* still alive at the end of intake_finish */
    uint64_t event_count, lost_count;
    uint64_t shared_bytes, peak_bytes; /* held by all segments: at the last look, and at most */
};

/* 0 or -errno: inotify, memory. */
int intake_create(const struct intake_options *options, struct intake **ret_intake);

/* Adds a directory that may hold segments of the session, and outlives the intake. 0 or -errno. */
int intake_add_directory(struct intake *intake, struct directory *directory);
void intake_destroy(struct intake *intake);

/* Continues a recording: `known` (by ascending thread ordinal) must outlive the intake. */
void intake_resume(struct intake *intake, const struct intake_known *known, size_t count);

/* Readable when a segment or a session appears or a process ends. */
int intake_fd(const struct intake *intake);

/* Reads available data while there is room; `partial`: also from blocks that are being filled.
 * Bytes read or -errno of the sink or -ENOMEM. */
int64_t intake_step(struct intake *intake, bool partial);

/* Updates the heartbeat of all segments: without it, their losses count as the collector's
 * delay. */
void intake_heartbeat(struct intake *intake);

/* The session's rules: change them with session_filter_poll; the next step writes them to the
 * segments. */
struct filter_rules *intake_filter(struct intake *intake);

/* True if some process still has a watcher of queues with unreported spans. */
bool intake_awaits_queues(const struct intake *intake);

/* The next step asks watchers of queues to report the rest, because the session ends. */
void intake_ask_queues(struct intake *intake);

/* Slow and infrequent work: names, losses, execs, dead threads. 0 or -errno. */
int intake_look_around(struct intake *intake);

/* Assigns the ticket (> 0, ascending) to everything passed to the sink and the trace so far. 0 or
 * -ENOMEM. */
int intake_seal(struct intake *intake, uint64_t ticket);

/* Call when this ticket and those before it are written: returns blocks and removes segments of
 * dead processes. DRAIN_ALL: everything is in the file. */
void intake_free(struct intake *intake, uint64_t written);

/* True if much shared memory waits for intake_seal: an eighth of some pool, or the segments of
 * several ended processes. */
bool intake_is_pressed(const struct intake *intake);

/* True if so much of a pool waits for intake_seal that its program had better get these blocks back
 * than go on to others: touching memory for the first time costs it up to 3 us a page. */
bool intake_holds_much(const struct intake *intake);

/* Call when a child was reaped. */
void intake_note_exit(struct intake *intake, int pid, int wait_status);

/* Ends the session after the gate was closed: last visit, ends of all processes. When all is in the
 * file, call intake_free once more; it then removes every segment. Waits for room, so
 * intake_options.room must return true in the end. 0 or -errno. */
int intake_finish(struct intake *intake);

/* For a snapshot, instead of all of the above: passes the current contents of the session's flight
 * recorders to the sink. Changes and removes nothing; programs and their collector go on. 0 or
 * -errno. */
int intake_snapshot(struct intake *intake);

/* The size of the smallest buffer of a process that writes, at most `most`. */
int64_t intake_least_pool(const struct intake *intake, int64_t most);

/* True if a living process still maps a segment of this intake. */
bool intake_is_mapped(const struct intake *intake);
void intake_count(const struct intake *intake, struct intake_counts *ret_counts);

/* Empties the segment of a process that was replaced by another program. */
int intake_replace(struct intake *intake, struct segment_source *source);

/* ---- Pause between looks at the pools ----
 *
 * Each look takes a processor from programs that may need all of them, so it waits for a part of a
 * pool to fill, not for a block. Even after the longest pause, a program that begins to write at
 * full speed is read before its pool of the default size is full. */

enum { PACE_BUSY_MS = 1, PACE_IDLE_MS = 16 };

/* The timeout after one of `before_ms` that found `bytes` in all pools of `pool_bytes` each. */
static inline int pace_timeout_ms(int before_ms, int64_t bytes, int64_t pool_bytes)
{
    if (bytes > pool_bytes / 64)
        return PACE_BUSY_MS;
    return bytes > pool_bytes / 256 || before_ms >= PACE_IDLE_MS ? before_ms : 2 * before_ms;
}

#endif
