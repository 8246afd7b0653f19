/* SPDX-License-Identifier: MIT */
/* Which task runs, asked of asyncio; watching and not watching; leaving what was entered in a task:
 * see task.h. */
#include "task.h"

#include "annotation.h"
#include "enter.h"
#include "entered.h"
#include "greenlets.h"
#include "observed.h"
#include "task_parts.h"
#include "tracing_tasks.h"

#include <pthread.h>

/* ---- Leaving --------------------------------------------------------------------------------- */

enum exit_step { EXIT_FRESH = 0, EXIT_ENTERED, EXIT_LEFT };

/* Of one statement; also the descriptors in the class, which have no track. */
struct task_exit {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct task_track *track;
    uint32_t forks;  /* entered_forks when it was entered */
    PyObject *plain; /* what the class has otherwise, bound as for this look-up */
    uint8_t step;    /* enum exit_step */
    bool is_async;
};

/* The object that the last look-up made, until __enter__ takes it. A reference: what a look-up made
 * may be dropped by another thread. One that is never taken stays until the next look-up. */
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

/* Of a statement that looked it up and did not enter, or was never left: nothing is closed, as for
 * any range whose end does not come. */
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

/* Without a statement around it: a.__enter__() and a.__exit__() are as push() and pop(). */
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

/* What a look-up in the class finds where no task runs. */
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
    tasks->exit_type->tp_new = NULL; /* not to be made by anybody else */
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
        state_type_made(state, TYPE_HOLDER); /* made later, it has what is placed */
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

/* ---- Which task runs ------------------------------------------------------------------------- */

/* Which task runs, asked of asyncio; watching and not watching: see task.h. */

int task_watching;
uint32_t task_unwatched;
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
    task_steps_forget(); /* asyncio as well forgets the loop */
    task_forked();
    slow_forked();
}

static int fork_watch_error;

static void fork_is_watched(void)
{
    fork_watch_error = pthread_atfork(NULL, NULL, after_fork_in_child);
}

void task_forget_all(void)
{
    pending = NULL;
    task_cache = (struct task_cache){0};
    task_steps_forget();
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

int tasks_types_make(PyObject *module)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct state *state = PyModule_GetState(module);
    pthread_once(&once, fork_is_watched);
    if (fork_watch_error == 0)
        return types_make(module, &state->tasks);
    PyErr_NoMemory();
    return -1;
}

int task_watch(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    if (tasks_types_make(module) < 0 || task_exit_place(state) < 0)
        return -1;
    state->tasks.watchers++;
    /* Relaxed: see task_running. */
    __atomic_add_fetch(&task_watching, 1, __ATOMIC_RELAXED);
    return 0;
}

/* What is still open is left by what its statements hold. */
int task_unwatch(struct state *state)
{
    __atomic_sub_fetch(&task_watching, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&task_unwatched, 1, __ATOMIC_RELAXED);
    task_cache = (struct task_cache){0};
    return --state->tasks.watchers == 0 ? task_exit_restore(state) : 0;
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
        PyErr_SetString(PyExc_TypeError, "tasks_watch() takes what asyncio has");
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
