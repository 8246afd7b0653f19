/* SPDX-License-Identifier: MIT */
/* Entry of an event on the general path: joins a session, registers the thread, detects an event of
 * a signal handler that interrupts another event of its thread.
 *
 * Threads: any, also signal handlers. */
#ifndef ANNOT_ENTRY_H
#define ANNOT_ENTRY_H

#include "control.h"
#include "emit.h"

/* True if the event is wanted. Events that close a range always are: the filter
 * decided when the range began. */
int entry_passes(const struct control *control, const struct emission *emission);

/* State to restore at the end of an event: of the control block, and of the caller. */
struct entry {
    uint64_t generation;
    int error;
};

/* Returns the thread's control block, joined and marked BUSY with `frame`, or NULL if the event is
 * done and counted. Fills in the generation. */
struct control *entry_busy(struct emission *emission, uintptr_t frame, struct entry *entry);

/* Corrects the range stack after signal handlers that met BUSY. */
void entry_apply_nested(struct control *control);

/* Prepares for ends of threads; once, in the constructor. */
void entry_setup(void);

/* fork handlers: before, and in the parent. The child's is process_fork_child(). */
void entry_fork_prepare(void);
void entry_fork_parent(void);

#endif
