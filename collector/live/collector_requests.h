/* SPDX-License-Identifier: MIT */
/* Requests to a running session: functions that become ranges (both the collector's and the
 * requester's side), and the rules of its filter (the collector's side).
 * Thread-safety: as the collector; requests from any thread. */
#ifndef ANNOT_COLLECTOR_REQUESTS_H
#define ANNOT_COLLECTOR_REQUESTS_H

#include "collector.h"
#include "intake_filter.h"
#include "sampler.h"
#include "session_file.h"

#include <stdbool.h>
#include <stdint.h>

struct annot_session;
struct directory;
struct intake;
struct sampling;
struct trace;

/* Requests a range from the collector of a session (collector_set_rules()): see sampler_add_range.
 * Its reason is set, except with -E2BIG, -EBUSY (another one is being added), -EPROTONOSUPPORT (its
 * annot is older), -EINPROGRESS (no answer for long), -ENOENT without a reason (the session is
 * over), -errno. Waits for up to 20 s. */
int collector_ask_range(int32_t pid, uint64_t id, const char *text,
                        struct sampler_range_result *ret_result);

/* Adds functions requested in the session's file. 0 or -ENOMEM. Cost, without a request: a system
 * call. */
int ranges_take(struct sampling *sampling, const struct session_file *session);

/* ---- Rules of the filter --------------------------------------------------------------------- */

/* The filter of a session, at its start and while it runs: the collector's end of `annot set`; the
 * other end is collector_sessions.c. */
struct collector_filter {
    const struct directory *directory;
    const struct session_file *session;
    struct session_filter_watch watch;
    uint32_t confirmed; /* sequence */
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
void collector_filter_confirm(struct collector_filter *filter);

#endif
