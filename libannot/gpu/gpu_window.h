/* SPDX-License-Identifier: MIT */
/* The window in which GPUs are recorded: opens with the trigger and the recording, shuts once its
 * work is read. Threads: any; a lock. */
#ifndef ANNOT_GPU_WINDOW_H
#define ANNOT_GPU_WINDOW_H

#include "gpu_emit.h"
#include "gpu_records.h"

#include <stdbool.h>
#include <stddef.h>

/* True if work launched now is kept. Any thread. Cost: a load. */
bool gpu_window_is_taking(void);

/* Opens the window if it is wanted. If it is no longer wanted, drops new launches; the thread of
 * gpu_thread.c shuts it. Any thread; `by_program`: on one of the program. */
void gpu_window_follow(bool by_program);

/* ---- Only on the thread of gpu_thread.c ---- */

/* Sets whether windows may open. After false, call follow and shut for the open one. */
void gpu_window_allow(bool on);

/* Allows another attempt to open after a failure, for another recording. */
void gpu_window_forgive(void);

/* Writes the reason for a failure to open a window and returns true, once per failure. */
bool gpu_window_take_failure(char *text, size_t size);

/* If it is not wanted: waits for activities, a fifth of a second at most; disables, unsubscribes.
 * If it is wanted again meanwhile, it stays open. */
void gpu_window_shut(void);

/* Returns true if an activity of unknown launch is kept, false if it may have been launched while
 * none were to be recorded; counts these. */
bool gpu_window_keeps(const struct gpu_record *record);

/* Requests full buffers from CUPTI. */
void gpu_window_flush(void);

/* Takes the next unreported switch of a window; returns false at the end. */
bool gpu_window_take_switch(struct gpu_switch *ret_switch);

/* In a forked child. */
void gpu_window_forget(void);

#endif
