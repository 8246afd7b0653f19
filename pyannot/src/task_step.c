/* SPDX-License-Identifier: MIT */
/* A turn of the event loop: asyncio.events.Handle._run calls one callback, which for a task is one
 * step of it. Here the task's track begins and ends, samples learn which ranges it has open
 * (task_shown.h), steps become ranges of the loop's thread (on request), and what takes too long is
 * told (task_slow.h). */
#include "annotation_emit.h"
#include "observed.h"
#include "task.h"
#include "task_shown.h"
#include "task_slow.h"

/* The object that a handle's callback belongs to: for each kind of task its step is a bound method,
 * a builtin bound to it, or a wrapper of _asyncio's. Borrowed from the callback. */
static PyObject *owner_of(struct state *state, PyObject *callback, PyObject **ret_owner)
{
    *ret_owner = NULL;
    if (PyMethod_Check(callback))
        return PyMethod_GET_SELF(callback);
    if (PyCFunction_Check(callback))
        return PyCFunction_GET_SELF(callback);
    if (!PyFunction_Check(callback) &&
        attribute_find(callback, state->tasks.self_name, ret_owner) < 0)
        PyErr_Clear();
    return *ret_owner;
}

static bool is_task(const struct task_state *tasks, PyObject *object)
{
    PyObject *types = task_part_take(&tasks->types);
    bool found = false;
    for (Py_ssize_t i = 0; types && !found && i < PyTuple_GET_SIZE(types); i++) {
        PyObject *type = PyTuple_GET_ITEM(types, i);
        found = PyType_Check(type) && PyObject_TypeCheck(object, (PyTypeObject *)type);
    }
    Py_XDECREF(types);
    return found;
}

/* New reference, or NULL without an exception. */
static PyObject *task_of_handle(struct state *state, PyObject *handle)
{
    PyObject *callback = NULL, *task = NULL, *owned;
    if (attribute_find(handle, state->tasks.callback_name, &callback) > 0) {
        PyObject *owner = owner_of(state, callback, &owned);
        if (owner != NULL && is_task(&state->tasks, owner))
            task = Py_NewRef(owner);
        Py_XDECREF(owned);
        Py_DECREF(callback);
    }
    PyErr_Clear();
    return task;
}

static bool task_is_done(struct state *state, PyObject *task)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyObject *done = PyObject_CallMethodNoArgs(task, state->tasks.done_name);
    bool is_done = done == Py_True;
    Py_XDECREF(done);
    PyErr_Clear();
    PyErr_Restore(kind, value, traceback);
    return is_done;
}

/* The step as a range of the thread: how the task's coroutine is called. */
static void step_push(const struct task_track *track)
{
    const struct annot_value values[] = {
        annot_value_string("task", PyUnicode_AsUTF8(track->task_name)),
    };
    struct annot_event event = task_event();
    event.name = track->name;
    event.text = PyUnicode_AsUTF8(track->text);
    event.values = values;
    event.value_count = 1;
    annot_push_event(&event);
}

static PyObject *step_run(struct observed *observed, struct state *state, PyObject *handle)
{
    PyObject *task = task_of_handle(state, handle);
    struct task_track *track = task ? task_track_of(state, task) : NULL;
    bool is_step = track != NULL && __atomic_load_n(&task_steps, __ATOMIC_RELAXED);
    if (track != NULL)
        task_life_begin(track);
    if (is_step)
        step_push(track);
    struct slow_step *slow = slow_begin();
    struct task_step step;
    task_step_begin(&step, track);
    PyObject *result = PyObject_CallOneArg(observed->wrapped, handle);
    task_step_end(&step);
    task_cache = (struct task_cache){0}; /* who asked after the task had left its context */
    slow_end(slow, track, handle);
    if (is_step)
        annot_pop();
    if (track != NULL && task_is_done(state, task))
        task_life_end(track);
    Py_XDECREF(track);
    Py_XDECREF(task);
    return result;
}

PyObject *observed_step(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    struct observed *observed = (struct observed *)self;
    struct state *state = annot_enabled() ? state_of_type(Py_TYPE(self)) : NULL;
    if (state == NULL || PyVectorcall_NARGS(flags) != 1 || names != NULL)
        return PyObject_Vectorcall(observed->wrapped, args, flags, names);
    return step_run(observed, state, args[0]);
}
