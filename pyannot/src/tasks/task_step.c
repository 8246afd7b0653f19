/* SPDX-License-Identifier: MIT */
/* Turns of the event loop: long ones, and those that are steps of tasks. */

#include "task_step.h"

#include "annotation.h"
#include "arguments.h"
#include "observed.h"
#include "task.h"
#include "task_await.h"
#include "task_shown.h"
#include "task_track.h"
#include "tracing_tasks.h"

#include <annot/observers.h>

#include <pthread.h>
#include <time.h>

/* ---- Slow turns ------------------------------------------------------------------------------ */

/* A loop's thread has a place in a table; a turn inside of a turn (a loop that runs inside of
 * another one) takes a separate place. */

enum { SLOW_PLACES = 64 };

struct slow_step {
    uint64_t begin_ns; /* 0: free */
    uint64_t number;   /* of the turn, unique */
    unsigned long thread;
    PyObject *stack; /* str, left by the watchdog */
};

uint64_t slow_threshold_ns, blocked_threshold_ns;

/* Guards the table. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct slow_step places[SLOW_PLACES];
static uint64_t turns;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct slow_step *slow_begin_watched(void)
{
    struct slow_step *step = NULL;
    if (pthread_mutex_lock(&mutex) != 0)
        return NULL;
    for (int i = 0; i < SLOW_PLACES && step == NULL; i++) {
        if (places[i].begin_ns == 0)
            step = &places[i];
    }
    if (step != NULL) {
        step->begin_ns = now_ns();
        step->number = ++turns;
        step->thread = PyThread_get_thread_ident();
    }
    pthread_mutex_unlock(&mutex);
    return step;
}

void slow_forked(void)
{
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < SLOW_PLACES; i++)
        places[i] = (struct slow_step){0};
}

/* Returns the name of the turn: the task's name, else the repr of its handle. */
static PyObject *turn_name(const struct task_track *track, PyObject *handle)
{
    if (track != NULL)
        return PyUnicode_FromFormat("%U (%U)", track->text, track->task_name);
    PyObject *text = PyObject_Repr(handle);
    return text;
}

/* `stack` NULL: it was not taken. */
static void emit_turn(uint64_t duration_ns, PyObject *turn, const char *stack)
{
    PyObject *turn_owner = NULL;
    const char *turn_text = turn ? text_of(turn, &turn_owner) : NULL;
    const struct annot_value values[] = {
        annot_value_double(ANNOT_ASYNCIO_KEY_MS, (double)duration_ns / 1e6),
        annot_value_string("turn", turn_text ? turn_text : "?"),
        annot_value_string("stack", stack ? stack : ""),
    };
    struct annot_event event = blocked_event();
    event.text = "event loop blocked";
    event.values = values;
    event.value_count = stack ? 3 : 2;
    annot_mark_event(&event);
    Py_XDECREF(turn_owner);
}

/* Preserves the exception that the turn may have left. */
static void emit_blocked(uint64_t duration_ns, struct task_track *track, PyObject *handle,
                         const char *stack)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyObject *turn = turn_name(track, handle);
    PyErr_Clear();
    emit_turn(duration_ns, turn, stack);
    PyErr_Clear();
    Py_XDECREF(turn);
    PyErr_Restore(kind, value, traceback);
}

void blocked_emit(uint64_t duration_ns, struct task_track *track, PyObject *handle)
{
    emit_blocked(duration_ns, track, handle, NULL);
}

void slow_end_watched(struct slow_step *step, struct task_track *track, PyObject *handle)
{
    uint64_t threshold_ns = __atomic_load_n(&slow_threshold_ns, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mutex);
    uint64_t duration_ns = step->begin_ns ? now_ns() - step->begin_ns : 0; /* 0: forked since */
    PyObject *stack = step->stack;
    step->stack = NULL;
    step->begin_ns = 0;
    pthread_mutex_unlock(&mutex);
    if (threshold_ns != 0 && duration_ns >= threshold_ns) {
        PyObject *owner = NULL;
        const char *text = stack ? text_of(stack, &owner) : NULL;
        emit_blocked(duration_ns, track, handle,
                     text ? text : "not seen: the interpreter was held throughout");
        Py_XDECREF(owner);
    }
    Py_XDECREF(stack);
}

/* ---- For the watchdog ------------------------------------------------------------------------ */

