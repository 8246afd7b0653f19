/* SPDX-License-Identifier: MIT */
/* State of tasks for all of a process: see task.h, task_shown.h. */
#include "task_state.h"

#include "task.h"
#include "task_shown.h"

int task_watching;
uint32_t task_unwatched;
uint32_t task_process;
int task_steps;
uint64_t task_looked;
_Thread_local struct task_cache task_cache;
_Thread_local struct task_step *task_step;
