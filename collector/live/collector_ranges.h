/* SPDX-License-Identifier: MIT */
/* Functions that become ranges while a recording goes on: the end of the collector, and the end of
 * whoever asks. Thread-safety: as the collector; none needed to ask. */
#ifndef ANNOT_COLLECTOR_RANGES_H
#define ANNOT_COLLECTOR_RANGES_H

#include "sampler.h"
#include "session_file.h"

#include <stdint.h>

struct sampling;

/* Asks the collector of a session (collector_set_rules()) for a range: see sampler_add_range, whose
 * reason is told in any case but those of -E2BIG, -EBUSY (another one is being added),
 * -EPROTONOSUPPORT (its annot is older), -EINPROGRESS (no answer for long), -ENOENT without a
 * reason (the session is over), -errno. Waits for up to 20 s. */
int collector_ask_range(int32_t pid, uint64_t id, const char *text,
                        struct sampler_range_told *ret_told);

/* Functions that somebody asks for in the session's file. 0 or -ENOMEM. Cost, without any: a system
 * call. */
int ranges_take(struct sampling *sampling, const struct session_file *session);

#endif
