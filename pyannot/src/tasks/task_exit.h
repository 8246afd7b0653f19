/* SPDX-License-Identifier: MIT */
/* annotate.__exit__ and __aexit__ while tasks are watched. A range that was opened in a task may be
 * left elsewhere: by a generator that is closed late, by the end of the loop, by the garbage
 * collector. So its exit must know where it was opened. A `with` statement looks __exit__ up before
 * it calls __enter__; inside of a task it finds an object made for this one statement, which holds
 * the track.
 * Threads: any; spare memory is guarded by the GIL, and not used by free-threaded builds. */
#ifndef ANNOT_TASK_EXIT_H
#define ANNOT_TASK_EXIT_H

#include "annotation.h"

#include <stdbool.h>

struct state;

/* Makes the type; 0, or -1 with an exception. */
int task_exit_install(PyObject *module);
int task_exit_traverse(struct state *state, visitproc visit, void *arg);

/* Install and remove the descriptors. */
int task_exit_place(struct state *state);
int task_exit_restore(struct state *state);

/* The interpreter has ended, with every object. */
void task_exit_forget(void);
void task_exit_spare_free(struct state *state);

/* Enters on the track of the running task. False: the range is the thread's own. */
bool task_enter(struct annotation *annotation);

#endif
