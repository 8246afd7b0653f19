/* SPDX-License-Identifier: MIT */
/* See scope.h. Arguments are checked with or without a recording, so that a wrong call always
 * shows; errors inside libannot never raise. */
#include "scope.h"

#include "annotation.h"
#include "arguments.h"
#include "function.h"
#include "state.h"
#include "task.h"
#include "task_track.h"
#include "track.h"

static const struct signature annotate_signature = {"annotate", {ARGUMENT_NAME}, 1, 0, false, NULL};
static const struct signature push_signature = {"push", {ARGUMENT_NAME}, 1, 1, false, NULL};
static const struct signature mark_signature = {"mark", {ARGUMENT_NAME}, 1, 1, false, NULL};
static const struct signature start_signature = {
    "start", {ARGUMENT_NAME}, 1, 1, false, "to begin a recording, call start_recording(path)"};
static const struct signature counter_signature = {
    "counter", {ARGUMENT_NAME, ARGUMENT_VALUE}, 2, 2, true, NULL};

static struct name_cache *cache_of(const struct scope *scope)
{
    return scope->domain ? &scope->domain->names : &scope->state->names;
}

/* Parses the arguments of the call, in the domain. 0, or -1 with an exception. */
static int parse(struct arguments *arguments, const struct scope *scope,
                 const struct signature *signature, const struct call *call)
{
    const struct domain *domain = scope->domain;
    if (arguments_parse(arguments, scope->state, signature, call, domain ? domain->name : NULL) < 0)
        return -1;
    arguments->observer = domain ? domain->observer : 0;
    arguments->role = domain ? domain->role : 0;
    return 0;
}

/* push(), mark() and start() take an object of annotate() as well. */
static bool is_annotation(const struct scope *scope, const struct signature *signature,
                          const struct call *call)
{
    return scope->state != NULL && signature->required_count == 1 && call_is_short(call, 1) &&
           Py_IS_TYPE(call->args[0], scope->state->annotate_type) &&
           ((struct annotation *)call->args[0])->text != NULL;
}

struct annotation *scope_annotation(const struct scope *scope, const struct signature *signature,
                                    const struct call *call)
{
    struct arguments arguments;
    if (is_annotation(scope, signature, call))
        return (struct annotation *)Py_NewRef(call->args[0]);
    bool is_short = scope->state != NULL && signature->positional_count == 1 &&
                    call_is_short(call, 1) && PyUnicode_Check(call->args[0]);
    struct annotation *annotation =
        is_short ? name_cache_find(cache_of(scope), call->args[0]) : NULL;
    if (annotation != NULL)
        return annotation;
    if (parse(&arguments, scope, signature, call) < 0)
        return NULL;
    if (signature->required_count > 0 && arguments.values[ARGUMENT_NAME] == Py_None) {
        text_type_error("name", "str", Py_None);
        return NULL;
    }
    annotation = annotation_create(scope->state, &arguments);
    if (annotation != NULL && is_short)
        name_cache_add(cache_of(scope), annotation);
    return annotation;
}

/* annotate("load"), annotate(), and annotate(function), which is @annotate. */
PyObject *scope_annotate(const struct scope *scope, const struct call *call)
{
    static PyObject *const none[1];
    const struct call nameless = {none, 0, NULL};
    if (!call_is_short(call, 1) || !decorate_takes(call->args[0]))
        return (PyObject *)scope_annotation(scope, &annotate_signature, call);
    PyObject *annotation = (PyObject *)scope_annotation(scope, &annotate_signature, &nameless);
    PyObject *wrapper = annotation ? decorate(annotation, call->args[0]) : NULL;
    Py_XDECREF(annotation);
    return wrapper;
}

