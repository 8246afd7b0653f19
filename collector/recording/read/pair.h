/* SPDX-License-Identifier: MIT */
/* The events of threads: begins and ends become ranges of the selection; marks, counters and gaps
 * become items. Thread-safety: one thread per pass. */
#ifndef ANNOT_PAIR_H
#define ANNOT_PAIR_H

#include "event.h"
#include "pass_state.h"

#include <stdint.h>

struct pass;

/* Events of one thread, in its order. */
int pair_batch(struct pass *pass, const struct event_batch *batch);
int pair_finish_thread(struct pass *pass, uint32_t thread);

/* End time for the ranges of a thread that have no end. */
int64_t pair_end_ns(const struct pass *pass, uint32_t thread);

#endif
