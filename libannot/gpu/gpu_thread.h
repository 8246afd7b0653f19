/* SPDX-License-Identifier: MIT */
/* The thread of libannot-gpu: drains buffers, opens and shuts windows with the recording, checks
 * the budget. Threads: start, end and forget on the program's; wake on any. */
#ifndef ANNOT_GPU_THREAD_H
#define ANNOT_GPU_THREAD_H

/* Starts it, and the window if a recording runs. 0 or -errno. */
int gpu_thread_start(void);

/* Wakes it for full buffers or a changed request. Any thread, also in a signal handler. */
void gpu_thread_wake(void);

/* At the end of the process: waits for the thread to shut the window, two seconds at most. */
void gpu_thread_end(void);

/* In a forked child, which has no such thread: resets the state, without calls of CUPTI. */
void gpu_thread_forget(void);

#endif
