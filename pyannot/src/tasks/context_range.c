/* SPDX-License-Identifier: MIT */
/* See context_range.h. */
#include "context_range.h"

#include "entered.h"
#include "greenlets.h"
#include "task_track.h"

static void begin(struct context_range *range, const struct annot_event *event)
{
    range->is_open = true;
    range->forks = entered_forks;
    if (range->track != NULL)
        task_event_begin(range->track, event);
    else
        annot_push_event(event);
}

/* New reference; NULL: the thread's stack. */
static struct task_track *track_now(struct state *state)
{
    PyObject *kind, *value, *traceback;
    if (!greenlet_is_tracked(state))
        return NULL;
    PyErr_Fetch(&kind, &value, &traceback);
    struct task_track *track = task_running(state);
    PyErr_Restore(kind, value, traceback);
    return (struct task_track *)Py_XNewRef((PyObject *)track);
}

void context_range_begin(struct state *state, struct context_range *range,
                         const struct annot_event *event)
{
    range->track = track_now(state);
    begin(range, event);
}

void context_range_begin_on_track(struct state *state, struct context_range *range,
                                  const struct annot_event *event)
{
    range->track = track_now(state);
    if (range->track != NULL)
        begin(range, event);
}

void context_range_end(struct context_range *range, PyObject *exception)
{
    struct task_track *track = range->track;
    if (!range->is_open)
        return;
    range->is_open = false;
    range->track = NULL;
    if (track == NULL)
        exception_pop(exception);
    else if (range->forks == entered_forks)
        task_range_end(track, exception);
    Py_XDECREF(track);
}

bool threads_are_greenlets(void)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyObject *name = PyUnicode_FromString("_thread");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    PyObject *start = module ? PyObject_GetAttrString(module, "start_new_thread") : NULL;
    bool is_replaced = start != NULL && !PyCFunction_Check(start);
    Py_XDECREF(start);
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Restore(kind, value, traceback);
    return is_replaced;
}
