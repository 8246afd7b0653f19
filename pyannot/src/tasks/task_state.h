/* SPDX-License-Identifier: MIT */
/* What all interpreters of the process know of their tasks. Threads: any, atomic. */
#ifndef ANNOT_TASK_STATE_H
#define ANNOT_TASK_STATE_H

#include "compat.h"

#include <stdint.h>

/* Raised whenever an interpreter ceases to watch: steps may have been missed since. */
extern uint32_t task_unwatched;

extern int task_watching; /* interpreters that have asyncio */

extern uint32_t task_process; /* raised in each forked child */

extern int task_steps; /* steps of tasks are ranges of their thread */

/* The gate's generation when tasks that are not observed were last looked for (task_watch.h). */
extern uint64_t task_looked;

#endif
