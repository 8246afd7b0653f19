/* SPDX-License-Identifier: MIT */
/* See greenlets.h. */
#include "greenlets.h"

#include "task_shown.h"
#include "task_track.h"
#include "tracing_tasks.h"

static PyObject *getcurrent, *settrace, *gettrace; /* greenlet's; NULL: not imported yet */
static PyObject *switched;                         /* our trace function */
static PyObject *parent_name, *dead_name;          /* interned */
static struct state *owner;                        /* borrowed; NULL: greenlets are not watched */
static bool with_ranges;                           /* ranges go to tracks */

static _Thread_local struct {
    bool is_watched;
    PyObject *program_trace; /* the program's own trace function; owned */
    PyObject *main;          /* borrowed, as the next: they are alive */
    PyObject *now;           /* the running one */
    /* Its ranges to show; not for the main one, nor for one that runs for a task. */
    struct task_step own;
} here;

/* ---- The running greenlet -------------------------------------------------------------------- */

/* New reference; NULL: no attribute. */
static PyObject *get(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(object, name);
    if (found == NULL)
        PyErr_Clear();
    return found;
}

/* Borrowed from the child. NULL: it is a main one. */
static PyObject *parent_of(PyObject *greenlet)
{
    PyObject *parent = get(greenlet, parent_name);
    Py_XDECREF(parent);
    return parent == Py_None ? NULL : parent;
}

static PyObject *main_of(PyObject *greenlet)
{
    for (PyObject *parent = greenlet; parent != NULL; parent = parent_of(parent))
        greenlet = parent;
    return greenlet;
}

/* Returns the step of a loop that the greenlet, or one of its parents, is in. */
static struct task_step *step_of(PyObject *greenlet)
{
    struct task_step *step = NULL;
    while (task_has_steps() && step == NULL && greenlet != NULL) {
        step = task_step_on(greenlet);
        greenlet = parent_of(greenlet);
    }
    return step;
}

static struct task_track *track_of(PyObject *greenlet)
{
    struct task_track *track = task_track_of_greenlet(owner, greenlet);
    Py_XDECREF(track); /* the running greenlet keeps it */
    return track;
}

/* Makes `greenlet` the running one. */
static void turn_to(PyObject *greenlet)
{
    here.now = greenlet;
    task_steps_hide();
    struct task_step *step = step_of(greenlet);
    PyObject *runs = step ? step->greenlet : greenlet; /* the one around the step */
    bool is_own = runs != here.main && with_ranges && annot_enabled() &&
                  (task_has_steps() || !task_is_run(owner));
    here.own = (struct task_step){.track = is_own ? track_of(runs) : NULL};
    task_steps_show(step ? step : is_own ? &here.own : NULL);
    if (here.own.track != NULL)
        task_life_begin(here.own.track);
}

/* Queries greenlet: our trace function may have been replaced. */
static bool find_now(void)
{
    PyObject *now = getcurrent ? PyObject_CallNoArgs(getcurrent) : NULL;
    if (now == NULL)
        PyErr_Clear();
    else if (now != here.now)
        turn_to(now);
    Py_XDECREF(now);
    return now != NULL;
}

bool greenlets_are_unwatched(void)
{
    /* partner: greenlets_known, which sets all else first */
    return __atomic_load_n(&settrace, __ATOMIC_ACQUIRE) != NULL && owner != NULL &&
           !here.is_watched;
}

void greenlets_watch(void)
{
    PyObject *kind, *value, *traceback;
    if (!greenlets_are_unwatched())
        return;
    here.is_watched = true;
    PyErr_Fetch(&kind, &value, &traceback);
    PyObject *now = PyObject_CallNoArgs(getcurrent);
    if (now != NULL) {
        here.main = main_of(now);
        task_steps_are_on(now);
        here.program_trace = PyObject_CallFunctionObjArgs(settrace, switched, NULL);
        if (here.program_trace == switched)
            Py_CLEAR(here.program_trace);
        turn_to(now);
    }
    Py_XDECREF(now);
    /* Drops an error of our own: switches are then not reported. */
    PyErr_Restore(kind, value, traceback);
}

PyObject *greenlet_now(void)
{
    greenlets_watch();
    return here.now;
}

bool greenlets_have_tracks(void)
{
    return with_ranges;
}

bool greenlet_is_tracked(const struct state *state)
{
    greenlets_watch();
    return state != NULL && state == owner && with_ranges && annot_enabled() && find_now() &&
           here.now != here.main;
}

struct task_track *greenlet_running(struct state *state)
{
    if (!greenlet_is_tracked(state))
        return NULL;
    if (here.own.track == NULL)
        turn_to(here.now); /* there was no recording when it was switched to */
    return track_of(here.now);
}

