/* SPDX-License-Identifier: MIT */
/* Reports calls by sys.monitoring: CPython 3.12 and later.
 *
 * The callbacks are objects that are called by vectorcall; a function of a module would cost two
 * nanoseconds more. They return Py_None, or DISABLE: then the interpreter does not report that
 * place of that code object again until restart_events. Exceptions that leave a frame, and those
 * that are thrown into one, cannot be disabled: DISABLE there would be an error. */
#include "tracing.h"
#include "tracing_code.h"
#include "tracing_kept.h"
#include "tracing_lines.h"
#include "tracing_plain.h"
#include "tracing_thread.h"
#include "tracing_values.h"

#if PY_VERSION_HEX >= 0x030C0000

#include <string.h>

struct callback {
    PyObject_HEAD vectorcallfunc vectorcall;
};

enum { FIRST_ID = 3, LAST_ID = 4 }; /* 0 debuggers, 1 coverage, 2 profilers, 5 the optimizer */

enum { CODE_UNIT = 2 }; /* bytes */

static PyObject *disable; /* sys.monitoring.DISABLE, while there is an interpreter */
static PyObject *callback_type;
static int tool_id = -1;

/* New reference. */
static PyObject *monitoring(void)
{
    PyObject *found = PySys_GetObject("monitoring");
    if (found == NULL)
        PyErr_SetString(PyExc_RuntimeError, "there is no sys.monitoring");
    return Py_XNewRef(found);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool with_lines;
static int line_events; /* of code with counted lines */
static int call_events; /* of code with traced calls, if not all are */
static int all_events;  /* of all code, while chosen calls have callees */
static int base_events; /* of all code otherwise */

/* Sets the events of one code object; ignores that the interpreter has no memory for them. */
static void set_local(PyObject *module, PyObject *code, int events)
{
    PyObject *result =
        PyObject_CallMethod(module, "set_local_events", "iOi", tool_id, code, events);
    if (result == NULL)
        PyErr_Clear();
    Py_XDECREF(result);
}

/* Without the GIL, each thread that arrives before has_lines is set waits for it: no line of its
 * frame may begin unreported. */
static void request_lines(PyCodeObject *code, struct trace_code *lined)
{
    if (__builtin_expect(__atomic_load_n(&lined->has_lines, __ATOMIC_ACQUIRE), 1))
        return;
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyObject *module = monitoring();
    if (module != NULL) {
        trace_code_watch(code, lined);
        set_local(module, (PyObject *)code,
                  lined->is_chosen ? line_events | call_events : line_events);
        __atomic_store_n(&lined->has_lines, true, __ATOMIC_RELEASE); /* partner: above */
    }
    Py_XDECREF(module);
    PyErr_Clear();
    PyErr_Restore(kind, value, traceback);
}

static void clear_local(PyObject *module)
{
    PyObject *codes = trace_code_unwatch();
    for (Py_ssize_t i = 0; codes != NULL && i < PyList_GET_SIZE(codes); i++)
        set_local(module, PyList_GET_ITEM(codes, i), 0);
    Py_XDECREF(codes);
    PyErr_Clear();
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* Py_None is immortal from 3.12 on. */
static inline PyObject *answer(bool goes_on)
{
    return __builtin_expect(goes_on, 1) ? Py_None : Py_NewRef(disable);
}

/* Defines a callback; its body follows, runs while the thread is in an event, and returns the
 * answer. */
#define CALLBACK(name)                                                                             \
    static inline PyObject *name##_event(PyObject *const *args);                                   \
    static PyObject *name(PyObject *self, PyObject *const *args, size_t count, PyObject *names)    \
    {                                                                                              \
        (void)self, (void)count, (void)names;                                                      \
        if (!trace_thread_begins())                                                                \
            return Py_None;                                                                        \
        PyObject *answer = name##_event(args);                                                     \
        trace_thread_ends();                                                                       \
        return answer;                                                                             \
    }                                                                                              \
    static inline PyObject *name##_event(PyObject *const *args)

CALLBACK(on_start)
{
    PyCodeObject *code = (PyCodeObject *)args[0];
    if (__builtin_expect(trace_plain_enter(code, false), 1))
        return Py_None;
    struct trace_code *lined = with_lines ? trace_lined(code) : NULL;
    /* trace_enter first: it needs to know that the frame starts. */
    bool goes_on = trace_enter(code, false) || lined != NULL;
    if (lined != NULL) {
        request_lines(code, lined);
        trace_line_begun(lined);
    }
    return answer(goes_on);
}

/* A suspended frame resumes; or, if not `has_begun`, ends before its first line. */
static bool resume(PyObject *const *args, bool has_begun)
{
    PyCodeObject *code = (PyCodeObject *)args[0];
    struct trace_code *lined = with_lines ? trace_lined(code) : NULL;
    bool goes_on = trace_enter(code, has_begun) || lined != NULL;
    if (lined != NULL) {
        int line = PyCode_Addr2Line(code, (int)PyLong_AsLong(args[1]));
        request_lines(code, lined);
        trace_line_resumed(lined, line > 0 ? (uint32_t)line : 0);
    }
    return goes_on;
}

static bool leave(PyObject *const *args)
{
    struct trace_code *lined = with_lines ? trace_lined((PyCodeObject *)args[0]) : NULL;
    if (lined != NULL)
        trace_line_left();
    return trace_leave((PyCodeObject *)args[0]) || lined != NULL;
}

CALLBACK(on_resume)
{
    if (__builtin_expect(trace_plain_enter((PyCodeObject *)args[0], true), 1))
        return Py_None;
    return answer(resume(args, true));
}

/* Also into a generator that never ran. */
CALLBACK(on_throw)
{
    long first = CODE_UNIT * (long)((PyCodeObject *)args[0])->_co_firsttraceable;
    (void)resume(args, PyLong_AsLong(args[1]) >= first);
    return Py_None;
}

/* code, offset, result */
CALLBACK(on_leave)
{
    if (__builtin_expect(trace_plain_leave((PyCodeObject *)args[0]), 1))
        return Py_None;
    if (__builtin_expect(trace_has_values, 0))
        trace_see_result(args[2]);
    return answer(leave(args));
}

CALLBACK(on_suspend)
{
    PyCodeObject *code = (PyCodeObject *)args[0];
    if (__builtin_expect(trace_plain_leave(code), 1))
        return Py_None;
    struct trace_code *lined = with_lines ? trace_lined(code) : NULL;
    if (__builtin_expect(trace_has_values, 0))
        trace_see_result(args[2]);
    if (lined != NULL)
        trace_line_left();
    return answer(trace_suspend(code) || lined != NULL);
}

/* code, offset, exception */
CALLBACK(on_unwind)
{
    if (__builtin_expect(trace_has_values, 0))
        trace_see_exception(args[2]);
    (void)leave(args);
    return Py_None;
}

/* The same, in each frame that it reaches. */
CALLBACK(on_raise)
{
    trace_raised((PyCodeObject *)args[0], args[2]);
    return Py_None;
}

/* code, line */
CALLBACK(on_line)
{
    const struct trace_code *lined = trace_code_of((PyCodeObject *)args[0]);
    if (__builtin_expect(lined != NULL && !lined->is_lined, 0))
        lined = NULL;
    if (lined != NULL)
        trace_line(lined, (uint32_t)PyUnstable_Long_CompactValue((PyLongObject *)args[1]));
    return answer(lined != NULL);
}

/* code, offset, callable, its first argument */
CALLBACK(on_call)
{
    PyObject *callable = args[2];
    if (!PyFunction_Check(callable) && !PyMethod_Check(callable))
        trace_c_enter(callable);
    return Py_None;
}

CALLBACK(on_c_return)
{
    trace_c_leave(args[2]);
    return Py_None;
}

/* Code in which an event is wanted.
 * OF_ALL, OF_RAISE: all code. OF_C: all code; with options.callees, while chosen calls have
 * callees. OF_START: all code if all calls are traced or lines counted, else chosen code. OF_CALLS:
 * all code if all calls are traced, else chosen code and code with counted lines. OF_LINES: the
 * latter. */
enum { OF_ALL, OF_START, OF_CALLS, OF_LINES, OF_C, OF_RAISE };

static const struct {
    const char *event;
    vectorcallfunc call;
    int where;
} callbacks[] = {
    {"PY_START", on_start, OF_START},  {"PY_THROW", on_throw, OF_ALL},
    {"PY_UNWIND", on_unwind, OF_ALL},  {"PY_RESUME", on_resume, OF_CALLS},
    {"PY_RETURN", on_leave, OF_CALLS}, {"PY_YIELD", on_suspend, OF_CALLS},
    {"LINE", on_line, OF_LINES},       {"CALL", on_call, OF_C},
    {"C_RETURN", on_c_return, OF_C},   {"C_RAISE", on_c_return, OF_C},
    {"RAISE", on_raise, OF_RAISE},
};

enum { CALLBACK_COUNT = sizeof(callbacks) / sizeof(callbacks[0]) };

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_members, members},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, callback_dealloc},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.trace_callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* New reference. */
static PyObject *make_callback(vectorcallfunc call)
{
    if (callback_type == NULL)
        callback_type = PyType_FromSpec(&spec);
    if (callback_type == NULL)
        return NULL;
    struct callback *made = PyObject_New(struct callback, (PyTypeObject *)callback_type);
    if (made != NULL)
        made->vectorcall = call;
    return (PyObject *)made;
}

