/* SPDX-License-Identifier: MIT */
/* Kinds of waits as the user's code names them. The kernel reports that a thread waits for a lock;
 * Python's stack shows that it waits for another thread to end, a future, a queue or a pool.
 * Thread-safety: none. */
#ifndef ANNOT_WAIT_KIND_H
#define ANNOT_WAIT_KIND_H

#include "own_time.h"

/* Causes (enum wait_reason), followed by the kinds derived from the stack. */
enum wait_kind {
    WAIT_KIND_JOIN = WAIT_REASON_COUNT,
    WAIT_KIND_FUTURE,
    WAIT_KIND_QUEUE,
    WAIT_KIND_POOL,
    WAIT_KINDS,
};

/* Returns the kind of a wait at a stack. Cost: locks only, a walk to the innermost frame of own
 * code. */
uint8_t wait_kind_of(const struct own_time *own, uint32_t stack, unsigned reason);

/* For a table, "join", "lock"; for a sentence, "waiting for a thread to end". Constant texts. */
const char *wait_kind_name(unsigned kind);
const char *wait_phrase(unsigned kind);

#endif
