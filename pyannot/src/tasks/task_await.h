/* SPDX-License-Identifier: MIT */
/* Marks where a task awaited, when it resumes. Threads: the one that runs the task. */
#ifndef ANNOT_TASK_AWAIT_H
#define ANNOT_TASK_AWAIT_H

#include "task.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the mark. Returns false if the task does not resume, as its handle has another purpose.
 * Never raises. */
bool awaited_emit(struct state *state, const struct task_track *track, PyObject *task,
                  uint64_t duration_ns);
int task_await_install(struct task_state *tasks);
void task_await_clear(struct task_state *tasks);

/* Of _native, for pyannot.observe: sets the folders without code of the user's own. From then on,
 * records where tasks await. */
PyObject *tasks_libraries(PyObject *module, PyObject *folders);

#endif
