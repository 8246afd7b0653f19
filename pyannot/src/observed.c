/* SPDX-License-Identifier: MIT */
/* Functions of the standard library with something recorded before and after: see observed.h. */
#include "observed.h"

#include "annotation.h"
#include "arguments.h"
#include "inherited.h"
#include "state.h"
#include "task_step.h"
#include "task_track.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- Calls hidden from the program ----------------------------------------------------------- */

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

/* ---- Kinds ----------------------------------------------------------------------------------- */

/* Calls after(token, first argument of the call, result, exception). Returns as callback_run. */
static bool emit_after(struct observed *observed, PyObject *token, PyObject *first,
                       PyObject *result)
{
    PyObject *error = NULL;
#if PY_VERSION_HEX >= 0x030C0000
    if (result == NULL) {
        error = PyErr_GetRaisedException();
        if (error != NULL)
            PyErr_SetRaisedException(Py_NewRef(error));
    }
#else
    if (result == NULL) {
        PyObject *kind, *traceback;
        PyErr_Fetch(&kind, &error, &traceback);
        PyErr_NormalizeException(&kind, &error, &traceback);
        Py_XINCREF(error);
        PyErr_Restore(kind, error, traceback);
    }
#endif
    PyObject *args[] = {token, first, result ? result : Py_None, error ? error : Py_None};
    const struct callback_arguments call = {args, 4, NULL};
    PyObject *ignored;
    bool interrupted = callback_run(observed->after, &call, &ignored);
    Py_XDECREF(ignored);
    Py_XDECREF(error);
    return interrupted;
}

/* before(the call's arguments) returns a token, or None: then after(token, the first argument,
 * result, exception) is not called. Without a before it always is. */
static PyObject *observed_always(PyObject *self, PyObject *const *args, size_t flags,
                                 PyObject *names)
{
    struct observed *observed = (struct observed *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    const struct callback_arguments call = {args, count, names};
    PyObject *token = observed->before == NULL ? Py_NewRef(Py_True) : NULL;
    if (token == NULL && callback_run(observed->before, &call, &token))
        return NULL;
    PyObject *first = count > 0 ? args[0] : Py_None;
    Py_INCREF(first);
    PyObject *result = observed_wrapped(observed, args, flags, names);
    bool has_after = observed->after != NULL && token != NULL && token != Py_None;
    if (has_after && emit_after(observed, token, first, result))
        Py_CLEAR(result);
    Py_DECREF(first);
    Py_XDECREF(token);
    return result;
}

/* The same, only during a recording. */
static PyObject *observed_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    return annot_enabled() ? observed_always(self, args, flags, names)
                           : observed_wrapped((struct observed *)self, args, flags, names);
}

/* A function of pyannot's that modules of the program call, as os.register_at_fork does. */
static PyObject *observed_hidden(PyObject *self, PyObject *const *args, size_t flags,
                                 PyObject *names)
{
    const struct callback_arguments call = {args, PyVectorcall_NARGS(flags), names};
    PyObject *ignored;
    if (callback_run(((struct observed *)self)->wrapped, &call, &ignored))
        return NULL;
    Py_XDECREF(ignored);
    Py_RETURN_NONE;
}

/* Takes the first arguments from the tuple, the others from the call. */
static PyObject *call_with(struct observed *observed, const struct callback_arguments *call,
                           PyObject *tuple)
{
    Py_ssize_t names = call->names ? PyTuple_GET_SIZE(call->names) : 0;
    Py_ssize_t replaced = PyTuple_GET_SIZE(tuple), total = call->count + names;
    PyObject **args = PyMem_New(PyObject *, total);
    if (args == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < total; i++)
        args[i] = i < replaced ? PyTuple_GET_ITEM(tuple, i) : call->args[i];
    PyObject *result = observed_wrapped(observed, args, (size_t)call->count, call->names);
    PyMem_Free(args);
    return result;
}

/* before(the call's arguments) returns a tuple that replaces the first ones, or None. */
static PyObject *observed_arguments(PyObject *self, PyObject *const *args, size_t flags,
                                    PyObject *names)
{
    struct observed *observed = (struct observed *)self;
    const struct callback_arguments call = {args, PyVectorcall_NARGS(flags), names};
    PyObject *given = NULL, *result;
    if (callback_run(observed->before, &call, &given))
        return NULL;
    if (given != NULL && PyTuple_Check(given) && PyTuple_GET_SIZE(given) <= call.count)
        result = call_with(observed, &call, given);
    else
        result = observed_wrapped(observed, args, flags, names);
    Py_XDECREF(given);
    return result;
}

/* ---- Collections and imports ----------------------------------------------------------------- */

/* Garbage collections are ranges of the thread that they run on: they are not suspended, so they
 * belong to the thread also inside of a task. Imports may switch to another greenlet
 * (task_track.h). */

