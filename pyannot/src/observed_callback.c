/* SPDX-License-Identifier: MIT */
/* The program's own call, and the calls hidden from it: see observed_callback.h. */
#include "observed_callback.h"

#include "observed.h"

PyObject *observed_wrapped(const struct observed *observed, PyObject *const *args, size_t flags,
                           PyObject *names)
{
    PyObject *wrapped = observed->wrapped;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (!observed->binds || count == 0)
        return PyObject_Vectorcall(wrapped, args, flags, names);
    PyObject *self = args[0];
    PyObject *bound = Py_TYPE(wrapped)->tp_descr_get(wrapped, self, (PyObject *)Py_TYPE(self));
    PyObject *result =
        bound ? PyObject_Vectorcall(bound, args + 1, (size_t)(count - 1), names) : NULL;
    Py_XDECREF(bound);
    return result;
}

/* Stops tracing and profiling on the thread while a callback runs: debuggers and profilers of the
 * program don't see its frames. */
static void hide_begin(void)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState_EnterTracing(PyThreadState_Get());
#else
    PyThreadState_Get()->tracing++;
#endif
}

static void hide_end(void)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState_LeaveTracing(PyThreadState_Get());
#else
    PyThreadState_Get()->tracing--;
#endif
}

/* ---- The origin of an exception -------------------------------------------------------------- */

enum { SIGNALS = 64 };

static bool has_code(PyObject *traceback, PyObject *code)
{
    PyTracebackObject *at = (PyTracebackObject *)traceback;
    for (; at != NULL; at = at->tb_next) {
        PyCodeObject *of_frame = PyFrame_GetCode(at->tb_frame);
        Py_DECREF(of_frame);
        if ((PyObject *)of_frame == code)
            return true;
    }
    return false;
}

/* True if the exception passed through the frame of a handler. */
static bool is_of_handler(PyObject *traceback, PyObject *handler)
{
    if (PyMethod_Check(handler))
        handler = PyMethod_GET_FUNCTION(handler);
    return PyFunction_Check(handler) && has_code(traceback, PyFunction_GET_CODE(handler));
}

static bool is_of_signal(PyObject *traceback)
{
    PyObject *module = traceback ? PyImport_ImportModule("_signal") : NULL;
    bool found = false;
    for (int number = 1; module != NULL && !found && number <= SIGNALS; number++) {
        PyObject *handler = PyObject_CallMethod(module, "getsignal", "i", number);
        found = handler != NULL && is_of_handler(traceback, handler);
        Py_XDECREF(handler);
        PyErr_Clear();
    }
    Py_XDECREF(module);
    PyErr_Clear();
    return found;
}

/* Drops the exception if it is the callback's own. Returns true if it is still set. */
static bool keeps_exception(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) /* KeyboardInterrupt */
        return true;
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    if (is_of_signal(traceback)) {
        PyErr_Restore(kind, value, traceback);
        return true;
    }
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return false;
}

bool callback_run(PyObject *function, const struct callback_arguments *call, PyObject **ret_result)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    hide_begin();
    *ret_result = PyObject_Vectorcall(function, call->args, (size_t)call->count, call->names);
    hide_end();
    if (*ret_result == NULL && keeps_exception()) {
        Py_XDECREF(kind);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return true;
    }
    PyErr_Restore(kind, value, traceback);
    return false;
}
