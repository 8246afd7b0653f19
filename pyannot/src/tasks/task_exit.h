/* SPDX-License-Identifier: MIT */
/* annotate.__exit__ and __aexit__ while tasks are watched. A range that was opened in a task may be
 * left elsewhere: by a generator that is closed late, by the end of the loop, by the collector of
 * garbage. So what leaves it must know where it was opened. A `with` statement looks __exit__ up
 * before it calls __enter__; what it finds here inside of a task is an object of its own for this
 * one statement, which holds the track.
 * Threads: any; spare memory is guarded by the GIL, free-threaded builds keep none. */
#ifndef ANNOT_TASK_EXIT_H
#define ANNOT_TASK_EXIT_H

#include "annotation.h"

#include <stdbool.h>

struct state;

/* Makes the type; 0, or -1 with an exception. */
int task_exit_install(PyObject *module);
int task_exit_traverse(struct state *state, visitproc visit, void *arg);

/* Puts the descriptors in their place, and takes them away. */
int task_exit_place(struct state *state);
int task_exit_restore(struct state *state);

/* The interpreter has ended, with every object. */
void task_exit_forget(void);
void task_exit_spare_free(struct state *state);

/* Enters on the track of the task that runs. False: the thread's own. */
bool task_enter(struct annotation *annotation);

#endif
