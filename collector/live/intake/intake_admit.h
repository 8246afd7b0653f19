/* SPDX-License-Identifier: MIT */
/* From names in the session's directories to processes of the trace, and the state of an intake
 * that intake.c and intake_admit.c share. Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_ADMIT_H
#define ANNOT_INTAKE_ADMIT_H

#include "intake.h"
#include "intake_directory.h"
#include "intake_filter.h"
#include "segment_reader.h"
#include "segment_source.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Names in a directory: those that are there, then those that come; some twice ---- */

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

/* ---- Processes ---- */

enum { INTAKE_EXITS_MAX = 1024, INTAKE_PROCESSES_MAX = 1 << 16, INTAKE_JUNK_MAX = 4096 };

struct intake_exit {
    int pid, wait_status;
    int64_t time_ns;
};

/* A file that could not be read yet. */
struct intake_pending {
    const struct directory *directory;
    char name[SEGMENT_NAME_SIZE];
    bool unread; /* for want of room or descriptors: it may be complete */
};

struct intake {
    struct intake_options options;
    struct filter_rules filter;
    uint32_t wishes;                  /* of enum annot_wish, beside those of the filter's file */
    VEC(struct discover *) discovers; /* one for each directory */
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

#endif
