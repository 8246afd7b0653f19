/* SPDX-License-Identifier: MIT */
/* Records the current contents of flight recorders. Thread-safety: any thread. */
#ifndef ANNOT_COLLECTOR_SNAPSHOT_H
#define ANNOT_COLLECTOR_SNAPSHOT_H

#include "collector.h"

#include <stdbool.h>
#include <stdint.h>

struct collector_error;

/* Parameters and results of a snapshot, a separate recording of a session's flight recorders. */
struct collector_snapshot {
    const char *directory; /* as in struct collector_options, as are these three */
    const char *output;
    bool overwrite;
    const char *version;
    uint64_t session_id;    /* 0: that of `pid`, or else the only session */
    int32_t pid;            /* only this process, which overwrites its oldest records; 0: all */
    uint32_t process_count; /* out, as the rest */
    uint64_t event_count, lost_count;
};

/* Programs, their collector and its recording are not affected; the collector may be dead. 0 or
 * -errno: -ESRCH: no such session, or no flight recorder in it; -ENOTUNIQ: the session is
 * ambiguous; else of the file or the directory. Removes the file after a failure. */
int collector_snapshot(struct collector_snapshot *snapshot, struct collector_error *ret_error);

#endif
