/* SPDX-License-Identifier: MIT */
/* Functions that become ranges while a recording goes on: both the collector's and the requester's
 * side. Thread-safety: as the collector; requests from any thread. */
#ifndef ANNOT_COLLECTOR_RANGES_H
#define ANNOT_COLLECTOR_RANGES_H

#include "sampler.h"
#include "session_file.h"

#include <stdint.h>

struct sampling;

/* Requests a range from the collector of a session (collector_set_rules()): see sampler_add_range.
 * Its reason is set, except with -E2BIG, -EBUSY (another one is being added), -EPROTONOSUPPORT (its
 * annot is older), -EINPROGRESS (no answer for long), -ENOENT without a reason (the session is
 * over), -errno. Waits for up to 20 s. */
int collector_ask_range(int32_t pid, uint64_t id, const char *text,
                        struct sampler_range_told *ret_told);

/* Adds functions requested in the session's file. 0 or -ENOMEM. Cost, without a request: a system
 * call. */
int ranges_take(struct sampling *sampling, const struct session_file *session);

#endif
