/* SPDX-License-Identifier: MIT */
/* Memory of a thread's own for a text that is being put together: too much for its stack.
 *
 * Threads: any, also signal handlers, each of which may interrupt one that has taken its own. */
#ifndef ANNOT_SCRATCH_H
#define ANNOT_SCRATCH_H

#include "control.h"

/* SCRATCH_SIZE bytes. NULL: handlers interrupted each other, or there is no memory. Keeps errno.
 * Cost: loads; of a thread without a control block, system calls. */
char *scratch_take(void);
/* NULL is accepted. */
void scratch_give(char *text);

#endif
