/* SPDX-License-Identifier: MIT */
/* Sessions that somebody else collects, seen and changed from outside: `annot set`.
 * Thread-safety: none needed; other processes are kept out by the lock of the wake page. */
#ifndef ANNOT_COLLECTOR_SET_H
#define ANNOT_COLLECTOR_SET_H

#include <stdint.h>

enum { COLLECTOR_FILTER_SIZE = 241, COLLECTOR_PATH_SIZE = 4096 };

struct collector_session {
    uint64_t id;
    int32_t collector_pid;               /* in its own namespace */
    char recording[COLLECTOR_PATH_SIZE]; /* "" = unknown */
    char filter[COLLECTOR_FILTER_SIZE];  /* rules of annot_filter.h; "" = everything is wanted */
};

/* Visits those that are running in the default directory, until the visitor returns nonzero, which
 * is returned. 0, or -errno; -EACCES: the directory cannot be used. */
typedef int collector_session_fn(void *context, const struct collector_session *session);
int collector_sessions(const char *directory, collector_session_fn *visit, void *context);

/* The running session that a process takes part in, or would at its next event, wherever it meets
 * collectors; or that it collects. 0; -ESRCH: none, or no such process; -errno. */
int collector_session_of(int32_t pid, struct collector_session *ret_session);

/* Lets `edit` change the text of the filter, which must stay shorter than COLLECTOR_FILTER_SIZE,
 * and waits until the programs have been told. The session is in the directory of the process
 * `pid`, in the default one if that is 0. What `edit` returns if it is not 0 (nothing is changed
 * then); 0; -EINPROGRESS: the collector has not told them for seconds; -ENOENT: the session is
 * over; -errno. */
typedef int collector_edit_fn(void *context, char text[COLLECTOR_FILTER_SIZE]);
int collector_set_filter(int32_t pid, uint64_t id, collector_edit_fn *edit, void *context);

#endif
