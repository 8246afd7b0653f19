/* SPDX-License-Identifier: MIT */
/* Calls as sys.monitoring tells them: CPython 3.12 and later.
 *
 * Objects that are called by vectorcall stand behind the events; a function of a module would cost
 * two nanoseconds more. They return None, or DISABLE: then the interpreter does not tell of that
 * place of that code object any more, until restart_events. Exceptions that leave a frame, and
 * those that are thrown into one, cannot be disabled: DISABLE there would be an error. */
#include "tracing.h"

#if PY_VERSION_HEX >= 0x030C0000

struct callback {
    PyObject_HEAD vectorcallfunc vectorcall;
};

enum { FIRST_ID = 3, LAST_ID = 4 }; /* 0 debuggers, 1 coverage, 2 profilers, 5 the optimizer */

static PyObject *disable; /* sys.monitoring.DISABLE, for ever */
static PyObject *callback_type;
static int tool_id = -1;

/* ---- What events call ------------------------------------------------------------------------ */

static inline PyObject *answer(bool goes_on)
{
    return Py_NewRef(__builtin_expect(goes_on, 1) ? Py_None : disable);
}

#define CALLBACK(name)                                                                             \
    static PyObject *name(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
#define UNUSED_OF_CALLBACK ((void)self, (void)count, (void)names)

CALLBACK(on_start)
{
    UNUSED_OF_CALLBACK;
    return answer(trace_enter((PyCodeObject *)args[0], false));
}

CALLBACK(on_resume)
{
    UNUSED_OF_CALLBACK;
    return answer(trace_enter((PyCodeObject *)args[0], true));
}

CALLBACK(on_throw)
{
    UNUSED_OF_CALLBACK;
    (void)trace_enter((PyCodeObject *)args[0], true);
    return Py_NewRef(Py_None);
}

CALLBACK(on_leave)
{
    UNUSED_OF_CALLBACK;
    return answer(trace_leave((PyCodeObject *)args[0]));
}

CALLBACK(on_unwind)
{
    UNUSED_OF_CALLBACK;
    (void)trace_leave((PyCodeObject *)args[0]);
    return Py_NewRef(Py_None);
}

/* code, offset, callable, its first argument */
CALLBACK(on_call)
{
    UNUSED_OF_CALLBACK;
    PyObject *callable = args[2];
    if (!PyFunction_Check(callable) && !PyMethod_Check(callable))
        trace_c_enter(callable);
    return Py_NewRef(Py_None);
}

CALLBACK(on_c_return)
{
    UNUSED_OF_CALLBACK;
    trace_c_leave(args[2]);
    return Py_NewRef(Py_None);
}

static const struct {
    const char *event;
    vectorcallfunc call;
    bool is_of_c;
} callbacks[] = {
    {"PY_START", on_start, false},  {"PY_RESUME", on_resume, false},
    {"PY_THROW", on_throw, false},  {"PY_RETURN", on_leave, false},
    {"PY_YIELD", on_leave, false},  {"PY_UNWIND", on_unwind, false},
    {"CALL", on_call, true},        {"C_RETURN", on_c_return, true},
    {"C_RAISE", on_c_return, true},
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

/* ---- Starting and stopping ------------------------------------------------------------------- */

/* New reference. */
static PyObject *monitoring(void)
{
    PyObject *found = PySys_GetObject("monitoring");
    if (found == NULL)
        PyErr_SetString(PyExc_RuntimeError, "there is no sys.monitoring");
    return Py_XNewRef(found);
}

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

/* 1 taken, 0 it is somebody else's, -1 with an exception. */
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

static int register_all(PyObject *module, bool c_calls, bool any)
{
    int set = 0;
    for (int i = 0; i < CALLBACK_COUNT; i++) {
        if (callbacks[i].is_of_c && any && !c_calls)
            continue;
        int event = event_of(module, callbacks[i].event);
        PyObject *callback = any ? make_callback(callbacks[i].call) : Py_NewRef(Py_None);
        if (event < 0 || callback == NULL) {
            Py_XDECREF(callback);
            return -1;
        }
        int result = call_quietly(
            PyObject_CallMethod(module, "register_callback", "iiO", tool_id, event, callback));
        Py_DECREF(callback);
        if (result < 0)
            return -1;
        set |= event;
    }
    return set;
}

static void clear_all(PyObject *module)
{
    if (tool_id < 0)
        return;
    if (call_quietly(PyObject_CallMethod(module, "set_events", "ii", tool_id, 0)) < 0 ||
        register_all(module, true, false) < 0 ||
        call_quietly(PyObject_CallMethod(module, "free_tool_id", "i", tool_id)) < 0)
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
        PyErr_SetString(PyExc_RuntimeError, "both tool ids of sys.monitoring that are for others "
                                            "than debuggers, coverage and profilers are in use");
    if (is_taken <= 0)
        return -1;
    int set = register_all(module, options->c_calls, true);
    if (options->is_chosen_only && set >= 0) /* these cannot be asked for one code object */
        set = event_of(module, "PY_UNWIND") | event_of(module, "PY_THROW");
    if (set >= 0 && call_quietly(PyObject_CallMethod(module, "restart_events", NULL)) == 0 &&
        call_quietly(PyObject_CallMethod(module, "set_events", "ii", tool_id, set)) == 0)
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
    static const char *const events[] = {"PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD"};
    PyObject *module = monitoring();
    int set = 0, result = module ? 0 : -1;
    for (int i = 0; result == 0 && i < 4; i++) {
        int event = event_of(module, events[i]);
        result = event < 0 ? -1 : 0;
        set |= event;
    }
    if (result == 0)
        result = call_quietly(
            PyObject_CallMethod(module, "set_local_events", "iOi", tool_id, code, set));
    Py_XDECREF(module);
    return result;
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

static void stop(void)
{
}

#endif

const struct trace_hook trace_monitoring = {
    .name = "sys.monitoring", .refused = refused, .start = start, .choose = choose, .stop = stop};
