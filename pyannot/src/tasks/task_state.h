/* SPDX-License-Identifier: MIT */
/* State of tasks for all interpreters of the process. Threads: any, atomic. */
#ifndef ANNOT_TASK_STATE_H
#define ANNOT_TASK_STATE_H

#include "compat.h"

#include <stdint.h>

/* Raised whenever an interpreter stops watching: steps may have been missed since. */
extern uint32_t task_unwatched;

extern int task_watching; /* number of watchers: task_watch */

extern uint32_t task_process; /* raised in each forked child */

extern int task_steps; /* steps of tasks are ranges of their thread */

/* The gate's generation at the last search for tasks that are not observed (task_watch.h). */
extern uint64_t task_looked;

#endif
