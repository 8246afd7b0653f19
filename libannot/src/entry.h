/* SPDX-License-Identifier: MIT */
/* Coming into an event the general way: joining a session, registering the thread, noticing that
 * the event is a signal handler's and meets another one of its thread.
 *
 * Threads: any, also signal handlers. */
#ifndef ANNOT_ENTRY_H
#define ANNOT_ENTRY_H

#include "control.h"
#include "emit.h"

/* Whether the event is wanted. What closes a range always is: its begin was decided on. */
int entry_passes(const struct control *control, const struct emission *emission);

/* What is to be as before when an event is done: of the control block, and of the caller. */
struct entry {
    uint64_t generation;
    int error;
};

/* The thread's control block, joined and marked BUSY with `frame`, or NULL: the event is over and
 * counted. Fills in the generation. */
struct control *entry_busy(struct emission *emission, uintptr_t frame, struct entry *entry);

/* Puts the range stack right after signal handlers that met BUSY. */
void entry_apply_nested(struct control *control);

/* Prepares for ends of threads; once, in the constructor. */
void entry_setup(void);

/* fork handlers: before, and in the parent. The child's is process_fork_child(). */
void entry_fork_prepare(void);
void entry_fork_parent(void);

#endif
