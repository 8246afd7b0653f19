/* SPDX-License-Identifier: MIT */
/* Functions of the standard library with something recorded before and after: see observed.h. */
#include "observed.h"

#include "annotation.h"
#include "arguments.h"
#include "inherited.h"
#include "state.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct observed_call {
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *names;
};

/* Whether what is raised may come of the callback itself, from arguments that it did not expect.
 * All else a signal handler of the program's has raised while the callback ran. */
static bool is_of_callback(void)
{
    return PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
           PyErr_ExceptionMatches(PyExc_LookupError) ||
           PyErr_ExceptionMatches(PyExc_AttributeError) ||
           PyErr_ExceptionMatches(PyExc_RuntimeError) || PyErr_ExceptionMatches(PyExc_MemoryError);
}

/* What a callback raises is nobody's business: neither the program's nor the function's. Whether
 * something is set now that must reach the program; *ret_result may be NULL. */
static bool call_quietly(PyObject *function, const struct observed_call *call,
                         PyObject **ret_result)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    *ret_result = PyObject_Vectorcall(function, call->args, (size_t)call->count, call->names);
    if (*ret_result == NULL && !is_of_callback()) {
        Py_XDECREF(kind);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return true;
    }
    PyErr_Restore(kind, value, traceback);
    return false;
}

/* after(token, first argument of the call, result, exception). As call_quietly. */
static bool tell_after(struct observed *observed, PyObject *token, PyObject *first,
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
    const struct observed_call call = {args, 4, NULL};
    PyObject *ignored;
    bool interrupted = call_quietly(observed->after, &call, &ignored);
    Py_XDECREF(ignored);
    Py_XDECREF(error);
    return interrupted;
}

/* before(the call's arguments) gives a token, or None: then there is no after(token, the first
 * argument, result, exception). */
static PyObject *observed_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    struct observed *observed = (struct observed *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (!annot_enabled())
        return PyObject_Vectorcall(observed->wrapped, args, flags, names);
    const struct observed_call call = {args, count, names};
    PyObject *token;
    if (call_quietly(observed->before, &call, &token))
        return NULL;
    PyObject *first = count > 0 ? args[0] : Py_None;
    Py_INCREF(first);
    PyObject *result = PyObject_Vectorcall(observed->wrapped, args, flags, names);
    if (token != NULL && token != Py_None && tell_after(observed, token, first, result))
        Py_CLEAR(result);
    Py_DECREF(first);
    Py_XDECREF(token);
    return result;
}

/* Another function does it all, the one that is wrapped included. */
static PyObject *observed_instead(PyObject *self, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    return PyObject_Vectorcall(((struct observed *)self)->before, args, flags, names);
}

/* ---- The type -------------------------------------------------------------------------------- */

static vectorcallfunc call_of_kind(const char *kind)
{
    static const struct {
        const char *kind;
        vectorcallfunc call;
    } kinds[] = {{"call", observed_call},     {"create", observed_create},
                 {"import", observed_import}, {"instead", observed_instead},
                 {"start", observed_start},   {"step", observed_step}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kind, kinds[i].kind) == 0)
            return kinds[i].call;
    }
    return NULL;
}

/* What the type itself has as well, so that a look at the object would find that. */
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

static PyObject *observed_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *kind;
    PyObject *wrapped, *before = Py_None, *after = Py_None;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "sO|OO:observed", &kind, &wrapped, &before, &after))
        return NULL;
    vectorcallfunc call = call_of_kind(kind);
    bool has_before = call == observed_call || call == observed_instead;
    bool has_after = call == observed_call;
    if (call == NULL || !PyCallable_Check(wrapped) || (has_before && !PyCallable_Check(before)) ||
        (has_after && !PyCallable_Check(after))) {
        PyErr_SetString(PyExc_TypeError, "observed() takes a kind and a function, \"instead\" one "
                                         "more, \"call\" two more");
        return NULL;
    }
    struct observed *observed = (struct observed *)type->tp_alloc(type, 0);
    if (observed == NULL)
        return NULL;
    observed->vectorcall = call;
    observed->wrapped = Py_NewRef(wrapped);
    observed->before = has_before ? Py_NewRef(before) : NULL;
    observed->after = has_after ? Py_NewRef(after) : NULL;
    if (copy_names(observed) < 0) {
        Py_DECREF(observed);
        return PyErr_NoMemory();
    }
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

/* isinstance(it, types.FunctionType), as inspect asks before it looks for a file. */
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

/* __code__, __defaults__ and whatever else the function has. */
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

