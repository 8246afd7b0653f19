/* SPDX-License-Identifier: MIT */
/* Functions of _native that control the tracer.
 *
 * Threads: one at a time, see pyannot/_trace.py. */
#include "greenlets.h"
#include "task_watch.h"
#include "tracing.h"
#include "tracing_callees.h"
#include "tracing_code.h"
#include "tracing_select.h"
#include "tracing_tasks.h"
#include "tracing_thread.h"

#include <annot/queues.h>
#include <stdio.h>
#include <time.h>

static const struct trace_hook *const hooks[] = {
    &trace_monitoring,
#if PY_VERSION_HEX < 0x030C0000
    &trace_eval,
    &trace_profile,
#endif
};

enum { HOOK_COUNT = sizeof(hooks) / sizeof(hooks[0]), MEASURE_NS = 100000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_counter(void)
{
#if defined(__x86_64__)
    uint64_t before = __builtin_ia32_rdtsc(), time = annot_queue_time();
    return before <= time && time <= __builtin_ia32_rdtsc();
#else
    return false;
#endif
}

/* Takes a tenth of a millisecond, once. */
static void measure_clock(void)
{
    if (trace_now.ns_per_tick > 0)
        return;
    trace_now.reads_counter = is_counter();
    uint64_t begin_ns = now_ns(), begin = annot_queue_time(), ns;
    while ((ns = now_ns()) - begin_ns < MEASURE_NS)
        continue;
    uint64_t ticks = annot_queue_time() - begin;
    trace_now.ns_per_tick = ticks ? (double)(ns - begin_ns) / (double)ticks : 1;
    trace_now.tiny_ticks = (uint64_t)(TRACE_TINY_NS / trace_now.ns_per_tick);
}

/* Returns the first hook that works here; NULL: *ret_refusal is the reason of the last one. */
static const struct trace_hook *find_hook(const struct trace_options *options,
                                          const char **ret_refusal)
{
    for (int i = 0; i < HOOK_COUNT; i++) {
        *ret_refusal = hooks[i]->refused(options);
        if (*ret_refusal == NULL)
            return hooks[i];
    }
    return NULL;
}

static void emit_left_out(void)
{
#if PY_VERSION_HEX < 0x030C0000
    char text[ANNOT_PROCESS_NOTE_MAX];
    if (trace_left_out() == 0)
        return;
    (void)snprintf(text, sizeof(text),
                   "calls of Python: left out %llu times, because a thread "
                   "had little stack left",
                   (unsigned long long)trace_left_out());
    annot_process_note(text);
#endif
}

/* True if another interpreter is traced. */
static bool is_elsewhere(void)
{
    return trace_now.interpreter != NULL && trace_now.interpreter != PyInterpreterState_Get();
}

static int refuse_elsewhere(void)
{
    if (!is_elsewhere())
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "another interpreter of this process is traced");
    return -1;
}

/* Threads write their own events, so those of others are ended by readers, at this mark. */
static void emit_stopped(void)
{
    const struct annot_event event = {
        .name = annot_name_intern("calls of Python: those that are open end here"),
        .domain =
            annot_domain_observed(TRACE_DOMAIN, ANNOT_OBSERVER_PYTHON_CALLS, ANNOT_CALLS_STOPPED)};
    if (trace_now.options.mode != TRACE_AGGREGATE && trace_threads_have_calls())
        annot_emit_mark_event(&event);
}

/* `goes_on`: calls are traced again at once, and each thread begins anew at its next event. */
static void end(bool goes_on)
{
    const struct trace_hook *hook = trace_now.hook;
    if (hook == NULL)
        return;
    __atomic_store_n(&trace_now.hook, NULL, __ATOMIC_RELAXED); /* before the world is stopped */
    hook->stop();
    if (trace_self != NULL)
        trace_thread_close(trace_self, 0);
    if (!goes_on)
        emit_stopped();
    trace_threads_pause();
    if (trace_self != NULL)
        trace_self->generation = 0;
    emit_left_out();
    trace_now.options.mode = TRACE_OFF;
    trace_now.options.lines = false;
    trace_has_values = trace_now.is_plain = false;
}

/* An embedding program may start another one: drops the data of objects that are freed. */
static bool watches_end;

static void interpreter_ended(void)
{
    watches_end = false;
    trace_now.hook = NULL;
    trace_now.interpreter = NULL;
    trace_now.options.mode = TRACE_OFF;
    trace_has_values = trace_now.is_plain = trace_now.is_requested = false;
    for (int i = 0; i < HOOK_COUNT; i++)
        if (hooks[i]->forget != NULL)
            hooks[i]->forget();
    trace_code_forget();
    greenlets_forget();
    task_forget_all();
    if (trace_self != NULL)
        trace_self->generation = trace_self->count = 0;
}