PyObject *scope_push(const struct scope *scope, const struct call *call)
{
    struct annotation *annotation = scope_annotation(scope, &push_signature, call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled() && !task_push(scope->state, annotation))
        emit_push(annotation);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* Returns the state of the module, or of a domain. */
static struct state *scope_state(PyObject *self)
{
    return PyModule_Check(self) ? PyModule_GetState(self) : state_of_type(Py_TYPE(self));
}

PyObject *scope_pop(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    if (!task_is_watched() || !annot_enabled() || !task_pop(scope_state(self)))
        annot_pop();
    Py_RETURN_NONE;
}

PyObject *scope_mark(const struct scope *scope, const struct call *call)
{
    struct annotation *annotation = scope_annotation(scope, &mark_signature, call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled() && !task_mark(scope->state, annotation))
        emit_mark(annotation);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* ---- Counters -------------------------------------------------------------------------------- */

/* counter("queue", 3) with an int of 64 bits or a float; other calls take the long path. */
static bool counter_is_short(const struct scope *scope, const struct call *call,
                             struct annot_event *ret_value)
{
    if (scope->domain != NULL || !call_is_short(call, 2) || !PyUnicode_CheckExact(call->args[0]))
        return false;
    if (PyFloat_CheckExact(call->args[1])) {
        ret_value->payload_kind = ANNOT_PAYLOAD_DOUBLE;
        ret_value->payload.float64 = PyFloat_AS_DOUBLE(call->args[1]);
        return true;
    }
    int overflow = 1;
    if (PyLong_CheckExact(call->args[1])) {
        ret_value->payload_kind = ANNOT_PAYLOAD_INT64;
        ret_value->payload.int64 = PyLong_AsLongLongAndOverflow(call->args[1], &overflow);
    }
    return overflow == 0;
}

/* Emits the value under a cached name. 0, or -1 with an exception. */
static int counter_short(struct state *state, PyObject *name, struct annot_event *value)
{
    struct annotation *annotation = annotation_of_name(state, name);
    if (annotation == NULL)
        return -1;
    value->name = annotation_name_id(annotation);
    value->text = annotation->event.text;
    if (value->name != 0 && value->payload_kind == ANNOT_PAYLOAD_INT64)
        annot_emit_counter_int(value->name, value->payload.int64);
    else if (value->name != 0)
        annot_emit_counter_name(value->name, value->payload.float64);
    else
        annot_emit_counter_event(value);
    Py_DECREF(annotation);
    return 0;
}

PyObject *scope_counter(const struct scope *scope, const struct call *call)
{
    struct annot_event value = {0};
    if (counter_is_short(scope, call, &value)) {
        if (annot_enabled() && counter_short(scope->state, call->args[0], &value) < 0)
            return NULL;
        Py_RETURN_NONE;
    }
    struct annotation *annotation = scope_annotation(scope, &counter_signature, call);
    if (annotation == NULL)
        return NULL;
    if (annot_enabled() && annotation_says_something(annotation)) {
        annotation_name_id(annotation);
        annot_emit_counter_event(&annotation->event);
    }
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* ---- Ranges of the process ------------------------------------------------------------------- */

PyObject *scope_start(const struct scope *scope, const struct call *call)
{
    struct annotation *annotation = scope_annotation(scope, &start_signature, call);
    if (annotation == NULL)
        return NULL;
    annot_range range = annot_enabled() ? emit_start(annotation) : 0;
    Py_DECREF(annotation);
    return PyLong_FromUnsignedLongLong(range);
}

PyObject *scope_end(PyObject *self, PyObject *range)
{
    (void)self;
    if (!PyLong_Check(range)) {
        text_type_error("range", "int", range);
        return NULL;
    }
    unsigned long long id = PyLong_AsUnsignedLongLong(range);
    if (PyErr_Occurred())
        return NULL;
    annot_end(id);
    Py_RETURN_NONE;
}

/* ---- The class `domain` ---------------------------------------------------------------------- */

/* The class `domain`: the module's functions for one library or layer. Its annotations are cached
 * by name as the module's are, so that `with io.annotate("read"):` allocates no object. Threads:
 * any. */

static PyObject *domain_make(PyTypeObject *type, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        text_type_error("name", "str", name);
        return NULL;
    }
    struct domain *domain = (struct domain *)type->tp_alloc(type, 0);
    if (domain != NULL)
        domain->name = Py_NewRef(name);
    return (PyObject *)domain;
}

static PyObject *domain_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"name", NULL};
    PyObject *name;
    if (!state_is_alive(state_of_type(type)) ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "O:domain", ARGUMENT_NAMES(names), &name))
        return NULL;
    return domain_make(type, name);
}

PyObject *scope_observed_domain(PyObject *module, PyObject *args)
{
    PyTypeObject *type = state_type(PyModule_GetState(module), TYPE_DOMAIN);
    unsigned short observer, role;
    PyObject *name;
    if (type == NULL || !PyArg_ParseTuple(args, "OHH:observed_domain", &name, &observer, &role))
        return NULL;
    PyObject *domain = domain_make(type, name);
    if (domain != NULL) {
        ((struct domain *)domain)->observer = observer;
        ((struct domain *)domain)->role = role;
    }
    return domain;
}