static struct annot_event event_of(const char *category_name, uint16_t observer,
                                   annot_category *cached)
{
    annot_domain domain = annot_domain_create("python");
    annot_category category = __atomic_load_n(cached, __ATOMIC_RELAXED);
    if (category == 0) { /* all threads store the same */
        category = annot_category_observed(domain, category_name, observer, 0);
        __atomic_store_n(cached, category, __ATOMIC_RELAXED);
    }
    return (struct annot_event){.domain = domain, .category = category};
}

/* ---- Garbage --------------------------------------------------------------------------------- */

static annot_category gc_category;

static long number_in(PyObject *info, const char *key)
{
    PyObject *value = PyDict_Check(info) ? PyDict_GetItemString(info, key) : NULL;
    long number = value ? PyLong_AsLong(value) : 0;
    PyErr_Clear();
    return number;
}

/* Each generation has its own name: they cost very different times. */
static void collection_begin(PyObject *info)
{
    static annot_name names[4];
    static const char *const texts[] = {"gc generation 0", "gc generation 1", "gc generation 2",
                                        "gc"};
    long generation = number_in(info, "generation");
    long index = generation >= 0 && generation < 3 ? generation : 3;
    struct annot_event event = event_of("gc", ANNOT_OBSERVER_GC, &gc_category);
    event.name = annot_site_name(&names[index], texts[index]);
    event.text = texts[index];
    annot_push_event(&event);
}

static void collection_end(PyObject *info)
{
    const struct annot_value values[] = {
        annot_value_int64("collected", number_in(info, "collected")),
        annot_value_int64("uncollectable", number_in(info, "uncollectable")),
    };
    annot_pop_values(values, sizeof(values) / sizeof(values[0]));
}

PyObject *observe_collected(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    /* Per thread, because a collection starts and ends on the same one. */
    static _Thread_local bool begun __attribute__((tls_model("initial-exec")));
    (void)module;
    if (count != 2 || !PyUnicode_Check(args[0]))
        Py_RETURN_NONE;
    bool on = annot_enabled();
    if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
        begun = on;
        if (on)
            collection_begin(args[1]);
    } else if (begun) {
        begun = false;
        if (on)
            collection_end(args[1]);
    }
    Py_RETURN_NONE;
}

/* ---- Imports --------------------------------------------------------------------------------- */

PyObject *imports_watch(PyObject *module, PyObject *on)
{
    struct state *state = PyModule_GetState(module);
    state->watches_imports = on == Py_True;
    Py_RETURN_NONE;
}

static void import_begin(struct state *state, struct context_range *range, PyObject *module)
{
    static annot_category category;
    char name[512];
    PyObject *owner = NULL;
    const char *text = text_of(module, &owner);
    struct annot_event event = event_of("import", ANNOT_OBSERVER_IMPORT, &category);
    snprintf(name, sizeof(name), ANNOT_IMPORT_PREFIX "%s", text ? text : "?");
    PyErr_Clear();
    Py_XDECREF(owner);
    event.text = name;
    context_range_begin(state, range, &event);
}

/* Calls after(name, module) if the dictionary `before` has the name. Returns true if an exception
 * is set now that must reach the program. */
static bool import_followed(const struct observed *observed, PyObject *name, PyObject *module)
{
    if (PyDict_GET_SIZE(observed->before) == 0 || !PyUnicode_CheckExact(name) ||
        PyDict_GetItemWithError(observed->before, name) == NULL)
        return false;
    PyObject *args[] = {name, module}, *ignored;
    const struct callback_arguments call = {args, 2, NULL};
    bool interrupted = callback_run(observed->after, &call, &ignored);
    Py_XDECREF(ignored);
    return interrupted;
}

/* importlib._bootstrap._find_and_load(name, import_), which the interpreter calls for each module
 * that is not loaded. Finders, loaders and sys.modules are unchanged. */
static PyObject *observed_import(PyObject *self, PyObject *const *args, size_t flags,
                                 PyObject *names)
{
    const struct observed *observed = (struct observed *)self;
    struct state *state = state_of_type(Py_TYPE(self));
    struct context_range range = {.is_open = false};
    bool has_name = PyVectorcall_NARGS(flags) > 0 && PyUnicode_Check(args[0]);
    bool on = has_name && state != NULL && state->watches_imports && annot_enabled();
    if (on)
        import_begin(state, &range, args[0]);
    PyObject *result = observed_wrapped(observed, args, flags, names);
    context_range_end(&range, result ? NULL : PyErr_Occurred());
    if (result != NULL && has_name && import_followed(observed, args[0], result))
        Py_CLEAR(result);
    return result;
}

/* ---- The type -------------------------------------------------------------------------------- */

