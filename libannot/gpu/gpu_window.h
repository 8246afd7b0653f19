/* SPDX-License-Identifier: MIT */
/* The window in which GPUs are recorded: opens with the trigger and the recording, shuts once its
 * work is read. Threads: any; a lock. */
#ifndef ANNOT_GPU_WINDOW_H
#define ANNOT_GPU_WINDOW_H

#include "gpu_records.h"
#include "gpu_tell.h"

#include <stdbool.h>
#include <stddef.h>

/* True if work launched now is kept. Any thread. Cost: a load. */
bool gpu_window_is_taking(void);

/* Opens the window if it is wanted. If it no longer is, keeps nothing from here on; the thread of
 * gpu_thread.c shuts it. Any thread; `by_program`: on one of the program. */
void gpu_window_follow(bool by_program);

/* ---- Only on the thread of gpu_thread.c ---- */

/* Whether windows may open at all. After false, follow and shut the open one. */
void gpu_window_allow(bool on);

/* Another recording: tries to open again after a failure. */
void gpu_window_forgive(void);

/* Writes why a window could not be opened and returns true, once per failure. */
bool gpu_window_take_failure(char *text, size_t size);

/* If it is not wanted: waits for activities, a fifth of a second at most; disables, unsubscribes.
 * If it is wanted again meanwhile, it stays open. */
void gpu_window_shut(void);

/* Whether to keep an activity of unknown launch: false if it may have been launched while nothing
 * was to be kept; counts these. */
bool gpu_window_keeps(const struct gpu_record *record);

/* Asks CUPTI for full buffers. */
void gpu_window_flush(void);

/* The next switch of a window that is not reported yet; false: no more. */
bool gpu_window_take_switch(struct gpu_switch *ret_switch);

/* In a forked child. */
void gpu_window_forget(void);

#endif
