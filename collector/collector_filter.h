/* SPDX-License-Identifier: MIT */
/* The filter of a collector's session: at its begin, and while it runs.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_COLLECTOR_FILTER_H
#define ANNOT_COLLECTOR_FILTER_H

#include "intake.h"
#include "intake_filter.h"
#include "session_file.h"

/* Into a session that is being made; NULL: everything is wanted. 0 or -E2BIG. */
int collector_filter_init(struct annot_session *session, const char *text);

/* Rules that somebody has changed, or that the session began with: for the programs, and for the
 * recording. 0 or -ENOMEM. Cost, without a change: a system call. */
struct collector_filter {
    const struct directory *directory;
    const struct session_file *session;
    struct session_filter_watch watch;
    uint32_t told; /* sequence */
};

int collector_filter_take(struct collector_filter *filter, struct intake *intake,
                          struct trace *trace);

/* After a step of the intake: whoever changed the rules waits for this. */
void collector_filter_told(struct collector_filter *filter);

#endif