/* ---- Collections and imports ----------------------------------------------------------------- */

/* Collections of garbage and imports, as ranges of the thread that they happen on: nothing of them
 * can be suspended, so also inside of a task they belong to the thread. */

static struct annot_event event_of(const char *category_name, uint16_t observer,
                                   annot_category *cached)
{
    annot_domain domain = annot_domain_create("python");
    annot_category category = __atomic_load_n(cached, __ATOMIC_RELAXED);
    if (category == 0) { /* the same whoever stores it */
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

/* Of each generation a name of its own: they cost very different times. */
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
    /* The thread's, because a collection runs from its begin to its end on one. */
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

/* importlib._bootstrap._find_and_load(name, import_), which the interpreter calls for each module
 * that it has not. */
PyObject *observed_import(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    static annot_category category;
    struct observed *observed = (struct observed *)self;
    char name[512];
    bool on = annot_enabled() && PyVectorcall_NARGS(flags) > 0 && PyUnicode_Check(args[0]);
    if (on) {
        PyObject *owner = NULL;
        const char *text = text_of(args[0], &owner);
        struct annot_event event = event_of("import", ANNOT_OBSERVER_IMPORT, &category);
        snprintf(name, sizeof(name), ANNOT_IMPORT_PREFIX "%s", text ? text : "?");
        PyErr_Clear();
        Py_XDECREF(owner);
        event.text = name;
        annot_push_event(&event);
    }
    PyObject *result = PyObject_Vectorcall(observed->wrapped, args, flags, names);
    if (on)
        exception_pop(result ? NULL : PyErr_Occurred());
    return result;
}

/* ---- Starts of processes --------------------------------------------------------------------- */

/* Arrows from whoever starts a process to its first event. That of a fork is known to the thread on
 * both sides of it. That of another program both sides work out: from the number of the child, and
 * from when it began, because numbers come again. Threads: any. */

enum { FIELDS_BEFORE_START = 20 }; /* of a stat line, behind the name */

/* When a process began, in ticks since boot; 0: not known. */
static uint64_t start_ticks(const char *path)
{
    char line[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return 0;
    line[size] = 0;
    const char *at = strrchr(line, ')'); /* the name may hold spaces and parentheses */
    for (int field = 0; at != NULL && field < FIELDS_BEFORE_START; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static annot_flow flow_of(long pid, const char *path)
{
    uint64_t number = (uint64_t)pid << 40 ^ start_ticks(path);
    return annot_flow_id("start", number & INT64_MAX);
}

/* Of the fork that the thread is about to make; and how many of its forks had an arrow. */
static _Thread_local annot_flow fork_flow __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t forks __attribute__((tls_model("initial-exec")));

/* os.posix_spawn and its like return the number of the process. If they told of a fork
 * (preexec_fn), that arrow leads there already. */
PyObject *observed_start(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    uint32_t before = forks;
    PyObject *result = PyObject_Vectorcall(((struct observed *)self)->wrapped, args, flags, names);
    char path[40];
    if (result == NULL || !PyLong_CheckExact(result) || forks != before || !annot_enabled())
        return result;
    int overflow;
    long pid = PyLong_AsLongAndOverflow(result, &overflow);
    if (pid > 0) {
        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        annot_flow_begin(flow_of(pid, path), "start");
    }
    return result;
}

PyObject *starts_arrived(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    if (annot_enabled())
        annot_flow_end(flow_of(getpid(), "/proc/self/stat"));
    Py_RETURN_NONE;
}

/* ---- Forks ----------------------------------------------------------------------------------- */

PyObject *starts_watch(PyObject *module, PyObject *on)
{
    struct state *state = PyModule_GetState(module);
    state->watches_forks = on == Py_True;
    Py_RETURN_NONE;
}

PyObject *starts_before_fork(PyObject *module, PyObject *ignored)
{
    const struct state *state = PyModule_GetState(module);
    (void)ignored;
    fork_flow = 0;
    if (state->watches_forks && annot_enabled()) {
        fork_flow = annot_flow_new();
        annot_flow_begin(fork_flow, "fork");
    }
    Py_RETURN_NONE;
}

PyObject *starts_after_fork_in_parent(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    forks += fork_flow != 0;
    fork_flow = 0;
    Py_RETURN_NONE;
}

PyObject *starts_after_fork_in_child(PyObject *module, PyObject *ignored)
{
    annot_flow flow = fork_flow;
    (void)module;
    (void)ignored;
    fork_flow = 0;
    if (flow != 0)
        annot_flow_end(flow);
    Py_RETURN_NONE;
}
