/* SPDX-License-Identifier: MIT */
/* Inspects and changes sessions of other collectors: `annot set`. Thread-safety: any thread; the
 * lock of the wake page excludes other processes. */
#ifndef ANNOT_COLLECTOR_SESSIONS_H
#define ANNOT_COLLECTOR_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

struct directory;

enum { COLLECTOR_FILTER_SIZE = 241, COLLECTOR_PATH_SIZE = 4096 };

/* Writes the path of a directory in which programs look for sessions without ANNOT_DIR, numbered
 * from 0 in their order. Returns false past the last one. */
enum { COLLECTOR_PLACES = 5 };

bool collector_place_path(int place, char path[COLLECTOR_PATH_SIZE]);

struct collector_session {
    uint64_t id;
    int32_t collector_pid;               /* in its own namespace */
    char recording[COLLECTOR_PATH_SIZE]; /* "" = unknown */
    char filter[COLLECTOR_FILTER_SIZE];  /* rules of annot_filter.h; "" = all events */
    uint32_t wishes;                     /* of enum annot_wish: for watchers of queues */
    bool captures;                       /* only inside a range: --capture-range */
};

/* Visits the running sessions of the default directory until the visitor returns nonzero, and
 * returns that. 0, or -errno; -EACCES: the directory cannot be used. */
typedef int collector_session_fn(void *context, const struct collector_session *session);
int collector_sessions(const char *directory, collector_session_fn *visit, void *context);

/* The running session that a process takes part in, or would at its next event, wherever it meets
 * collectors; or the session it collects. 0; -ESRCH: no session, or no such process; -errno. */
int collector_session_of(int32_t pid, struct collector_session *ret_session);

/* Wishes. 0: as the programs were started. */
enum {
    COLLECTOR_QUEUES_OFF = 2, /* no watching of queues, such as a GPU's */
    COLLECTOR_QUEUES_ON = 4,  /* watch queues where possible, at any time */
};

/* Rules that can be changed during a recording. */
struct collector_rules {
    char filter[COLLECTOR_FILTER_SIZE];
    uint32_t wishes;
};

/* Changes the rules with `edit` and waits until the programs have received them. The filter must
 * stay shorter than COLLECTOR_FILTER_SIZE. The session is in the directory of the process `pid`, in
 * the default one if that is 0. A nonzero result of `edit` changes nothing and is returned; 0;
 * -EINPROGRESS: the collector has not applied them for seconds; -ENOENT: the session is over;
 * -errno. */
typedef int collector_edit_fn(void *context, struct collector_rules *rules);
int collector_set_rules(int32_t pid, uint64_t id, collector_edit_fn *edit, void *context);

/* Opens the directory in which a process meets collectors, or the default one if it has none or is
 * 0. 0 or -errno. Closing leaves no files. */
int collector_place_open(int32_t pid, struct directory *ret_directory);
void collector_place_close(struct directory *directory);

#endif
