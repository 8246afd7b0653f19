/* SPDX-License-Identifier: MIT */
/* Calls inside functions that are chosen with their callees.
 *
 * The hook reports every function while a thread is in such a call, and then until the events of
 * other calls have taken as long as instrumenting that code twice: 9 us, and 0.25 us for each
 * function, at 0.04 us an event. So a chosen function that is called often does not instrument code
 * each time, and a program that has left it runs at full speed.
 *
 * Threads: any, in the middle of an event, or of a garbage collection. */
#include "tracing_callees.h"
#include "tracing.h"
#include "tracing_code.h"
#include "tracing_kept.h"

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

enum { MISSED_LEAST = 512, MISSED_PER_CODE = 16 };

/* Since the last call with callees began: its number, the number of calls elsewhere, and that of
 * their functions. */
static uint32_t turn, missed, missed_codes;

static void report_all(bool all)
{
    const struct trace_hook *hook = __atomic_load_n(&trace_now.hook, __ATOMIC_RELAXED);
    if (hook == NULL || hook->report_all == NULL)
        return;
    hook->report_all(all);
    __atomic_store_n(&trace_now.reports_all, all, __ATOMIC_RELEASE); /* partner: reports_all */
}

static void begin_turn(void)
{
    __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&missed, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&missed_codes, 0, __ATOMIC_RELAXED);
}

static bool reports_all(void)
{
    return __atomic_load_n(&trace_now.reports_all, __ATOMIC_ACQUIRE);
}

/* Without the GIL, each thread that arrives before the hook reports all functions waits until it
 * does. */
void trace_callees_begin(void)
{
    begin_turn();
    if (RARE(!reports_all()))
        report_all(true);
}

#if PYANNOT_FREE_THREADED

/* Frames of other threads cannot be read while these run: the hook continues. */
void trace_callees_missed(struct trace_code *code)
{
    (void)code;
}

#else

static bool is_in_callees(PyThreadState *thread)
{
    bool found = false;
    PyFrameObject *frame = PyThreadState_GetFrame(thread);
    while (frame != NULL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        const struct trace_code *kept = trace_kept_find(code);
        PyFrameObject *back = found ? NULL : PyFrame_GetBack(frame);
        found = found || (kept != NULL && kept->has_callees);
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
    }
    return found;
}

/* Walks the frames, as the state of trace_thread may be out of date and is empty between
 * recordings. */
static bool any_has_callees(void)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    bool found = false;
    for (; thread != NULL && !found; thread = PyThreadState_Next(thread))
        found = is_in_callees(thread);
    return found;
}

static __attribute__((noinline, cold)) void report_less(void)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    if (!annot_enabled() || !any_has_callees())
        report_all(false);
    PyErr_Restore(kind, value, traceback);
}

void trace_callees_missed(struct trace_code *code)
{
    if (!trace_now.reports_all)
        return;
    missed_codes += code->missed_in != turn;
    code->missed_in = turn;
    if (++missed < MISSED_LEAST + MISSED_PER_CODE * missed_codes)
        return;
    begin_turn();
    report_less();
}

#endif

void trace_callees_check(void)
{
    static uint64_t seen; /* gate at the last check; at worst two threads check */
    uint64_t gate = annot_gate_v1.generation;
    if (gate == seen || !trace_is_on() || !trace_now.options.callees)
        return;
    seen = gate;
    if (annot_enabled())
        trace_callees_begin();
}