/* Never freed, and never removed from the tool id. Before 3.14 a removal raises an audit event,
 * which the program can see; without an event that the tool enables, a callback is not called. */
static PyObject *made[CALLBACK_COUNT];

/* Borrowed, or NULL with an exception. */
static PyObject *callback_of(int index)
{
    if (made[index] == NULL)
        made[index] = make_callback(callbacks[index].call);
    return made[index];
}

/* ---- Starting and stopping ------------------------------------------------------------------- */

static int event_of(PyObject *module, const char *name)
{
    PyObject *events = PyObject_GetAttrString(module, "events");
    PyObject *number = events ? PyObject_GetAttrString(events, name) : NULL;
    int event = number ? (int)PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    Py_XDECREF(events);
    return event;
}

static int call_quietly(PyObject *result)
{
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* 1 taken, 0 in use by another tool, -1 with an exception. */
static int take_id(PyObject *module, int id)
{
    PyObject *owner = PyObject_CallMethod(module, "get_tool", "i", id);
    if (owner == NULL)
        return -1;
    Py_DECREF(owner);
    if (owner != Py_None)
        return 0;
    if (call_quietly(PyObject_CallMethod(module, "use_tool_id", "is", id, "annot")) < 0)
        return -1;
    tool_id = id;
    return 1;
}

static bool is_wanted(int where, const struct trace_options *options)
{
    return where == OF_C       ? options->c_calls
           : where == OF_LINES ? options->lines
           : where == OF_RAISE ? options->exceptions
                               : true;
}

/* 0, or -1 with an exception. */
static int register_one(PyObject *module, int event, PyObject *callback)
{
    if (event < 0 || callback == NULL)
        return -1;
    return call_quietly(
        PyObject_CallMethod(module, "register_callback", "iiO", tool_id, event, callback));
}

/* Registers the callbacks above. 0, or -1 with an exception. */
static int register_all(PyObject *module, const struct trace_options *options)
{
    bool calls = options->mode != TRACE_OFF && !options->is_chosen_only;
    int set = 0;
    line_events = call_events = all_events = 0;
    for (int i = 0; i < CALLBACK_COUNT; i++) {
        int where = callbacks[i].where;
        if (!is_wanted(where, options))
            continue;
        int event = event_of(module, callbacks[i].event);
        if (register_one(module, event, callback_of(i)) < 0)
            return -1;
        if (where == OF_START || where == OF_CALLS)
            call_events |= event;
        if (where == OF_LINES || (where == OF_CALLS && !calls))
            line_events |= event;
        else if (where == OF_C && options->callees)
            all_events |= event;
        else if (where != OF_START || calls || with_lines)
            set |= event;
    }
    base_events = set;
    all_events |= set | (options->callees ? call_events : 0);
    return 0;
}

static void clear_all(PyObject *module)
{
    if (tool_id < 0)
        return;
    if (call_quietly(PyObject_CallMethod(module, "set_events", "ii", tool_id, 0)) < 0)
        PyErr_Clear();
    trace_threads_settle(); /* a thread that requests lines of more code is in an event */
    clear_local(module);
    if (call_quietly(PyObject_CallMethod(module, "free_tool_id", "i", tool_id)) < 0)
        PyErr_Clear();
    tool_id = -1;
}

static int begin(PyObject *module, const struct trace_options *options)
{
    int is_taken = 0;
    if (disable == NULL)
        disable = PyObject_GetAttrString(module, "DISABLE");
    for (int id = FIRST_ID; disable != NULL && id <= LAST_ID && is_taken == 0; id++)
        is_taken = take_id(module, id);
    if (is_taken == 0 && disable != NULL)
        PyErr_SetString(PyExc_RuntimeError, "tool ids 3 and 4 of sys.monitoring are in use");
    if (is_taken <= 0)
        return -1;
    with_lines = options->lines;
    if (register_all(module, options) == 0 &&
        call_quietly(PyObject_CallMethod(module, "restart_events", NULL)) == 0 &&
        call_quietly(PyObject_CallMethod(module, "set_events", "ii", tool_id, all_events)) == 0)
        return 0;
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    clear_all(module);
    PyErr_Restore(kind, value, traceback);
    return -1;
}

static int start(const struct trace_options *options)
{
    PyObject *module = monitoring();
    int result = module ? begin(module, options) : -1;
    Py_XDECREF(module);
    return result;
}

static int choose(PyCodeObject *code)
{
    struct trace_code *kept = trace_code_of(code);
    PyObject *module = kept ? monitoring() : NULL;
    if (module == NULL)
        return kept ? -1 : 0;
    trace_code_watch(code, kept);
    int set = kept->has_lines ? line_events | call_events : call_events;
    int result =
        call_quietly(PyObject_CallMethod(module, "set_local_events", "iOi", tool_id, code, set));
    Py_DECREF(module);
    return result;
}

/* Runs in the middle of an event, or of a garbage collection. */
static void report_all(bool all)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyObject *module = monitoring();
    PyObject *result = module ? PyObject_CallMethod(module, "set_events", "ii", tool_id,
                                                    all ? all_events : base_events)
                              : NULL;
    Py_XDECREF(result);
    Py_XDECREF(module);
    PyErr_Clear();
    PyErr_Restore(kind, value, traceback);
}

static void stop(void)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyObject *module = monitoring();
    if (module != NULL)
        clear_all(module);
    Py_XDECREF(module);
    PyErr_Clear();
    PyErr_Restore(kind, value, traceback);
}

static void forget(void)
{
    disable = callback_type = NULL;
    memset(made, 0, sizeof(made));
    tool_id = -1;
}

static const char *refused(const struct trace_options *options)
{
    (void)options;
    return NULL;
}

#else

static const char *refused(const struct trace_options *options)
{
    (void)options;
    return "sys.monitoring came with CPython 3.12";
}

static int start(const struct trace_options *options)
{
    (void)options;
    PyErr_SetString(PyExc_RuntimeError, refused(options));
    return -1;
}

static int choose(PyCodeObject *code)
{
    (void)code;
    return 0;
}

static void report_all(bool all)
{
    (void)all;
}

static void stop(void)
{
}

static void forget(void)
{
}

#endif

const struct trace_hook trace_monitoring = {.name = "sys.monitoring",
                                            .refused = refused,
                                            .start = start,
                                            .choose = choose,
                                            .report_all = report_all,
                                            .stop = stop,
                                            .forget = forget};