static int begin(const struct trace_options *options)
{
    const char *refusal = "";
    const struct trace_hook *hook = find_hook(options, &refusal);
    if (hook == NULL) {
        PyErr_SetString(PyExc_RuntimeError, refusal);
        return -1;
    }
    if (trace_code_setup() < 0 || trace_thread_setup() < 0)
        return -1;
    watches_end = watches_end || Py_AtExit(interpreter_ended) == 0;
    measure_clock();
    trace_now.interpreter = PyInterpreterState_Get();
    trace_now.options = *options;
    trace_now.tiny_calls = TRACE_TINY_CALLS;
    trace_has_values = options->arguments || options->results || options->exceptions;
    __atomic_fetch_add(&trace_now.epoch, TRACE_EPOCH, __ATOMIC_RELAXED);
    trace_now.is_special =
        options->max_depth != 0 || options->library == TRACE_LIBRARY_BOX || options->ranges;
    trace_now.is_plain = options->mode == TRACE_EXACT && !options->lines && !trace_has_values &&
                         !trace_now.is_special && !options->callees;
    trace_now.reports_all = options->callees; /* calls with callees may be running */
    trace_code_forget_verdicts();
    if (trace_self != NULL)
        trace_self->generation = 0;
    if (hook->start(options) < 0)
        return -1;
    __atomic_store_n(&trace_now.hook, hook, __ATOMIC_RELAXED); /* partner: trace_is_on */
    return 0;
}

/* Writes notes for readers of a recording: the meaning of its counts and times of calls. */
static void note_tracing(void)
{
    static const char *const words[] = {"", "every one a range",
                                        "ranges until a function is known to be tiny",
                                        "counted where it came from"};
    char least[64] = "";
    static const char lines[] = "; lines of chosen functions counted as well";
    char text[ANNOT_PROCESS_NOTE_MAX];
    const struct trace_options *options = &trace_now.options;
    if (options->mode == TRACE_EXACT && options->least_ns && !options->is_chosen_only)
        (void)snprintf(least, sizeof(least), " if it lasts %.15g us or longer",
                       (double)options->least_ns / 1000);
    if (options->mode == TRACE_OFF)
        (void)snprintf(text, sizeof(text), "lines of Python: %s, by %s", words[TRACE_AGGREGATE],
                       trace_now.hook->name);
    else
        (void)snprintf(text, sizeof(text), "calls of Python%s: %s%s, by %s%s%s",
                       options->callees          ? " that are chosen, with their callees"
                       : options->is_chosen_only ? " that are chosen"
                                                 : "",
                       words[options->mode], least, trace_now.hook->name,
                       options->c_calls ? ", with those of C functions" : "",
                       options->lines ? lines : "");
    annot_process_note(text);
}

/* trace_begin(mode, library, c_calls, max_depth, select, lines, library_folder, own_folder, chosen,
 * values, least_ns): bits of values are 1 arguments, 2 results, 4 exceptions, 8 ranges, 16 callees
 * of those chosen */
static PyObject *trace_begin(PyObject *module, PyObject *args)
{
    struct trace_options options = {.mode = TRACE_OFF};
    const char *select, *lines, *library_folder, *own_folder;
    int mode, library, c_calls, chosen, values;
    unsigned long long least_ns;
    (void)module;
    if (!PyArg_ParseTuple(args, "iipIsssspiK:trace_begin", &mode, &library, &c_calls,
                          &options.max_depth, &select, &lines, &library_folder, &own_folder,
                          &chosen, &values, &least_ns) ||
        refuse_elsewhere() < 0)
        return NULL;
    end(mode != TRACE_OFF);
    options.mode = (enum trace_mode)mode;
    options.library = (enum trace_library)library;
    options.c_calls = c_calls != 0;
    options.is_chosen_only = chosen != 0;
    options.lines = lines[0] != 0;
    options.least_ns = least_ns < ANNOT_CODE_LEAST_MAX ? least_ns : ANNOT_CODE_LEAST_MAX;
    options.arguments = (values & 1) != 0;
    options.results = (values & 2) != 0;
    options.exceptions = (values & 4) != 0;
    options.ranges = (values & 8) != 0 && options.mode == TRACE_AGGREGATE;
    options.callees = (values & 16) != 0 && options.is_chosen_only && options.mode != TRACE_OFF;
    if (trace_select(select, library_folder, own_folder) < 0 || trace_select_lines(lines) < 0 ||
        begin(&options) < 0)
        return NULL;
    trace_tasks_setup(PyModule_GetState(module));
    note_tracing();
    return PyUnicode_FromString(trace_now.hook->name);
}

