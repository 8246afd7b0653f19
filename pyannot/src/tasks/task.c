/* SPDX-License-Identifier: MIT */
/* Finds the running task with asyncio: see task.h. */
#include "task.h"

#include "greenlets.h"
#include "task_shown.h"
#include "task_track.h"

int task_watching;
uint32_t task_unwatched;
uint32_t task_process;
int task_steps;
_Thread_local struct task_cache task_cache;

/* From 3.12 on, a step may run the first step of another task within it. Before, the query for the
 * loop costs a system call. */
#define TASKS_MAY_BE_EAGER (PY_VERSION_HEX >= 0x030C0000)

/* A new reference, or NULL without an exception. */
static PyObject *current_task(const struct task_state *tasks)
{
    PyObject *get_running_loop = task_part_take(&tasks->get_running_loop);
    PyObject *current = task_part_take(&tasks->current_task);
    PyObject *task = NULL;
    PyObject *loop = get_running_loop && current ? PyObject_CallNoArgs(get_running_loop) : NULL;
    if (loop != NULL && loop != Py_None) {
        if (PyDict_CheckExact(current)) {
            task = PyDict_GetItemWithError(current, loop);
            Py_XINCREF(task);
        } else {
            task = PyObject_CallOneArg(current, loop);
        }
    }
    Py_XDECREF(loop);
    Py_XDECREF(current);
    Py_XDECREF(get_running_loop);
    PyErr_Clear();
    if (task == Py_None)
        Py_CLEAR(task);
    return task;
}

bool task_is_run(const struct state *state)
{
    PyObject *task = current_task(&state->tasks);
    Py_XDECREF(task);
    return task != NULL;
}

struct task_track *task_find(struct state *state, PyThreadState *thread)
{
    bool may_run_tasks = greenlet_may_run_tasks(); /* first: it may correct the step */
    struct task_track *track = task_step ? task_step->track : NULL;
    PyObject *task = NULL;
    if (state != NULL && (TASKS_MAY_BE_EAGER || track == NULL) && may_run_tasks)
        task = current_task(&state->tasks);
    if (task == NULL && track == NULL)
        track = greenlet_running(state);
    if (task != NULL) {
        track = task_track_of(state, task);
        Py_XDECREF(track); /* the running task keeps it */
        Py_DECREF(task);
    }
    task_cache = (struct task_cache){
        .thread = thread,
        .thread_id = thread->id,
        .context_version = thread->context_ver,
        .track = track,
    };
    if (track != NULL && annot_enabled())
        task_life_begin(track);
    return track;
}
