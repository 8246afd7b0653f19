/* SPDX-License-Identifier: MIT */
/* Ranges of `with` that are entered in a task: see task_exit.h. */
#include "task_exit.h"

#include "annotate.h"
#include "annotation.h"
#include "enter.h"
#include "entered.h"
#include "task.h"
#include "task_track.h"

enum exit_step { EXIT_FRESH = 0, EXIT_ENTERED, EXIT_LEFT };

/* For one statement; also the descriptors in the class, which have no track. */
struct task_exit {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct task_track *track;
    uint32_t forks;  /* entered_forks when it was entered */
    PyObject *plain; /* the original one of the class, bound as for this look-up */
    uint8_t step;    /* enum exit_step */
    bool is_async;
};

/* The object that the last look-up made, until __enter__ takes it. A reference, because another
 * thread may drop the object. One that is never taken stays until the next look-up. */
static _Thread_local struct task_exit *pending __attribute__((tls_model("initial-exec")));

static void pending_set(struct task_exit *leave)
{
    struct task_exit *before = pending;
    Py_XINCREF(leave);
    pending = leave;
    Py_XDECREF(before);
}

static PyObject *leave_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                  PyObject *names);

/* Takes over `plain`. */
static struct task_exit *exit_alloc(struct state *state, PyObject *plain, bool is_async)
{
    struct task_exit *leave = state->tasks.spare;
    if (PYANNOT_FREE_THREADED || leave == NULL)
        leave = PyObject_New(struct task_exit, state->tasks.exit_type);
    else {
        state->tasks.spare = NULL;
        leave = (struct task_exit *)PyObject_Init((PyObject *)leave, state->tasks.exit_type);
    }
    if (leave == NULL) {
        Py_XDECREF(plain);
        return NULL;
    }
    leave->vectorcall = leave_vectorcall;
    leave->track = NULL;
    leave->plain = plain;
    leave->step = EXIT_FRESH;
    leave->is_async = is_async;
    return leave;
}

/* Frees the object of a statement that looked it up and did not enter, or was never left: no range
 * is closed, as with any range without an end. */
static void exit_dealloc(PyObject *self)
{
    struct task_exit *leave = (struct task_exit *)self;
    PyTypeObject *type = Py_TYPE(self);
    struct state *state = state_of_type(type);
    Py_XDECREF(leave->track);
    Py_XDECREF(leave->plain);
    if (!PYANNOT_FREE_THREADED && state != NULL && state->tasks.spare == NULL)
        state->tasks.spare = leave;
    else
        PyObject_Free(leave);
    Py_DECREF(type);
}

void task_exit_spare_free(struct state *state)
{
    PyObject_Free(state->tasks.spare);
    state->tasks.spare = NULL;
}

/* ---- Leaving --------------------------------------------------------------------------------- */

static PyObject *left(const struct task_exit *leave, struct state *state)
{
    if (!leave->is_async)
        Py_RETURN_NONE;
    return state_is_alive(state) ? ready_create(state, Py_NewRef(Py_None)) : NULL;
}

/* Outside of a statement: a.__enter__() and a.__exit__() are as push() and pop(). */
static PyObject *leave_by_hand(struct task_exit *leave, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    struct state *state = state_of_type(Py_TYPE(leave));
    if (pending == leave)
        pending_set(NULL);
    if (state != NULL && annot_enabled() && task_pop(state))
        return left(leave, state);
    return PyObject_Vectorcall(leave->plain, args, flags, names);
}

static PyObject *leave_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    struct task_exit *leave = (struct task_exit *)self;
    if (__builtin_expect(leave->step == EXIT_FRESH, 0))
        return leave_by_hand(leave, args, flags, names);
    if (leave->step == EXIT_ENTERED && leave->forks == entered_forks)
        task_range_end(leave->track, exception_of_exit(args, PyVectorcall_NARGS(flags)));
    leave->step = EXIT_LEFT;
    return left(leave, state_of_type(Py_TYPE(self)));
}

/* ---- Entering -------------------------------------------------------------------------------- */