static vectorcallfunc call_of_kind(const char *kind)
{
    static const struct {
        const char *kind;
        vectorcallfunc call;
    } kinds[] = {{"always", observed_always}, {"arguments", observed_arguments},
                 {"call", observed_call},     {"create", observed_create},
                 {"hidden", observed_hidden}, {"import", observed_import},
                 {"step", observed_step}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kind, kinds[i].kind) == 0)
            return kinds[i].call;
    }
    return NULL;
}

/* Copies the names that the type has as well, which a look at the object would find otherwise. */
static int copy_names(struct observed *observed)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__"};
    observed->dict = PyDict_New();
    for (size_t i = 0; observed->dict != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        PyObject *value = PyObject_GetAttrString(observed->wrapped, names[i]);
        int result = value ? PyDict_SetItemString(observed->dict, names[i], value) : 0;
        Py_XDECREF(value);
        PyErr_Clear();
        if (result < 0)
            return -1;
    }
    return observed->dict != NULL ? 0 : -1;
}

/* True for methods, which have a dot in their qualified name. */
static bool is_method(PyObject *names)
{
    PyObject *name = PyDict_GetItemString(names, "__qualname__");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    return text && strchr(text, '.');
}

static PyObject *observed_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *kind;
    PyObject *wrapped, *before = Py_None, *after = Py_None;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "sO|OO:observed", &kind, &wrapped, &before, &after))
        return NULL;
    vectorcallfunc call = call_of_kind(kind);
    if (call == NULL || !PyCallable_Check(wrapped) ||
        (call == observed_arguments && !PyCallable_Check(before)) ||
        (call == observed_import && !(PyDict_Check(before) && PyCallable_Check(after)))) {
        PyErr_SetString(PyExc_TypeError,
                        "observed() takes a kind, a function, and functions to call");
        return NULL;
    }
    struct observed *observed = (struct observed *)type->tp_alloc(type, 0);
    if (observed == NULL)
        return NULL;
    observed->vectorcall = call;
    observed->wrapped = Py_NewRef(wrapped);
    observed->before = before != Py_None ? Py_NewRef(before) : NULL;
    observed->after = after != Py_None ? Py_NewRef(after) : NULL;
    if (copy_names(observed) < 0) {
        Py_DECREF(observed);
        return PyErr_NoMemory();
    }
    observed->binds = !PyFunction_Check(wrapped) && Py_TYPE(wrapped)->tp_descr_get != NULL &&
                      is_method(observed->dict);
    return (PyObject *)observed;
}

static int observed_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct observed *observed = (struct observed *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(observed->wrapped);
    Py_VISIT(observed->before);
    Py_VISIT(observed->after);
    Py_VISIT(observed->dict);
    return 0;
}

static int observed_clear(PyObject *self)
{
    struct observed *observed = (struct observed *)self;
    Py_CLEAR(observed->dict);
    return 0;
}

static void observed_dealloc(PyObject *self)
{
    struct observed *observed = (struct observed *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (observed->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(observed->wrapped);
    Py_XDECREF(observed->before);
    Py_XDECREF(observed->after);
    Py_XDECREF(observed->dict);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *observed_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || object == Py_None)
        return Py_NewRef(self);
    return PyMethod_New(self, object);
}

static PyObject *observed_repr(PyObject *self)
{
    return PyObject_Repr(((struct observed *)self)->wrapped);
}

/* For isinstance(it, types.FunctionType), which inspect checks before it looks for a file. */
static PyObject *observed_class(PyObject *self, void *ignored)
{
    (void)ignored;
    return Py_NewRef(Py_TYPE(((struct observed *)self)->wrapped));
}

static PyObject *observed_reduce(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return PyObject_GetAttrString(self, "__qualname__");
}

/* Forwards __code__, __defaults__ and all other attributes of the function. */
static PyObject *observed_getattro(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear();
    return PyObject_GetAttr(((struct observed *)self)->wrapped, name);
}

static PyMethodDef methods[] = {
    {"__reduce__", observed_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(struct observed, wrapped), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct observed, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct observed, weak_references), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct observed, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"__class__", observed_class, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, observed_new},
    {Py_tp_traverse, observed_traverse},
    {Py_tp_clear, observed_clear},
    {Py_tp_dealloc, observed_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, observed_get},
    {Py_tp_getattro, observed_getattro},
    {Py_tp_repr, observed_repr},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.observed",
    .basicsize = sizeof(struct observed),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = slots,
};

PyTypeObject *observed_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Hides the files of pyannot from the program's audit hooks. */
PyObject *observe_open(PyObject *module, PyObject *args)
{
    PyObject *path;
    int flags;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&i:open_file", PyUnicode_FSConverter, &path, &flags))
        return NULL;
    int fd = open(PyBytes_AS_STRING(path), flags | O_CLOEXEC, 0644);
    Py_DECREF(path);
    return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}