PyObject *tasks_slow_threshold(PyObject *module, PyObject *threshold)
{
    (void)module;
    unsigned long long threshold_ns = PyLong_AsUnsignedLongLong(threshold);
    if (PyErr_Occurred())
        return NULL;
    __atomic_store_n(&slow_threshold_ns, threshold_ns, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

PyObject *tasks_blocked_threshold(PyObject *module, PyObject *threshold)
{
    (void)module;
    unsigned long long threshold_ns = PyLong_AsUnsignedLongLong(threshold);
    if (PyErr_Occurred())
        return NULL;
    __atomic_store_n(&blocked_threshold_ns, threshold_ns, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

/* Copies the turns that have lasted so long, with or without a stack, and writes their places to
 * index[]. Stacks are new references. */
static int turns_find(uint64_t threshold_ns, bool with_stack, struct slow_step *found, int *index)
{
    int count = 0;
    pthread_mutex_lock(&mutex);
    uint64_t now = now_ns();
    for (int i = 0; i < SLOW_PLACES; i++) {
        const struct slow_step *step = &places[i];
        if (step->begin_ns == 0 || (step->stack != NULL) != with_stack ||
            now - step->begin_ns < threshold_ns)
            continue;
        Py_XINCREF(step->stack);
        index[count] = i;
        found[count++] = *step;
    }
    pthread_mutex_unlock(&mutex);
    return count;
}

static PyObject *turns_list(uint64_t threshold_ns, bool with_stack)
{
    struct slow_step found[SLOW_PLACES];
    int index[SLOW_PLACES];
    int count = threshold_ns ? turns_find(threshold_ns, with_stack, found, index) : 0;
    uint64_t now = now_ns();
    PyObject *list = PyList_New(0);
    for (int i = 0; i < count; i++) {
        PyObject *stack = found[i].stack ? found[i].stack : Py_NewRef(Py_None);
        PyObject *turn =
            Py_BuildValue("(iKkdN)", index[i], (unsigned long long)found[i].number, found[i].thread,
                          (double)(now - found[i].begin_ns) / 1e6, stack);
        if (list != NULL && (turn == NULL || PyList_Append(list, turn) < 0))
            Py_CLEAR(list);
        Py_XDECREF(turn);
    }
    return list;
}

/* Returns [(place, number, thread, milliseconds so far, None)] of long turns without a stack. */
PyObject *tasks_slow_turns(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return turns_list(__atomic_load_n(&slow_threshold_ns, __ATOMIC_RELAXED), false);
}

/* The same for turns at least this long, with their stacks. */
PyObject *tasks_slow_endless(PyObject *module, PyObject *threshold)
{
    (void)module;
    unsigned long long threshold_ns = PyLong_AsUnsignedLongLong(threshold);
    if (PyErr_Occurred())
        return NULL;
    return turns_list(threshold_ns, true);
}

/* tasks_slow_stack(place, number, text): stores a stack; returns true if the turn is still the
 * same. */
PyObject *tasks_slow_stack(PyObject *module, PyObject *args)
{
    int place;
    unsigned long long number;
    PyObject *text;
    bool taken = false;
    (void)module;
    if (!PyArg_ParseTuple(args, "iKU:tasks_slow_stack", &place, &number, &text))
        return NULL;
    if (place >= 0 && place < SLOW_PLACES && pthread_mutex_lock(&mutex) == 0) {
        struct slow_step *step = &places[place];
        taken = step->begin_ns != 0 && step->number == number && step->stack == NULL;
        if (taken)
            step->stack = Py_NewRef(text);
        pthread_mutex_unlock(&mutex);
    }
    return PyBool_FromLong(taken);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* A turn of the event loop: asyncio.events.Handle._run calls one callback, which for a task is one
 * step of it. Here the task's track begins and ends, samples get its open ranges (task_shown.h),
 * steps become ranges of the loop's thread (on request), and long turns are reported. */

/* Returns the object that a handle's callback belongs to: for each kind of task its step is a bound
 * method, a builtin bound to it, or a wrapper of _asyncio's. Borrowed from the callback. */
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

/* Opens the step as a range of the thread, named after the task's coroutine. */
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

/* True if no step of the task was missed since. */
static bool is_known(const struct task_suspension *since, uint32_t unwatched)
{
    return since->unwatched == unwatched &&
           (since->generation == annot_gate_v1.generation || since->recording == annot_recording());
}

/* Before the step. False: it is not a step, the task stays suspended. */
static bool task_goes_on(struct state *state, struct task_track *track, PyObject *task,
                         uint64_t now_ns)
{
    struct task_suspension *since = &track->suspension;
    uint32_t unwatched = __atomic_load_n(&task_unwatched, __ATOMIC_RELAXED);
    bool goes_on = true;
    if (__builtin_expect(since->begin_ns != 0 && now_ns - since->begin_ns >= AWAITED_NS, 0) &&
        is_known(since, unwatched))
        goes_on = awaited_emit(state, track, task, now_ns - since->begin_ns);
    since->unwatched = unwatched; /* the step may stop the watching */
    return goes_on;
}

/* After the step. */
static void task_suspended(struct task_suspension *since, uint64_t now_ns)
{
    uint64_t generation = annot_gate_v1.generation;
    since->begin_ns = now_ns;
    if (__builtin_expect(since->generation != generation, 0)) {
        since->generation = generation;
        since->recording = annot_recording();
    }
}

static PyObject *step_run(struct observed *observed, struct state *state, PyObject *handle)
{
    PyObject *task = task_of_handle(state, handle);
    struct task_track *track = task ? task_track_of(state, task) : NULL;
    bool is_step = track != NULL && __atomic_load_n(&task_steps, __ATOMIC_RELAXED);
    uint64_t begin_ns = turn_now_ns(track != NULL);
    bool goes_on = false;
    if (track != NULL) {
        task_life_begin(track);
        goes_on = task_goes_on(state, track, task, begin_ns);
    }
    if (is_step)
        step_push(track);
    struct slow_step *slow = slow_begin();
    struct task_step *step = task_step_begin(track);
    bool is_traced = track != NULL && trace_step_begin(track);
    PyObject *result = observed_wrapped(observed, &handle, 1, NULL);
    if (is_traced)
        trace_step_end();
    task_step_end(step);
    task_cache = (struct task_cache){0}; /* cached after the task had left its context */
    uint64_t end_ns = turn_now_ns(track != NULL);
    if (goes_on)
        task_suspended(&track->suspension, end_ns);
    slow_end(slow, track, handle);
    blocked_end(end_ns - begin_ns, track, handle);
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
        return observed_wrapped(observed, args, flags, names);
    return step_run(observed, state, args[0]);
}
