/* SPDX-License-Identifier: MIT */
/* Shared by intake.c and intake_admit.c only. */
#ifndef ANNOT_INTAKE_PRIVATE_H
#define ANNOT_INTAKE_PRIVATE_H

#include "discover.h"
#include "intake.h"
#include "segment_source.h"

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
