/* SPDX-License-Identifier: MIT */
/* Names that threads got from others (annot_name_thread_of), kept for recordings that begin later.
 *
 * Threads: any, also signal handlers. Of one process: a forked child begins without. */
#ifndef ANNOT_NAMED_H
#define ANNOT_NAMED_H

#include "control.h"

/* Where there is no room, names of threads that are gone make way; else it is not kept. */
void named_keep(int32_t tid, uint32_t name);

/* The first thread of the process in a segment tells them. The control block is not ready yet, and
 * signals are blocked. */
void named_tell(struct control *control);

#endif