static void domain_dealloc(PyObject *self)
{
    struct domain *domain = (struct domain *)self;
    PyTypeObject *type = Py_TYPE(self);
    name_cache_clear(&domain->names);
    Py_XDECREF(domain->name);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *domain_repr(PyObject *self)
{
    return PyUnicode_FromFormat("domain(%R)", ((struct domain *)self)->name);
}

static PyObject *domain_reduce(PyObject *self, PyObject *ignored)
{
    const struct domain *domain = (struct domain *)self;
    (void)ignored;
    if (domain->observer == 0)
        return Py_BuildValue("O(O)", Py_TYPE(self), domain->name);
    PyObject *module = PyImport_ImportModule("pyannot._native");
    PyObject *make = module ? PyObject_GetAttrString(module, "observed_domain") : NULL;
    Py_XDECREF(module);
    return make ? Py_BuildValue("N(OHH)", make, domain->name, domain->observer, domain->role)
                : NULL;
}

#define SCOPE_METHOD(name)                                                                         \
    static PyObject *domain_##name(PyObject *self, PyObject *const *args, Py_ssize_t count,        \
                                   PyObject *names)                                                \
    {                                                                                              \
        const struct scope scope = {state_of_type(Py_TYPE(self)), (struct domain *)self};          \
        const struct call call = {args, count, names};                                             \
        return scope_##name(&scope, &call);                                                        \
    }

SCOPE_METHOD(annotate)
SCOPE_METHOD(push)
SCOPE_METHOD(mark)
SCOPE_METHOD(counter)
SCOPE_METHOD(start)

static PyObject *domain_track(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct state *state = state_of_type(Py_TYPE(self));
    PyTypeObject *track = state_is_alive(state) ? state_type(state, TYPE_TRACK) : NULL;
    return track ? track_create(track, ((struct domain *)self)->name, args, keywords) : NULL;
}

static PyObject *domain_flow(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct state *state = state_of_type(Py_TYPE(self));
    PyTypeObject *flow = state_is_alive(state) ? state_type(state, TYPE_FLOW) : NULL;
    return flow ? PyObject_Call((PyObject *)flow, args, keywords) : NULL;
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

enum { KEYWORDS = METH_FASTCALL | METH_KEYWORDS };

static PyMethodDef methods[] = {
    {"annotate", METHOD(domain_annotate), KEYWORDS,
     PyDoc_STR("annotate($self, name=None, *, category=None, color=None, payload=None, level=0, "
               "**items)\n--\n\nAs pyannot.annotate, in this domain.")},
    {"push", METHOD(domain_push), KEYWORDS,
     PyDoc_STR("push($self, name, *, category=None, color=None, payload=None, level=0, **items)\n"
               "--\n\nAs pyannot.push, in this domain.")},
    {"pop", scope_pop, METH_NOARGS,
     PyDoc_STR("pop($self)\n--\n\nClose the calling thread's innermost open range, of any "
               "domain.")},
    {"mark", METHOD(domain_mark), KEYWORDS,
     PyDoc_STR("mark($self, name, *, category=None, color=None, payload=None, level=0, **items)\n"
               "--\n\nAs pyannot.mark, in this domain.")},
    {"counter", METHOD(domain_counter), KEYWORDS,
     PyDoc_STR("counter($self, name, value, *, category=None, color=None, level=0)\n"
               "--\n\nAs pyannot.counter; counters of different domains are separate.")},
    {"start", METHOD(domain_start), KEYWORDS,
     PyDoc_STR("start($self, name, *, category=None, color=None, payload=None, level=0, **items)\n"
               "--\n\nAs pyannot.start, in this domain.")},
    {"end", scope_end, METH_O,
     PyDoc_STR("end($self, range, /)\n--\n\nClose a range that start() opened; 0 is ignored.")},
    {"track", METHOD(domain_track), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("track($self, name, parent=None, *, id=None)\n"
               "--\n\nAs pyannot.track; events on it are in this domain.")},
    {"flow", METHOD(domain_flow), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("flow($self, name=None, number=None, *, id=None)\n"
               "--\n\nAs pyannot.flow; arrows have no domain.")},
    {"__reduce__", domain_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(struct domain, name), READONLY, PyDoc_STR("The name given.")},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    domain_doc,
    "domain(name)\n--\n\n"
    "The library or layer that events come from. Its methods annotate, push, mark, counter,\n"
    "start and track record events of it. Libraries keep one:\n"
    "IO = pyannot.domain(\"mylib.io\").");

static PyType_Slot slots[] = {
    {Py_tp_new, domain_new},
    {Py_tp_dealloc, domain_dealloc},
    {Py_tp_repr, domain_repr},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc, (void *)domain_doc},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot.domain",
    .basicsize = sizeof(struct domain),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *domain_type_create(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
