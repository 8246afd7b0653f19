/* SPDX-License-Identifier: MIT */
/* Counts calls by their callers (--trace-functions=aggregate).
 *
 * Threads: each its own tree. */
#ifndef PYANNOT_TRACING_TREE_H
#define PYANNOT_TRACING_TREE_H

#include "tracing_thread.h"

void trace_tree_enter(struct trace_thread *thread, struct trace_entry *entry, annot_name name,
                      bool continues);
/* The same for a call that begins in a range; 0: no range. */
void trace_tree_enter_in(struct trace_thread *thread, struct trace_entry *entry, annot_name name,
                         annot_name range);
void trace_tree_leave(struct trace_thread *thread, struct trace_entry *entry);
/* Stops the thread's current count. */
void trace_tree_pause(struct trace_thread *thread);
/* Does not touch shared memory, which may be unmapped. */
void trace_tree_free(struct trace_thread *thread);

#endif
