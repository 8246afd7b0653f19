/* SPDX-License-Identifier: MIT */
/* Starts and stops watching tasks and greenlets: see task.h. */
#include "task_watch.h"

#include "greenlets.h"
#include "observed.h"
#include "task.h"
#include "task_await.h"
#include "task_exit.h"
#include "task_shown.h"
#include "task_step.h"
#include "task_track.h"
#include "tracing_tasks.h"

#include <annot/observers.h>
#include <pthread.h>
#include <stdlib.h>

static void after_fork_in_child(void)
{
    task_process++;
    task_cache = (struct task_cache){0};
    task_steps_forget(); /* asyncio forgets the loop as well */
    task_forked();
    slow_forked();
}

uint64_t task_looked;
static int fork_watch_error;

static void fork_is_watched(void)
{
    fork_watch_error = pthread_atfork(NULL, NULL, after_fork_in_child);
}

void task_forget_all(void)
{
    task_exit_forget();
    task_cache = (struct task_cache){0};
    task_steps_forget();
}

/* Made by the first watcher: most programs have no tasks. */
static int types_make(PyObject *module, struct task_state *tasks)
{
    if (tasks->track_type == NULL)
        tasks->track_type = task_track_type_create(module);
    if (tasks->track_type == NULL)
        return -1;
    return tasks->exit_type == NULL ? task_exit_install(module) : 0;
}

static int tasks_types_make(PyObject *module)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct state *state = PyModule_GetState(module);
    pthread_once(&once, fork_is_watched);
    if (fork_watch_error == 0)
        return types_make(module, &state->tasks);
    PyErr_NoMemory();
    return -1;
}

/* Directs ranges inside of tasks, or of greenlets, to their tracks; both may watch at once. 0, or
 * -1 with an exception. */
static int task_watch(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    if (tasks_types_make(module) < 0 || task_exit_place(state) < 0)
        return -1;
    state->tasks.watchers++;
    /* Relaxed: see task_running. */
    __atomic_add_fetch(&task_watching, 1, __ATOMIC_RELAXED);
    return 0;
}

/* Open ranges are left by the objects that their statements hold. */
static int task_unwatch(struct state *state)
{
    __atomic_sub_fetch(&task_watching, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&task_unwatched, 1, __ATOMIC_RELAXED);
    task_cache = (struct task_cache){0};
    return --state->tasks.watchers == 0 ? task_exit_restore(state) : 0;
}

/* Not if the program, or its starter, has chosen the parts to observe. */
static void observe_tasks(void)
{
    PyObject *name = PyUnicode_FromString("asyncio");
    PyObject *asyncio = name ? PyImport_GetModule(name) : NULL;
    PyObject *observe = asyncio ? PyImport_ImportModule("pyannot.observe") : NULL;
    PyObject *result = observe ? PyObject_CallMethod(observe, "start_late", NULL) : NULL;
    if (result == Py_True)
        annot_process_note("tasks of asyncio: observed since this recording found them; ranges "
                           "that were open before are missing");
    PyErr_Clear();
    Py_XDECREF(result);
    Py_XDECREF(observe);
    Py_XDECREF(asyncio);
    Py_XDECREF(name);
}

bool task_watch_late(PyTypeObject *type)
{
    PyObject *kind, *value, *traceback;
    __atomic_store_n(&task_looked, annot_gate_v1.generation, __ATOMIC_RELAXED);
    if (task_is_watched() || getenv("ANNOT_PYTHON") != NULL)
        return false;
    PyErr_Fetch(&kind, &value, &traceback);
    observe_tasks();
    PyErr_Restore(kind, value, traceback);
    return task_running(state_of_type(type)) != NULL;
}

PyObject *tasks_watch(PyObject *module, PyObject *args)
{
    struct state *state = PyModule_GetState(module);
    struct task_state *tasks = &state->tasks;
    PyObject *get_running_loop, *current;
    if (!PyArg_ParseTuple(args, "OO:tasks_watch", &get_running_loop, &current))
        return NULL;
    if (!PyCallable_Check(get_running_loop) ||
        !(PyCallable_Check(current) || PyDict_CheckExact(current))) {
        PyErr_SetString(PyExc_TypeError, "tasks_watch() takes asyncio's two functions");
        return NULL;
    }
    if (tasks->get_running_loop != NULL)
        Py_RETURN_NONE;
    if (task_watch(module) < 0)
        return NULL;
    task_part_set(&tasks->current_task, current);
    task_part_set(&tasks->get_running_loop, get_running_loop);
    Py_RETURN_NONE;
}

PyObject *tasks_unwatch(PyObject *module, PyObject *ignored)
{
    struct state *state = PyModule_GetState(module);
    (void)ignored;
    if (state->tasks.get_running_loop == NULL)
        Py_RETURN_NONE;
    task_part_set(&state->tasks.get_running_loop, NULL);
    task_part_set(&state->tasks.current_task, NULL);
    if (task_unwatch(state) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Data for the steps of Handle._run (task_step.c). */
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

/* ---- Greenlets ------------------------------------------------------------------------------- */

PyObject *greenlets_known(PyObject *module, PyObject *args)
{
    struct greenlet_functions functions;
    if (!PyArg_ParseTuple(args, "OOO:greenlets_known", &functions.getcurrent, &functions.settrace,
                          &functions.gettrace))
        return NULL;
    return tasks_types_make(module) < 0 ? NULL
                                        : greenlets_begin(PyModule_GetState(module), &functions);
}

PyObject *greenlets_ranges(PyObject *module, PyObject *is_on)
{
    struct state *state = PyModule_GetState(module);
    bool on = is_on == Py_True;
    if (!greenlets_are_of(state)) {
        PyErr_SetString(PyExc_RuntimeError, "greenlets of another interpreter are watched");
        return NULL;
    }
    if (on != greenlets_have_tracks() && (on ? task_watch(module) : task_unwatch(state)) < 0)
        return NULL;
    greenlets_show(on);
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
    return task_await_install(tasks);
}

void task_clear(struct state *state)
{
    struct task_state *tasks = &state->tasks;
    greenlets_left(state);
    trace_tasks_left(state);
    __atomic_sub_fetch(&task_watching, (int)tasks->watchers, __ATOMIC_RELAXED);
    __atomic_add_fetch(&task_unwatched, tasks->watchers, __ATOMIC_RELAXED);
    task_cache = (struct task_cache){0};
    tasks->watchers = 0;
    task_part_set(&tasks->get_running_loop, NULL);
    task_part_set(&tasks->current_task, NULL);
    Py_CLEAR(tasks->track_type);
    Py_CLEAR(tasks->exit_type);
    for (int i = 0; i < TASK_EXITS; i++)
        Py_CLEAR(tasks->exits[i]);
    Py_CLEAR(tasks->types);
    Py_CLEAR(tasks->key);
    Py_CLEAR(tasks->callback_name);
    Py_CLEAR(tasks->self_name);
    Py_CLEAR(tasks->done_name);
    task_await_clear(tasks);
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
