/* SPDX-License-Identifier: MIT */
/* Names that threads got from others (annot_name_thread_of), stored for recordings that begin
 * later.
 *
 * Threads: any, also signal handlers. Per process: a forked child begins with an empty list. */
#ifndef ANNOT_THREAD_NAMES_H
#define ANNOT_THREAD_NAMES_H

#include "control.h"

/* Stores a name. If full, it replaces the name of a thread that has ended; else it is dropped. */
void thread_names_keep(int32_t tid, uint32_t name);

/* Emits them, from the first thread of the process in a segment. The control block is not ready
 * yet, and signals are blocked. */
void thread_names_emit(struct control *control);

#endif