/* Returns the result of a look-up in the class while no task runs. */
static PyObject *bind(PyObject *plain, PyObject *annotation, PyObject *type)
{
    descrgetfunc get = Py_TYPE(plain)->tp_descr_get;
    return get ? get(plain, annotation, type) : Py_NewRef(plain);
}

static PyObject *exit_get(PyObject *self, PyObject *annotation, PyObject *type)
{
    const struct task_exit *placed = (struct task_exit *)self;
    struct state *state = state_of_type(Py_TYPE(self));
    struct task_track *track = NULL;
    if (state != NULL && annot_enabled())
        track = task_running(state);
    PyObject *plain = bind(placed->plain, annotation, type);
    if (pending != NULL)
        pending_set(NULL);
    if (track == NULL || plain == NULL)
        return plain;
    struct task_exit *leave = exit_alloc(state, plain, placed->is_async);
    if (leave == NULL)
        return NULL;
    leave->track = (struct task_track *)Py_NewRef((PyObject *)track);
    pending_set(leave);
    return (PyObject *)leave;
}

bool task_enter(struct annotation *annotation)
{
    struct task_exit *leave = pending;
    if (!annot_enabled())
        return false;
    if (leave == NULL)
        return task_push(state_of_type(Py_TYPE(annotation)), annotation);
    task_range_begin(leave->track, annotation);
    leave->forks = entered_forks;
    leave->step = EXIT_ENTERED;
    pending_set(NULL);
    return true;
}

/* ---- In the class ---------------------------------------------------------------------------- */

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct task_exit, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, exit_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, exit_get},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.task_exit",
    .basicsize = sizeof(struct task_exit),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};

static const char *const names[] = {"__exit__", "__aexit__"};

int task_exit_traverse(struct state *state, visitproc visit, void *arg)
{
    Py_ssize_t ours = state->tasks.watchers != 0 ? 2 : 1; /* placed in the class, too */
    int result = 0;
    for (int i = 0; i < TASK_EXITS && result == 0; i++) {
        PyObject *exit = state->tasks.exits[i];
        result = visit_type_of(exit, ours, visit, arg);
        if (result == 0 && exit != NULL && Py_REFCNT(exit) == ours)
            Py_VISIT(((struct task_exit *)exit)->plain);
    }
    return result;
}

int task_exit_install(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    struct task_state *tasks = &state->tasks;
    tasks->exit_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (tasks->exit_type == NULL)
        return -1;
    tasks->exit_type->tp_new = NULL; /* other code cannot make them */
    for (int i = 0; i < TASK_EXITS; i++) {
        PyObject *plain = PyDict_GetItemString(state->annotate_type->tp_dict, names[i]);
        tasks->exits[i] = (PyObject *)exit_alloc(state, Py_XNewRef(plain), i == 1);
        if (plain == NULL || tasks->exits[i] == NULL) {
            Py_CLEAR(tasks->exits[0]);
            Py_CLEAR(tasks->exit_type);
            return -1;
        }
    }
    return 0;
}

static int exit_set(const struct state *state, PyTypeObject *type, int index, bool placed)
{
    PyObject *exit = state->tasks.exits[index];
    if (exit == NULL)
        return 0;
    return PyObject_SetAttrString((PyObject *)type, names[index],
                                  placed ? exit : ((struct task_exit *)exit)->plain);
}

/* Holders have no __aexit__. */
static int exits_set(const struct state *state, bool placed)
{
    for (int i = 0; i < TASK_EXITS; i++) {
        if (exit_set(state, state->annotate_type, i, placed) < 0)
            return -1;
    }
    PyTypeObject *holder =
        state_type_made(state, TYPE_HOLDER); /* made later, it has the placed one */
    return holder ? exit_set(state, holder, 0, placed) : 0;
}

int task_exit_place(struct state *state)
{
    return exits_set(state, true);
}

int task_exit_restore(struct state *state)
{
    return exits_set(state, false);
}

void task_exit_forget(void)
{
    pending = NULL;
}
