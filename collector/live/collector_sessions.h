/* SPDX-License-Identifier: MIT */
/* Sessions that somebody else collects, seen and changed: `annot set`. Thread-safety: none needed;
 * other processes are kept out by the lock of the wake page. */
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
    char filter[COLLECTOR_FILTER_SIZE];  /* rules of annot_filter.h; "" = everything is wanted */
    uint32_t wishes;                     /* of enum annot_wish: of those who watch queues */
    bool captures;                       /* the inside of a range alone: --capture-range */
};

/* Visits those that are running in the default directory, until the visitor returns nonzero, which
 * is returned. 0, or -errno; -EACCES: the directory cannot be used. */
typedef int collector_session_fn(void *context, const struct collector_session *session);
int collector_sessions(const char *directory, collector_session_fn *visit, void *context);

/* The running session that a process takes part in, or would at its next event, wherever it meets
 * collectors; or that it collects. 0; -ESRCH: none, or no such process; -errno. */
int collector_session_of(int32_t pid, struct collector_session *ret_session);

/* Wishes. None: as the programs were started. */
enum {
    COLLECTOR_QUEUES_OFF = 2, /* nobody watches queues, such as a GPU's */
    COLLECTOR_QUEUES_ON = 4,  /* whoever can does, at any time */
};

/* What can be changed while it records. */
struct collector_rules {
    char filter[COLLECTOR_FILTER_SIZE];
    uint32_t wishes;
};

/* Lets `edit` change the rules, whose filter must stay shorter than COLLECTOR_FILTER_SIZE, and
 * waits until the programs have been told. The session is in the directory of the process `pid`, in
 * the default one if that is 0. What `edit` returns if it is not 0 (nothing is changed then); 0;
 * -EINPROGRESS: the collector has not told them for seconds; -ENOENT: the session is over; -errno.
 */
typedef int collector_edit_fn(void *context, struct collector_rules *rules);
int collector_set_rules(int32_t pid, uint64_t id, collector_edit_fn *edit, void *context);

/* Where a process meets collectors; the default directory for one that does not, or for 0. 0 or
 * -errno. Closing leaves nothing behind. */
int collector_place_open(int32_t pid, struct directory *ret_directory);
void collector_place_close(struct directory *directory);

#endif
