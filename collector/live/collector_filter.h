/* SPDX-License-Identifier: MIT */
/* The filter of a collector's session, at its start and while it runs: the collector's end of
 * `annot set`; the other end is collector_sessions.c. Thread-safety: one thread per object. */
#ifndef ANNOT_COLLECTOR_FILTER_H
#define ANNOT_COLLECTOR_FILTER_H

#include "collector.h"
#include "intake_filter.h"

#include <stdbool.h>
#include <stdint.h>

struct annot_session;
struct directory;
struct intake;
struct session_file;
struct trace;

struct collector_filter {
    const struct directory *directory;
    const struct session_file *session;
    struct session_filter_watch watch;
    uint32_t told; /* sequence */
    char capture[ANNOT_CAPTURE_MAX + 1];
    bool is_new; /* not in the recording yet */
};

/* Writes rules and capture range into a session that is being made. 0 or -E2BIG. */
int collector_filter_init(struct collector_filter *filter, struct annot_session *session,
                          const struct collector_options *options);

/* Applies changed or initial rules to the programs and the recording. 0 or -ENOMEM. Cost, without a
 * change: a system call. */
int collector_filter_take(struct collector_filter *filter, struct intake *intake,
                          struct trace *trace);

/* Call after a step of the intake: writers of the rules wait for this. */
void collector_filter_told(struct collector_filter *filter);

#endif
