/* SPDX-License-Identifier: MIT */
/* The intake of one session: finds segments, empties them into a sink, follows their processes.
 *
 * One step after the other, all on the caller's thread. The caller waits on intake_fd between
 * steps, and calls intake_seal and intake_free as what the sink took goes into the file. Hostile or
 * broken segments cost their own process's data only. Thread-safety: one thread per object. */
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
    struct lives *lives; /* what it finds hangs there */
    uint64_t session_id;
    int64_t late_ns;                    /* see annot_control.late_ticks; 0: as the session says */
    const struct counted_sums *counted; /* of what is continued; or NULL */
    bool recover;              /* the session's collector died: its clock anchors died with it */
    bool snapshot;             /* look only: see intake_snapshot */
    int32_t only_pid;          /* of a snapshot; 0: all processes */
    struct refusals *refusals; /* gets those of unusable files; or NULL */
    drain_sink_fn *sink;       /* its errors end a step */
    drain_samples_fn *samples; /* the same; NULL: what programs count is left out */
    void *samples_context;
    drain_room_fn *room;         /* see struct drain; NULL: there is always */
    names_function_fn *function; /* names functions; may be NULL: names.h */
    void *function_context;
    void *sink_context;
};

/* What a recording knows of one thread, after its collector died. */
struct intake_known {
    uint32_t serial; /* as in the trace */
    struct drain_resumed resumed;
};

struct intake_counts {
    uint32_t process_count, live_count, thread_count;
    uint32_t left_count; /* that lived when intake_finish was over */
    uint64_t event_count, lost_count;
    uint64_t shared_bytes, peak_bytes; /* held by all segments: at the last look, and at most */
};

/* 0 or -errno: inotify, memory. */
int intake_create(const struct intake_options *options, struct intake **ret_intake);

/* Segments of the session in one more directory, which outlives the intake. 0 or -errno. */
int intake_add_directory(struct intake *intake, struct directory *directory);
void intake_destroy(struct intake *intake);

/* Continue a recording: `known` (by ascending thread ordinal) must outlive the intake. */
void intake_resume(struct intake *intake, const struct intake_known *known, size_t count);

/* Readable when a segment or a session appears or a process ends. */
int intake_fd(const struct intake *intake);

/* Reads all there is, as far as there is room; `partial`: also from blocks that are being filled.
 * Bytes read or -errno of the sink or -ENOMEM. */
int64_t intake_step(struct intake *intake, bool partial);

/* The programs are told that their collector keeps up: what they lose else counts as its delay. */
void intake_heartbeat(struct intake *intake);

/* The session's rules: change them with session_filter_poll; the next step tells the programs. */
struct filter_rules *intake_filter(struct intake *intake);

/* Whether in some process somebody still watches queues, and has not told all he saw. */
bool intake_awaits_queues(const struct intake *intake);

/* The next step tells them that the session ends: they tell what is left. */
void intake_ask_queues(struct intake *intake);

/* What is slow and need not be often: names, losses, execs, dead threads. 0 or -errno. */
int intake_look_around(struct intake *intake);

/* What the sink was handed and the trace was told is in the file when this ticket (> 0, ascending)
 * is written. 0 or -ENOMEM. */
int intake_seal(struct intake *intake, uint64_t ticket);

/* This ticket and those before it are written: blocks go back, segments of the dead go away.
 * DRAIN_ALL: everything is in the file. */
void intake_free(struct intake *intake, uint64_t written);

/* Whether much shared memory waits for intake_seal: an eighth of some pool, or the segments of
 * several ended processes. */
bool intake_is_pressed(const struct intake *intake);

/* Whether so much of a pool waits for it that its program had better get these blocks back than go
 * on to others: to reserve memory that was never touched costs it up to 3 us a page. */
bool intake_holds_much(const struct intake *intake);

/* The caller reaped a child. */
void intake_note_exit(struct intake *intake, int pid, int wait_status);

/* The session is over (the gate was closed): last visit, ends of all. Call intake_free after it
 * once more when all is in the file; it then removes every segment. Room is waited for, so
 * intake_options.room is to say so in the end. 0 or -errno. */
int intake_finish(struct intake *intake);

/* For a snapshot, in place of all of the above: what the flight recorders of the session hold now
 * is handed to the sink. Nothing is changed or removed; programs and their collector go on. 0 or
 * -errno. */
int intake_snapshot(struct intake *intake);

/* The size of the smallest buffer of a process that writes, at most `most`. */
int64_t intake_least_pool(const struct intake *intake, int64_t most);

/* Whether a living process still has a segment mapped that was found here. */
bool intake_is_mapped(const struct intake *intake);
void intake_count(const struct intake *intake, struct intake_counts *ret_counts);

/* The process was replaced by another program: its segment is emptied for good. */
int intake_replace(struct intake *intake, struct segment_source *source);

/* ---- How soon to look at the programs' pools again ----
 *
 * Each look takes a processor from programs that may need all of them, so it is for a part of a
 * pool that has filled up, not for a block. Even after the longest pause a program that begins to
 * write at full speed is met before its pool of the default size is full. */

enum { PACE_BUSY_MS = 1, PACE_IDLE_MS = 16 };

/* The timeout after one of `before_ms`, when so many bytes were found in all pools together, of
 * which each has `pool_bytes`. */
static inline int pace_timeout_ms(int before_ms, int64_t bytes, int64_t pool_bytes)
{
    if (bytes > pool_bytes / 64)
        return PACE_BUSY_MS;
    return bytes > pool_bytes / 256 || before_ms >= PACE_IDLE_MS ? before_ms : 2 * before_ms;
}

#endif