/* trace_choose(code, least_ns=0, callees=False) */
static PyObject *trace_choose(PyObject *module, PyObject *args)
{
    PyObject *code;
    unsigned int least_ns = 0;
    int callees = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "O|Ip:trace_choose", &code, &least_ns, &callees) ||
        refuse_elsewhere() < 0)
        return NULL;
    if (!PyCode_Check(code) || trace_now.hook == NULL) {
        PyErr_SetString(PyExc_TypeError, "trace_choose() takes a code object, while calls are "
                                         "traced");
        return NULL;
    }
    if (trace_code_choose((PyCodeObject *)code, least_ns, callees != 0) < 0)
        return PyErr_NoMemory();
    if (trace_now.options.is_chosen_only && trace_now.hook->choose != NULL &&
        trace_now.hook->choose((PyCodeObject *)code) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- Known calls ----------------------------------------------------------------------------- */

enum { KNOWN_CALLS = 4 };

/* trace_know(code): makes its calls known ones, see trace_test. */
static PyObject *trace_know(PyObject *module, PyObject *code)
{
    (void)module;
    if (refuse_elsewhere() < 0)
        return NULL;
    if (!PyCode_Check(code) || !trace_is_on()) {
        PyErr_SetString(PyExc_TypeError, "trace_know() takes a code object, while calls are "
                                         "traced");
        return NULL;
    }
    if (trace_code_know((PyCodeObject *)code) < 0)
        return PyErr_NoMemory();
    if (trace_now.options.is_chosen_only && trace_now.hook->choose != NULL &&
        trace_now.hook->choose((PyCodeObject *)code) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static int call_known(PyObject *function)
{
    for (int i = 0; i < KNOWN_CALLS; i++) {
        PyObject *result = PyObject_CallNoArgs(function);
        if (result == NULL)
            return -1;
        Py_DECREF(result);
    }
    return 0;
}

static void emit_known(const char *where, uint32_t reported, uint32_t expected)
{
    char text[ANNOT_PROCESS_NOTE_MAX];
    if (reported != expected)
        (void)snprintf(text, sizeof(text),
                       "calls of Python: this interpreter does not report all of them, so counts "
                       "are too low: in %.60s it reported %u of %u events of known calls",
                       where, reported, expected);
    else if (PYANNOT_FREE_THREADED)
        (void)snprintf(text, sizeof(text),
                       "calls of Python: by a free-threaded interpreter, which reported all events "
                       "of known calls in %.60s",
                       where);
    else
        return;
    annot_process_note(text);
}

/* trace_test(function, where): calls a function given to trace_know. Returns true if all events
 * were reported; None if unknown, as tracing began or ended meanwhile, or does not use
 * sys.monitoring. */
static PyObject *trace_test(PyObject *module, PyObject *args)
{
    PyObject *function;
    const char *where;
    (void)module;
    if (!PyArg_ParseTuple(args, "Os:trace_test", &function, &where))
        return NULL;
    const struct trace_hook *hook = __atomic_load_n(&trace_now.hook, __ATOMIC_RELAXED);
    uint64_t epoch = __atomic_load_n(&trace_now.epoch, __ATOMIC_RELAXED);
    if (hook != &trace_monitoring || is_elsewhere())
        Py_RETURN_NONE;
    uint32_t expected = trace_now.options.mode == TRACE_OFF ? KNOWN_CALLS : 2 * KNOWN_CALLS;
    uint32_t before = trace_self ? trace_self->known : 0;
    if (call_known(function) < 0)
        return NULL;
    uint32_t reported = (trace_self ? trace_self->known : 0) - before;
    if (!trace_is_on() || __atomic_load_n(&trace_now.epoch, __ATOMIC_RELAXED) != epoch)
        Py_RETURN_NONE;
    emit_known(where, reported, expected);
    return PyBool_FromLong(reported == expected);
}

/* For os.register_at_fork. */
static PyObject *trace_forked(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    if (!is_elsewhere())
        trace_thread_forked();
    Py_RETURN_NONE;
}

static PyObject *trace_end(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    if (!is_elsewhere())
        end(false);
    Py_RETURN_NONE;
}

static PyObject *trace_choose_lines(PyObject *module, PyObject *code)
{
    (void)module;
    if (refuse_elsewhere() < 0)
        return NULL;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "trace_choose_lines() takes a code object");
        return NULL;
    }
    if (trace_code_choose_lines((PyCodeObject *)code) < 0)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* For gc.callbacks, while tracing was requested from outside or has callees: there may be no event
 * to show that the recording ended, or that one began. */
static PyObject *trace_check(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    if (trace_now.is_requested && !annot_enabled())
        trace_end_later();
    trace_callees_check();
    Py_RETURN_NONE;
}

/* trace_switched(is_on): switched from outside, while the program ran. */
static PyObject *trace_switched(PyObject *module, PyObject *is_on)
{
    (void)module;
    __atomic_store_n(&trace_now.is_requested, is_on == Py_True, __ATOMIC_RELAXED);
    annot_process_note(
        "calls of Python: switched on or off while the program ran, so their counts "
        "are of a part of the run (marks of the domain \"python calls\" have the times)");
    Py_RETURN_NONE;
}

PyMethodDef trace_functions[] = {
    {"trace_begin", trace_begin, METH_VARARGS, NULL},
    {"trace_choose", trace_choose, METH_VARARGS, NULL},
    {"trace_choose_lines", trace_choose_lines, METH_O, NULL},
    {"trace_end", trace_end, METH_NOARGS, NULL},
    {"trace_forked", trace_forked, METH_NOARGS, NULL},
    {"trace_know", trace_know, METH_O, NULL},
    {"trace_check", trace_check, METH_VARARGS, NULL},
    {"trace_switched", trace_switched, METH_O, NULL},
    {"trace_test", trace_test, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
