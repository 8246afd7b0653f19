/* SPDX-License-Identifier: MIT */
/* The thread of libannot-gpu: drains buffers, opens and shuts windows with the recording, looks at
 * the budget. Threads: start, end and forget on the program's; wake on any. */
#ifndef ANNOT_GPU_THREAD_H
#define ANNOT_GPU_THREAD_H

/* Starts it, and the window if a recording runs. 0 or -errno. */
int gpu_thread_start(void);

/* Wakes it for full buffers or a changed wish. Any thread, also in a signal handler. */
void gpu_thread_wake(void);

/* The process ends: waits for the thread to shut the window, two seconds at most. */
void gpu_thread_end(void);

/* In a forked child: there is no such thread, and CUPTI is not called any more. */
void gpu_thread_forget(void);

#endif