struct task_track *greenlet_context(struct state *state)
{
    const struct task_step *step = greenlet_is_tracked(state) ? step_of(here.now) : NULL;
    if (step != NULL && step->track != NULL && step->greenlet != here.now)
        return step->track;
    return greenlet_running(state);
}

bool greenlet_may_run_tasks(void)
{
    if (owner == NULL || !here.is_watched || !find_now())
        return true;
    bool is_in_step = task_step != NULL && task_step != &here.own;
    return is_in_step || !task_has_steps(); /* of loops without reported steps: uvloop's */
}

/* ---- Switches -------------------------------------------------------------------------------- */

/* Called when it is left, maybe for the last time. */
static void leave(PyObject *greenlet)
{
    struct task_track *track = task_track_kept(owner, greenlet);
    PyObject *is_dead = track != NULL ? get(greenlet, dead_name) : NULL;
    if (is_dead == Py_True)
        task_life_end(track);
    Py_XDECREF(is_dead);
}

static void follow(PyObject *origin, PyObject *target)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    task_cache = (struct task_cache){0};
    turn_to(target);
    if (origin != here.main)
        leave(origin);
    trace_greenlet_switched();
    PyErr_Restore(kind, value, traceback);
}

/* (event, (origin, target)). If the program's own function raises, greenlet removes both. */
static PyObject *on_switch(PyObject *ignored, PyObject *args)
{
    PyObject *origin, *target;
    (void)ignored;
    if (owner != NULL && PyTuple_GET_SIZE(args) == 2 && PyTuple_Check(PyTuple_GET_ITEM(args, 1)) &&
        PyTuple_GET_SIZE(PyTuple_GET_ITEM(args, 1)) == 2) {
        origin = PyTuple_GET_ITEM(PyTuple_GET_ITEM(args, 1), 0);
        target = PyTuple_GET_ITEM(PyTuple_GET_ITEM(args, 1), 1);
        follow(origin, target);
    }
    if (here.program_trace == NULL || here.program_trace == Py_None)
        Py_RETURN_NONE;
    PyObject *result = PyObject_Call(here.program_trace, args, NULL);
    if (result == NULL) {
        Py_CLEAR(here.program_trace);
        here.is_watched = false;
    }
    return result;
}

/* Replaces greenlet.settrace. */
static PyObject *set_trace(PyObject *ignored, PyObject *function)
{
    (void)ignored;
    if (!here.is_watched)
        return PyObject_CallFunctionObjArgs(settrace, function, NULL);
    if (function != Py_None && !PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "the trace function must be callable or None");
        return NULL;
    }
    PyObject *before = here.program_trace ? here.program_trace : Py_NewRef(Py_None);
    here.program_trace = Py_NewRef(function);
    return before;
}

/* Replaces greenlet.gettrace. */
static PyObject *get_trace(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    if (!here.is_watched)
        return PyObject_CallNoArgs(gettrace);
    return Py_NewRef(here.program_trace ? here.program_trace : Py_None);
}

/* ---- Beginning and ending -------------------------------------------------------------------- */

static PyMethodDef set_definition = {"settrace", set_trace, METH_O, NULL};
static PyMethodDef get_definition = {"gettrace", get_trace, METH_NOARGS, NULL};
static PyMethodDef switched_definition = {"annot_switched", on_switch, METH_VARARGS, NULL};

PyObject *greenlets_begin(struct state *state, const struct greenlet_functions *functions)
{
    PyObject *function = PyCFunction_New(&switched_definition, NULL);
    Py_XSETREF(parent_name, PyUnicode_InternFromString("parent"));
    Py_XSETREF(dead_name, PyUnicode_InternFromString("dead"));
    if (function == NULL || parent_name == NULL || dead_name == NULL) {
        Py_XDECREF(function);
        return NULL;
    }
    Py_XSETREF(switched, function);
    Py_XSETREF(getcurrent, Py_NewRef(functions->getcurrent));
    Py_XSETREF(gettrace, Py_NewRef(functions->gettrace));
    owner = state;
    PyObject *before =
        __atomic_exchange_n(&settrace, Py_NewRef(functions->settrace), __ATOMIC_ACQ_REL);
    Py_XDECREF(before); /* partner: greenlets_watch */
    greenlets_watch();
    trace_greenlets_known();
    return Py_BuildValue("NN", PyCFunction_New(&set_definition, NULL),
                         PyCFunction_New(&get_definition, NULL));
}

bool greenlets_are_of(const struct state *state)
{
    return owner == state;
}

void greenlets_show(bool on)
{
    with_ranges = on;
    here.now = NULL;
    (void)find_now();
}

void greenlets_left(const struct state *state)
{
    if (owner != state)
        return;
    owner = NULL;
    with_ranges = false;
}

void greenlets_forget(void)
{
    getcurrent = settrace = gettrace = switched = parent_name = dead_name = NULL;
    here.program_trace = here.main = here.now = NULL;
    here.is_watched = false;
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
