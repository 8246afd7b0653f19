/* SPDX-License-Identifier: MIT */
/* What the files of the intake share with each other only. */
#ifndef ANNOT_INTAKE_PARTS_H
#define ANNOT_INTAKE_PARTS_H

#include "decode.h"
#include "intake.h"
#include "segment_source.h"

/* ---- Decoding: decode.c, decode_args.c ---- */

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
    event_list *events;
    enum decode_owner owner;
    bool lost;          /* some record could not be told: decode_lose */
    struct event group; /* OWNER_GROUP: what its series have in common */
};

/* The ordinal of a look-up, unless an earlier one failed; the first failure stays in *error. */
uint32_t decode_keep(int64_t ordinal, int *error);

/* Records of the pass that cannot be told. Room for one event must be there. */
void decode_lose(struct decode_pass *pass, enum loss cause, uint64_t count);

/* Adds the events of a PAYLOAD; `room` for further ones stays. 0 or -errno. */
int decode_payload(struct decode_pass *pass, const struct decode_parts *parts, size_t room);

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

/* ---- Processes: intake.c, intake_admit.c ---- */

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

/* New names become processes; incomplete ones are tried again. 0 or -errno. */
int intake_discover(struct intake *intake);

/* Tells the registry that all segments are known which were complete by then. 0 or -ENOMEM. */
int intake_note_search(struct intake *intake, int64_t until_ns);

/* At the end of the session: junk whose maker is dead goes away. */
void intake_remove_junk(struct intake *intake);

/* The process was replaced by another program: its segment is emptied for good. */
int intake_replace(struct intake *intake, struct segment_source *source);

#endif
