/* SPDX-License-Identifier: MIT */
/* What the files of the intake share with each other only. */
#ifndef ANNOT_INTAKE_PARTS_H
#define ANNOT_INTAKE_PARTS_H

#include "decode.h"
#include "intake.h"
#include "kin.h"
#include "proc_info.h"
#include "segment_reader.h"

/* ---- Decoding: decode.c, decode_args.c, decode_before.c, decode_notes.c,
 * decode_spans.c ----
 */

/* The parts of one record, all inside its length. */
struct decode_parts {
    struct annot_record record;
    struct annot_attr attr;
    struct annot_id id;
    const char *name, *text;
};

/* What a key-value belongs to. */
enum decode_owner {
    OWNER_NONE,    /* there was no record before it       */
    OWNER_EVENT,   /* the last event                      */
    OWNER_GROUP,   /* a group of counters                 */
    OWNER_UNKNOWN, /* a record of a later minor version   */
};

/* One pass over the records of a block. */
struct decode_pass {
    struct decoder *decoder;
    struct decode_thread *thread;
    struct decoded *decoded;
    enum decode_owner owner;
    bool lost;          /* some record could not be told: decode_lose */
    struct event group; /* OWNER_GROUP: what its series have in common */
};

/* The ordinal of a look-up, unless an earlier one failed; the first failure stays in *error. */
uint32_t decode_keep(int64_t ordinal, int *error);

/* Records of the pass that cannot be told. Room for one event must be there. */
void decode_lose(struct decode_pass *pass, enum loss cause, uint64_t count);

/* The time of an event: not before the thread's last one, not after the present. */
int64_t decode_event_time(struct decoder *decoder, struct decode_thread *thread, uint64_t time);

/* The name of a record; the first failure stays in *error. */
uint32_t decode_name(struct names *names, const struct decode_parts *parts, int *error);

/* Events for what was overwritten before a block: at most DECODE_EVENTS_BEFORE. Their number or
 * -ENOMEM. */
int decode_before(struct decoder *decoder, struct decode_thread *thread,
                  const struct annot_block *header, struct event *events);

/* Adds a SPAN to the events, or counts why not; takes an anchor of a clock. 0 or -errno. */
int decode_span(struct decode_pass *pass, const struct decode_parts *parts);
int decode_anchor(struct decode_pass *pass, const struct decode_parts *parts);

/* Of a mark: if it says something of how GPUs are watched, that becomes a fact. 0 or -ENOMEM. */
int decode_note(struct decoder *decoder, const struct event *event);

/* Adds what a PAYLOAD tells to its event. 0 or -errno. */
int decode_payload(struct decode_pass *pass, const struct decode_parts *parts);

/* ---- The blocks of a flight recorder, copied: drain_recorder.c ---- */

struct capture_place {
    uint64_t claim_time;
    uint32_t index, state; /* of the block; with tag, when it was first looked at */
    uint32_t end;          /* of its records in the copy */
};

struct capture {
    VEC(struct capture_place) places;  /* by claim_time */
    struct segment_block_copy *copies; /* by place */
    size_t size;                       /* of them, in bytes */
};

/* Takes all blocks that were claimed by now; `everything`: nobody writes any more. 0, -ENOMEM,
 * -EFAULT. Call capture_free after success and failure. */
int capture_take(const struct segment *segment, bool everything, struct capture *ret_capture);
void capture_free(struct capture *capture);

/* ---- A process that takes part: segment_source.c ----
 *
 * Its segment, how it is emptied, and how it ends. One object per segment; a further copy of the
 * runtime in the same process makes a second object with the same ordinal. */

enum source_state {
    SOURCE_LIVE,    /* its segment is being emptied                                    */
    SOURCE_EMPTIED, /* ended or left; all is read, blocks wait until they are in the file */
    SOURCE_GONE,    /* segment unlinked; only its exit status may still be missing     */
};

/* What one segment adds to the totals of its process. */
struct source_share {
    uint64_t lost[LOSS_COUNT], misuse[MISUSE_COUNT], queued[QUEUED_COUNT];
    uint64_t event_count;
};

