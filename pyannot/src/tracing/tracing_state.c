/* SPDX-License-Identifier: MIT */
/* How the process and each of its threads are traced now: see tracing_state.h. */
#include "tracing_state.h"
#include "tracing_thread.h"

struct trace_now trace_now;
bool trace_has_values;
__thread struct trace_thread *trace_self __attribute__((tls_model("initial-exec")));

/* The recording is over: makes an empty request. */
static int end_asked(void *ignored)
{
    PyObject *module = PyImport_ImportModule("pyannot._trace");
    PyObject *result = module ? PyObject_CallMethod(module, "asked", "s", "") : NULL;
    (void)ignored;
    if (result == NULL)
        PyErr_Clear();
    Py_XDECREF(result);
    Py_XDECREF(module);
    return 0;
}

void trace_end_later(void)
{
    if (!__atomic_exchange_n(&trace_now.is_asked, false, __ATOMIC_RELAXED))
        return;
    bool is_full = Py_AddPendingCall(end_asked, NULL) != 0; /* retried at the next call */
    __atomic_store_n(&trace_now.is_asked, is_full, __ATOMIC_RELAXED);
}
