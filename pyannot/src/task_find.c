/* SPDX-License-Identifier: MIT */
/* Which task runs, asked of asyncio; watching and not watching: see task.h. */
#include "annotation_emit.h"
#include "functions.h"
#include "task.h"
#include "task_exit.h"
#include "task_shown.h"
#include "task_slow.h"

#include <pthread.h>

int task_watching;
uint32_t task_process;
int task_steps;
_Thread_local struct task_cache task_cache;

/* From 3.12 on, a step may run the first step of another task within it. Before, asking for the
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

struct task_track *task_find(struct state *state, PyThreadState *thread)
{
    struct task_track *track = task_step ? task_step->track : NULL;
    PyObject *task = NULL;
    if (state != NULL && (TASKS_MAY_BE_EAGER || track == NULL))
        task = current_task(&state->tasks);
    if (task != NULL) {
        track = task_track_of(state, task);
        Py_XDECREF(track); /* the task, which runs, keeps it */
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

/* ---- Watching -------------------------------------------------------------------------------- */

static void after_fork_in_child(void)
{
    task_process++;
    task_cache = (struct task_cache){0};
    task_step = NULL; /* asyncio as well forgets the loop */
    task_forked();
    slow_forked();
}

static int fork_watch_error;

static void fork_is_watched(void)
{
    fork_watch_error = pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* By the first who watches: most programs have no tasks. */
static int types_make(PyObject *module, struct task_state *tasks)
{
    if (tasks->track_type == NULL)
        tasks->track_type = task_track_type_create(module);
    if (tasks->track_type == NULL)
        return -1;
    return tasks->exit_type == NULL ? task_exit_install(module) : 0;
}

PyObject *tasks_watch(PyObject *module, PyObject *args)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct state *state = PyModule_GetState(module);
    struct task_state *tasks = &state->tasks;
    PyObject *get_running_loop, *current;
    if (!PyArg_ParseTuple(args, "OO:tasks_watch", &get_running_loop, &current))
        return NULL;
    if (!PyCallable_Check(get_running_loop) ||
        !(PyCallable_Check(current) || PyDict_CheckExact(current))) {
        PyErr_SetString(PyExc_TypeError, "tasks_watch() takes what asyncio has");
        return NULL;
    }
    if (tasks->get_running_loop != NULL)
        Py_RETURN_NONE;
    pthread_once(&once, fork_is_watched);
    if (fork_watch_error != 0)
        return PyErr_NoMemory();
    if (types_make(module, tasks) < 0 || task_exit_place(state) < 0)
        return NULL;
    task_part_set(&tasks->current_task, current);
    task_part_set(&tasks->get_running_loop, get_running_loop);
    /* Relaxed: see task_running. */
    __atomic_add_fetch(&task_watching, 1, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

/* What is still open is left by what its statements hold. */
static void unwatch(struct task_state *tasks)
{
    if (tasks->get_running_loop == NULL)
        return;
    __atomic_sub_fetch(&task_watching, 1, __ATOMIC_RELAXED);
    task_cache = (struct task_cache){0};
    task_part_set(&tasks->get_running_loop, NULL);
    task_part_set(&tasks->current_task, NULL);
}

PyObject *tasks_unwatch(PyObject *module, PyObject *ignored)
{
    struct state *state = PyModule_GetState(module);
    (void)ignored;
    unwatch(&state->tasks);
    if (task_exit_restore(state) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* What Handle._run's steps need (task_step.c). */
PyObject *tasks_types(PyObject *module, PyObject *args)
{
    struct state *state = PyModule_GetState(module);
    PyObject *types;
    int steps;
    if (!PyArg_ParseTuple(args, "O!p:tasks_types", &PyTuple_Type, &types, &steps))
        return NULL;
    task_part_set(&state->tasks.types, types);
    __atomic_store_n(&task_steps, steps, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

/* ---- The module's part ----------------------------------------------------------------------- */

int task_install(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    struct task_state *tasks = &state->tasks;
    tasks->key = PyUnicode_InternFromString("_annot_track");
    tasks->callback_name = PyUnicode_InternFromString("_callback");
    tasks->self_name = PyUnicode_InternFromString("__self__");
    tasks->done_name = PyUnicode_InternFromString("done");
    if (tasks->key == NULL || tasks->callback_name == NULL || tasks->self_name == NULL ||
        tasks->done_name == NULL)
        return -1;
    return 0;
}

void task_clear(struct state *state)
{
    struct task_state *tasks = &state->tasks;
    unwatch(tasks);
    Py_CLEAR(tasks->track_type);
    Py_CLEAR(tasks->exit_type);
    for (int i = 0; i < TASK_EXITS; i++)
        Py_CLEAR(tasks->exits[i]);
    Py_CLEAR(tasks->types);
    Py_CLEAR(tasks->key);
    Py_CLEAR(tasks->callback_name);
    Py_CLEAR(tasks->self_name);
    Py_CLEAR(tasks->done_name);
}

int task_traverse(struct state *state, visitproc visit, void *arg)
{
    struct task_state *tasks = &state->tasks;
    Py_VISIT(tasks->track_type);
    Py_VISIT(tasks->exit_type);
    Py_VISIT(tasks->get_running_loop);
    Py_VISIT(tasks->current_task);
    Py_VISIT(tasks->types);
    return task_exit_traverse(state, visit, arg);
}
