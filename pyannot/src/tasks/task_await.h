/* SPDX-License-Identifier: MIT */
/* Where a task awaited, as a mark when it goes on. Threads: the one that runs the task. */
#ifndef ANNOT_TASK_AWAIT_H
#define ANNOT_TASK_AWAIT_H

#include "task.h"

#include <stdbool.h>
#include <stdint.h>

/* The mark. False: the task does not go on, its handle does something else. Never raises. */
bool awaited_tell(struct state *state, const struct task_track *track, PyObject *task,
                  uint64_t duration_ns);
int task_await_install(struct task_state *tasks);
void task_await_clear(struct task_state *tasks);

/* Of _native, for pyannot.observe: folders without code of the user's own. From then on it is
 * recorded where tasks await. */
PyObject *tasks_libraries(PyObject *module, PyObject *folders);

#endif