struct segment_source {
    enum source_state state;
    struct segment segment;
    struct drain *drain; /* NULL when gone */
    struct process_watch watch;
    struct who who;
    uint32_t relative;          /* its place among the kin */
    struct image *image;        /* of the registry; NULL: not that of a process as we see it */
    int32_t host_pid;           /* as we see it, also if it was gone at once; 0 = unknown */
    bool primary;               /* the first segment of its process */
    struct source_share told;   /* in the trace's totals */
    struct filter_told filter;  /* of the segment */
    uint32_t wishes;            /* that it was told */
    struct annot_shared shared; /* at the last look */
    uint64_t queues[ANNOT_QUEUE_COUNTS];
    uint64_t shared_bytes; /* memory held, at the last look */
    uint64_t ticket;       /* emptied: of the chunk that all of it is in; 0: none yet */
    bool status_known, end_told;
    bool status_final; /* nothing more will be known of its end */
    bool orderly;
    bool note_told;           /* its last word is in the trace */
    int32_t note_tid;         /* whose it is, or 0 */
    uint64_t cut_told;        /* of names.cut */
    uint64_t short_told;      /* of drain.short_count */
    int64_t end_ns;           /* when its end was seen */
    uint64_t kernels_address; /* AT_RANDOM by the kernel, where the program has another */
};

/* Fills the trace's entry from the segment: pids, names, times. 0 or -ENOMEM. */
int source_describe(struct segment_source *source, struct trace *trace, struct clock_map *clock);

/* Reads what the segment tells of the whole process: losses, name, peak. 0 or -ENOMEM. */
int source_publish(struct segment_source *source, struct trace *trace,
                   const struct directory *directory);

/* Whether the program was replaced by exec: its mapping is gone although it lives. */
bool source_was_replaced(struct segment_source *source);

/* Notes the end in the trace. `wait_status` only if status_known. */
void source_end(struct segment_source *source, struct trace *trace, int wait_status,
                int64_t end_ns);
void source_end_exec(struct segment_source *source, struct trace *trace, int64_t end_ns);

/* Unlinks and unmaps the segment. */
void source_remove_segment(struct segment_source *source, const struct directory *directory);
void source_destroy(struct segment_source *source);

/* ---- Names in the directory: those that are there, then those that come; some twice ---- */

struct discover {
    int watch;
    int fd; /* inotify; readable when something came; -1: no instance is left, so it scans */
    bool rescan;
    int64_t next_scan_ns; /* without inotify */
    int64_t told_ns;      /* all names are told that were there by then */
    const struct directory *directory;
};

/* 0 or -errno. That the user has all inotify instances or watches in use is no error. */
int discover_open(struct discover *discover, const struct directory *directory);
void discover_close(struct discover *discover);
/* Nothing is asked for any more. The kernel takes 15 ms to forget a watch and closing waits for
 * that: told early, it does so beside other work. */
void discover_stop(struct discover *discover);

/* Calls back for each new name; the first time for each name that is there. A nonzero result ends
 * it and is returned. */
int discover_poll(struct discover *discover, int (*call)(void *context, const char *name),
                  void *context);

/* ---- Processes: intake.c, intake_admit.c, intake_queues.c ---- */

enum { INTAKE_EXITS_MAX = 1024, INTAKE_PROCESSES_MAX = 1 << 16, INTAKE_JUNK_MAX = 4096 };

struct intake_exit {
    int pid, wait_status;
    int64_t time_ns;
};

/* A file that could not be read yet. */
struct intake_pending {
    char name[SEGMENT_NAME_SIZE];
    bool unread; /* for want of room or descriptors: it may be complete */
};

struct intake {
    struct intake_options options;
    struct filter_rules filter;
    uint32_t wishes; /* of enum annot_wish, beside those of the filter's file */
    struct discover discover;
    int epoll_fd;
    VEC(struct segment_source *) sources;
    size_t turn;         /* the source that the next step begins with */
    int64_t searched_ns; /* segments that were complete by then are found, or unread */
    VEC(struct intake_pending) pending;
    VEC(int32_t) unread;             /* scratch: whose of them are unread */
    VEC(struct intake_pending) junk; /* no segments; removed when their makers are gone */
    struct intake_exit exits[INTAKE_EXITS_MAX]; /* of children of the caller: a ring */
    uint64_t exit_count;
    const struct intake_known *known;
    size_t known_count;
    uint64_t shared_bytes, peak_bytes;
    uint32_t left_count; /* processes that lived when all was over */
};

/* What the session wishes of those who watch queues: intake_queues.c. Cost: a comparison. */
void intake_tell_wishes(const struct intake *intake, struct segment_source *source);

/* New names become processes; incomplete ones are tried again. 0 or -errno. */
int intake_discover(struct intake *intake);

/* Tells the registry that all segments are known which were complete by then. 0 or -ENOMEM. */
int intake_note_search(struct intake *intake, int64_t until_ns);

/* At the end of the session: junk whose maker is dead goes away. */
void intake_remove_junk(struct intake *intake);

/* The process was replaced by another program: its segment is emptied for good. */
int intake_replace(struct intake *intake, struct segment_source *source);

#endif
