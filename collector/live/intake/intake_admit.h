/* SPDX-License-Identifier: MIT */
/* Turns names in the session's directories into processes of the trace; holds the state of an
 * intake that intake.c and intake_admit.c share. Thread-safety: one thread per object. */
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

/* ---- Names in a directory: existing ones, then new ones; some twice ---- */

struct discover {
    int watch;
    int fd; /* inotify; readable when a name appeared; -1: no instance was free, so it scans */
    bool rescan;
    int64_t next_scan_ns; /* without inotify */
    int64_t told_ns;      /* all names that existed by then are reported */
    const struct directory *directory;
};

/* 0 or -errno. Not an error: the user has all inotify instances or watches in use. */
int discover_open(struct discover *discover, const struct directory *directory);
void discover_close(struct discover *discover);

/* Ends the watch; call it before discover_close. The kernel takes 15 ms to remove a watch and close
 * waits for that: stopped early, it does so in parallel with other work. */
void discover_stop(struct discover *discover);

/* Calls back for each new name; the first time for each existing name. A nonzero result ends it and
 * is returned. */
int discover_poll(struct discover *discover, int (*call)(void *context, const char *name),
                  void *context);

/* ---- Processes ---- */

enum { INTAKE_EXITS_MAX = 1024, INTAKE_PROCESSES_MAX = 1 << 16, INTAKE_JUNK_MAX = 4096 };

struct intake_exit {
    int pid, wait_status;
    int64_t time_ns;
};

/* A file that is not readable yet. */
struct intake_pending {
    const struct directory *directory;
    char name[SEGMENT_NAME_SIZE];
    bool unread; /* for want of room or descriptors: it may be complete */
};

struct intake {
    struct intake_options options;
    struct filter_rules filter;
    uint32_t wishes; /* of enum annot_wish, in addition to those of the filter's file */
    VEC(struct discover *) discovers; /* one for each directory */
    int epoll_fd;
    VEC(struct segment_source *) sources;
    size_t turn;         /* the source that the next step starts with */
    int64_t searched_ns; /* all segments that were complete by then are found, or unread */
    VEC(struct intake_pending) pending;
    VEC(int32_t) unread;             /* scratch: pids of unread ones */
    VEC(struct intake_pending) junk; /* not segments; removed when their makers have ended */
    struct intake_exit exits[INTAKE_EXITS_MAX]; /* of children of the caller: a ring */
    uint64_t exit_count;
    const struct intake_known *known;
    size_t known_count;
    uint64_t shared_bytes, peak_bytes;
    uint32_t left_count; /* processes alive at the end */
};

/* Admits new names as processes; retries incomplete ones. 0 or -errno. */
int intake_discover(struct intake *intake);

/* Records in the registry that all segments complete by then are known. 0 or -ENOMEM. */
int intake_note_search(struct intake *intake, int64_t until_ns);

/* Call at the end of the session: removes junk of dead makers. */
void intake_remove_junk(struct intake *intake);

#endif
