/* SPDX-License-Identifier: MIT */
/* Triggers of windows: ranges of the program, a signal, the profiler's calls, requests of the
 * recording, by the plan of gpu_plan.h. Threads: any; a lock. */
#ifndef ANNOT_GPU_TRIGGER_H
#define ANNOT_GPU_TRIGGER_H

#include "gpu_plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Watches the plan's range or signal. 0 or -errno. */
int gpu_trigger_start(void);

/* The wanted state now. Any thread. */
enum gpu_want gpu_trigger_wanted(void);

/* Handles a call of cudaProfilerStart or cudaProfilerStop on the calling thread. */
void gpu_trigger_profiler(bool begins);

/* Applies signals, another recording, and `wishes` of the recording (enum gpu_wish). Threads: that
 * of gpu_thread.c. */
void gpu_trigger_look(uint32_t wishes);

/* In a forked child. */
void gpu_trigger_forget(void);

#endif
