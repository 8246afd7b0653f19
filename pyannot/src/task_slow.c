/* SPDX-License-Identifier: MIT */
/* See task_slow.h. A loop's thread has a place in a table; a turn inside of a turn (a loop that
 * runs inside of another one) takes a place of its own. */
#include "task_slow.h"

#include <pthread.h>
#include <time.h>

#include "convert.h"
#include "functions.h"

enum { SLOW_PLACES = 64 };

struct slow_step {
    uint64_t begin_ns; /* 0: free */
    uint64_t number;   /* of the turn, unique */
    unsigned long thread;
    PyObject *stack; /* str, left by the watchdog */
};

uint64_t slow_threshold_ns;

/* Guards all of it. */
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

/* What the turn was: the task's name, else how its callback prints itself. */
static PyObject *turn_name(const struct task_track *track, PyObject *handle)
{
    if (track != NULL)
        return PyUnicode_FromFormat("%U (%U)", track->text, track->task_name);
    PyObject *text = PyObject_Repr(handle);
    return text;
}

static void tell(uint64_t duration_ns, PyObject *turn, PyObject *stack)
{
    PyObject *turn_owner = NULL, *stack_owner = NULL;
    const char *turn_text = turn ? text_of(turn, &turn_owner) : NULL;
    const char *stack_text = stack ? text_of(stack, &stack_owner) : NULL;
    const struct annot_value values[] = {
        annot_value_double("ms", (double)duration_ns / 1e6),
        annot_value_string("turn", turn_text ? turn_text : "?"),
        annot_value_string("stack", stack_text ? stack_text
                                               : "not seen: the interpreter was held throughout"),
    };
    struct annot_event event = task_event();
    event.text = "event loop blocked";
    event.values = values;
    event.value_count = sizeof(values) / sizeof(values[0]);
    annot_mark_event(&event);
    Py_XDECREF(turn_owner);
    Py_XDECREF(stack_owner);
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
        PyObject *kind, *value, *traceback;
        PyErr_Fetch(&kind, &value, &traceback);
        PyObject *turn = turn_name(track, handle);
        PyErr_Clear();
        tell(duration_ns, turn, stack);
        PyErr_Clear();
        Py_XDECREF(turn);
        PyErr_Restore(kind, value, traceback);
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

/* Copies of the turns that have lasted so long and have, or have not, a stack; their places into
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

/* [(place, number, thread, milliseconds so far, None)] of long turns whose stack nobody has taken.
 */
PyObject *tasks_slow_turns(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return turns_list(__atomic_load_n(&slow_threshold_ns, __ATOMIC_RELAXED), false);
}

/* The same of turns that have lasted for so many nanoseconds, with the stack that was taken. */
PyObject *tasks_slow_endless(PyObject *module, PyObject *threshold)
{
    (void)module;
    unsigned long long threshold_ns = PyLong_AsUnsignedLongLong(threshold);
    if (PyErr_Occurred())
        return NULL;
    return turns_list(threshold_ns, true);
}

/* tasks_slow_stack(place, number, text): whether the turn is still the same. */
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
