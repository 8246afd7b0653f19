/* SPDX-License-Identifier: MIT */
/* Tasks that a thread of the same process runs: from the offer to the end of a task.
 *
 * A task is work of its submitter. So the ranges that were open there (inherited.h) are opened
 * again around the task's own range, in a separate category: paths of ranges and samples lead
 * through them, and other statistics do not count them. */
#include "pool_side.h"
#include "pool_task.h"

#include "annotation.h"
#include "greenlets.h"
#include "inherited.h"
#include "state.h"

/* A task that waits for a thread, in a capsule. */
struct offered {
    struct pool_side *side; /* owned */
    annot_flow flow;
    struct inherited inherited;
    uint32_t opened;    /* number of inherited ranges that take() opened */
    uint64_t recording; /* in which it opened them */
    struct context_range run;
};

static const char offered_name[] = "pyannot.offered", taken_name[] = "pyannot.taken";

/* ---- Methods --------------------------------------------------------------------------------- */

/* Frees a task. One that was not taken (it was cancelled, or the pool shut down) no longer counts
 * as waiting. */
static void offered_free(PyObject *task)
{
    bool is_offered = PyCapsule_IsValid(task, offered_name);
    struct offered *offered = PyCapsule_GetPointer(task, is_offered ? offered_name : taken_name);
    if (is_offered)
        pool_side_count(offered->side, -1);
    Py_DECREF(offered->side);
    Py_XDECREF(offered->run.track);
    PyMem_Free(offered);
}

static void emit_submit(struct offered *offered)
{
    struct annot_event event = pool_side_event(pool_name(POOL_SUBMIT), ANNOT_POOL_SUBMIT);
    offered->flow = annot_flow_new();
    annot_push_event(&event);
    annot_flow_begin(offered->flow, ANNOT_POOL_FLOW);
    annot_pop();
}

/* offer(): makes a task for a thread of this process. */
PyObject *pool_side_offer(PyObject *self, PyObject *ignored)
{
    struct pool_side *side = (struct pool_side *)self;
    struct offered *offered = PyMem_Calloc(1, sizeof(*offered));
    (void)ignored;
    if (offered == NULL)
        return PyErr_NoMemory();
    offered->side = (struct pool_side *)Py_NewRef(self);
    if (annot_enabled() && !pool_side_has_greenlets(side)) {
        inherited_gather(state_of_type(Py_TYPE(self)), &offered->inherited);
        emit_submit(offered);
    }
    pool_side_count(side, 1);
    PyObject *task = PyCapsule_New(offered, offered_name, offered_free);
    if (task == NULL) {
        Py_DECREF(self);
        PyMem_Free(offered);
    }
    return task;
}

static void push_inherited(const struct inherited *inherited)
{
    for (uint32_t i = 0; i < inherited->count; i++) {
        const struct inherited_range *range = &inherited->ranges[i];
        struct annot_event event = {.name = range->name,
                                    .domain = range->domain,
                                    .category = inherited_category(range->domain)};
        annot_push_event(&event);
    }
}

/* The track of a greenlet gets the function's range alone: flows do not arrive on tracks. */
static void run_begin(struct pool_side *side, struct offered *offered, const struct pool_task *task)
{
    bool on_track = greenlet_is_tracked(state_of_type(Py_TYPE(side)));
    struct pool_function found = pool_function_find(side, task);
    offered->opened = on_track ? 0 : offered->inherited.count;
    offered->recording = annot_recording();
    if (!on_track)
        push_inherited(&offered->inherited);
    pool_side_begin_function(side, &offered->run, &found, ANNOT_POOL_RUN);
    if (!on_track)
        annot_flow_end(offered->flow);
    Py_DECREF(found.function);
}

/* NULL, with an exception: it is not offered. */
static struct offered *take(PyObject *capsule, const struct pool_task *task)
{
    struct offered *offered = PyCapsule_IsValid(capsule, offered_name)
                                  ? PyCapsule_GetPointer(capsule, offered_name)
                                  : NULL;
    if (offered == NULL) {
        PyErr_SetString(PyExc_TypeError, "take() takes a result of offer() that was not taken yet");
        return NULL;
    }
    PyCapsule_SetName(capsule, taken_name);
    __atomic_add_fetch(&offered->side->running_count, 1, __ATOMIC_RELAXED);
    pool_side_count(offered->side, 0);
    if (annot_enabled() && task->function != NULL)
        run_begin(offered->side, offered, task);
    return offered;
}

/* `exception`: its type, or NULL. Ranges of another recording on the thread are closed already. */
static void end(struct offered *offered, PyObject *exception)
{
    bool is_recorded = offered->recording == annot_recording();
    if (is_recorded || offered->run.track != NULL)
        context_range_end(&offered->run, exception);
    for (uint32_t i = 0; is_recorded && i < offered->opened; i++)
        annot_pop();
    offered->opened = 0;
    offered->run.is_open = false;
    __atomic_add_fetch(&offered->side->running_count, -1, __ATOMIC_RELAXED);
    pool_side_count(offered->side, -1);
}

/* take(task, item): a thread begins the task. `item` has the function. */
PyObject *pool_side_take(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct pool_task task;
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "take() takes 2 arguments");
        return NULL;
    }
    if (annot_enabled())
        pool_task_of_item(args[1], &task);
    else
        task = (struct pool_task){0};
    if (take(args[0], &task) == NULL)
        return NULL;
    Py_RETURN_NONE;
}

/* done(task, error): the thread has ended the task. `error`: its exception, or None. */
PyObject *pool_side_done(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2 || !PyCapsule_IsValid(args[0], taken_name)) {
        PyErr_SetString(PyExc_TypeError, "done() takes a task that was taken, and an exception");
        return NULL;
    }
    end(PyCapsule_GetPointer(args[0], taken_name),
        args[1] == Py_None ? NULL : (PyObject *)Py_TYPE(args[1]));
    Py_RETURN_NONE;
}

/* run(task, function, *args, **keywords): take, call and done, for a library that only calls a
 * function. */
PyObject *pool_side_run(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    (void)self;
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError, "run() takes a task and a function");
        return NULL;
    }
    const struct pool_task task = {.function = args[1]};
    struct offered *offered = take(args[0], &task);
    if (offered == NULL)
        return NULL;
    PyObject *result = PyObject_Vectorcall(args[1], args + 2, (size_t)count - 2, names);
    end(offered, result ? NULL : PyErr_Occurred());
    return result;
}
