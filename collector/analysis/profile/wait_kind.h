/* SPDX-License-Identifier: MIT */
/* What a wait is for, as the user's code says it. The kernel sees that a thread waits for a lock;
 * Python's stack says that this is the end of another thread, a future, a queue or a pool.
 * Thread-safety: none. */
#ifndef ANNOT_WAIT_KIND_H
#define ANNOT_WAIT_KIND_H

#include "own_time.h"

/* Causes (enum wait_reason), and behind them those that are told by the stack. */
enum wait_kind {
    WAIT_KIND_JOIN = WAIT_REASON_COUNT,
    WAIT_KIND_FUTURE,
    WAIT_KIND_QUEUE,
    WAIT_KIND_POOL,
    WAIT_KINDS,
};

/* Of a wait at a stack. Cost: a walk to the innermost frame of own code, of locks only. */
uint8_t wait_kind_of(const struct own_time *own, uint32_t stack, unsigned reason);

/* For a table, "join", "lock"; for a sentence, "waiting for a thread to end". Constant texts. */
const char *wait_kind_name(unsigned kind);
const char *wait_phrase(unsigned kind);

#endif
