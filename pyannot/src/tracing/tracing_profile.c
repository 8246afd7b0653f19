/* SPDX-License-Identifier: MIT */
/* Reports calls by a profile function: CPython 3.9 to 3.11, for calls of C functions, and where
 * another tool evaluates frames. It slows down all code that runs while it is set, on 3.11 to less
 * than half.
 *
 * A profile function belongs to one thread. Existing threads get it when tracing starts, later
 * threads of `threading` when they start; others do not get it. */
#define Py_BUILD_CORE 1
#include "tracing.h"
#include "tracing_tasks.h"
#include "tracing_values.h"

#include <annot/observers.h>

#if PY_VERSION_HEX < 0x030C0000

#include <frameobject.h>

#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
#endif

static bool is_on;

/* True if the frame that begins was suspended before. */
static bool has_begun(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    const struct _PyInterpreterFrame *inner = frame->f_frame;
    return inner->prev_instr > _PyCode_CODE(inner->f_code) + inner->f_code->_co_firsttraceable;
#else
    return frame->f_lasti >= 0;
#endif
}

static PyCodeObject *code_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return frame->f_frame->f_code;
#else
    return frame->f_code;
#endif
}

/* True if the frame that is left was a coroutine's, and will resume. */
static bool is_suspended(PyFrameObject *frame, const PyObject *result)
{
    if (result == NULL || !(code_of(frame)->co_flags & CO_COROUTINE))
        return false;
#if PY_VERSION_HEX >= 0x030B0000
    const struct _PyInterpreterFrame *inner = frame->f_frame;
    return inner->owner == FRAME_OWNED_BY_GENERATOR &&
           _PyFrame_GetGenerator(frame->f_frame)->gi_frame_state == FRAME_SUSPENDED;
#elif PY_VERSION_HEX >= 0x030A0000
    return frame->f_state == FRAME_SUSPENDED;
#else
    return frame->f_stacktop != NULL;
#endif
}

static PyObject *const *slots_of(const PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return frame->f_frame->localsplus;
#else
    return frame->f_localsplus;
#endif
}

/* Passes on the values of an event, before the event itself. */
static void see(const PyFrameObject *frame, int what, PyObject *argument)
{
    if (what == PyTrace_CALL)
        trace_see_slots(slots_of(frame));
    else if (what == PyTrace_RETURN && argument != NULL)
        trace_see_result(argument);
    else if (what == PyTrace_RETURN)
        trace_see_error();
}

static int take_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)object;
    if (!is_on)
        return 0;
    if (__builtin_expect(trace_has_values, 0))
        see(frame, what, argument);
    trace_see_frame(frame);
    switch (what) {
    case PyTrace_CALL:
        trace_enter(code_of(frame), has_begun(frame));
        break;
    case PyTrace_RETURN:
        if (is_suspended(frame, argument))
            trace_suspend(code_of(frame));
        else
            trace_leave(code_of(frame));
        break;
    case PyTrace_C_CALL:
        trace_c_enter(argument);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        trace_c_leave(argument);
        break;
    default:
        break;
    }
    return 0;
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* `threading` calls this in each new thread, at its first event. */
static PyObject *begin_thread(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    if (is_on && _PyEval_SetProfile(PyThreadState_Get(), take_event, NULL) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef begin_definition = {"begin_thread", begin_thread, METH_VARARGS, NULL};

static PyObject *begin_function; /* while tracing is on */

/* Returns the function that `threading` gives to new threads. New reference; NULL with an
 * exception. */
static PyObject *get_of_threading(void)
{
    PyObject *module = PyImport_ImportModule("threading");
    PyObject *function = module ? PyObject_GetAttrString(module, "_profile_hook") : NULL;
    Py_XDECREF(module);
    return function;
}

static int set_of_threading(PyObject *function)
{
    PyObject *module = PyImport_ImportModule("threading");
    PyObject *result = module ? PyObject_CallMethod(module, "setprofile", "O", function) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* True if it is the function of `threading`, or if the interpreter has no `threading`. */
static bool is_of_threading(PyObject *function)
{
    PyObject *found = get_of_threading();
    bool is_same = found == NULL || found == function;
    PyErr_Clear();
    Py_XDECREF(found);
    return is_same;
}

/* Sets the function of each thread that has `before`. */
static int set_of_all(Py_tracefunc before, Py_tracefunc function)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread != NULL; thread = PyThreadState_Next(thread))
        if (thread->c_profilefunc == before && _PyEval_SetProfile(thread, function, NULL) < 0)
            return -1;
    return 0;
}

static const char *profile_refused(const struct trace_options *options)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    if (options->lines)
        return "lines are not counted with calls of C functions before CPython 3.12, nor where "
               "another tool evaluates frames or has set a trace function (sys.settrace)";
    if (options->exceptions) /* an exception is not set while a profile function runs */
        return "exceptions are not recorded with calls of C functions before CPython 3.12, nor "
               "where "
               "another tool evaluates frames";
    for (; thread != NULL; thread = PyThreadState_Next(thread))
        if (thread->c_profilefunc != NULL)
            return "another profiler has set a profile function (sys.setprofile)";
    if (!is_of_threading(Py_None))
        return "another profiler has set a profile function for threads that begin "
               "(threading.setprofile)";
    return NULL;
}

/* True if a thread has, or will have, another function than ours, or if the main thread has lost
 * ours. */
static bool is_taken(void)
{
    if (!is_of_threading(begin_function))
        return true;
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get()), *first = NULL;
    for (; thread != NULL; first = thread, thread = PyThreadState_Next(thread))
        if (thread->c_profilefunc != NULL && thread->c_profilefunc != take_event)
            return true;
    return first != NULL && first->c_profilefunc == NULL;
}

static void profile_stop(void)
{
    if (is_on && is_taken())
        annot_process_note("calls of Python: another profiler set a profile function "
                           "(sys.setprofile); calls of its threads since then are missing");
    is_on = false;
    if (set_of_all(take_event, NULL) < 0 ||
        (is_of_threading(begin_function) && set_of_threading(Py_None) < 0))
        PyErr_Clear();
    Py_CLEAR(begin_function);
}

static int profile_start(const struct trace_options *options)
{
    (void)options;
    begin_function = PyCFunction_New(&begin_definition, NULL);
    if (begin_function == NULL)
        return -1;
    is_on = true;
    if (set_of_threading(begin_function) == 0 && set_of_all(NULL, take_event) == 0)
        return 0;
    is_on = false;
    Py_CLEAR(begin_function);
    return -1;
}

const struct trace_hook trace_profile = {.name = "a profile function",
                                         .refused = profile_refused,
                                         .start = profile_start,
                                         .stop = profile_stop};

#endif
