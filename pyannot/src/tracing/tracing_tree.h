/* SPDX-License-Identifier: MIT */
/* Calls that are counted, by what called them (--trace-functions=aggregate).
 *
 * Threads: each its own tree. */
#ifndef PYANNOT_TRACING_TREE_H
#define PYANNOT_TRACING_TREE_H

#include "tracing_thread.h"

void trace_tree_enter(struct trace_thread *thread, struct trace_entry *entry, annot_name name,
                      bool continues);
/* The same of a call that begins in a range; 0: in none. */
void trace_tree_enter_in(struct trace_thread *thread, struct trace_entry *entry, annot_name name,
                         annot_name range);
void trace_tree_leave(struct trace_thread *thread, struct trace_entry *entry);
/* The thread is in none of what is counted. */
void trace_tree_pause(struct trace_thread *thread);
/* Touches nothing that is shared: that may be gone. */
void trace_tree_free(struct trace_thread *thread);

#endif
