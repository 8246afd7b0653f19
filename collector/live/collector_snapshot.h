/* SPDX-License-Identifier: MIT */
/* A recording of what flight recorders hold now. Thread-safety: none needed. */
#ifndef ANNOT_COLLECTOR_SNAPSHOT_H
#define ANNOT_COLLECTOR_SNAPSHOT_H

#include "collector.h"

#include <stdbool.h>
#include <stdint.h>

struct collector_error;

/* What a session's flight recorders hold now, as a recording of its own. */
struct collector_snapshot {
    const char *directory; /* as in struct collector_options, as are these three */
    const char *output;
    bool overwrite;
    const char *version;
    uint64_t session_id;    /* 0: that of `pid`, or else the only one there is */
    int32_t pid;            /* only this process, which overwrites its oldest records; 0: all */
    uint32_t process_count; /* out, as the rest */
    uint64_t event_count, lost_count;
};

/* Programs, their collector and its recording go on as if nothing had been; the collector may be
 * dead. 0 or -errno: -ESRCH: no such session, or no flight recorder in it; -ENOTUNIQ: which
 * session?; else of the file or the directory. Nothing is left of the file after a failure. */
int collector_snapshot(struct collector_snapshot *snapshot, struct collector_error *ret_error);

#endif
