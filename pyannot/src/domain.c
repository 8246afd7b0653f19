/* SPDX-License-Identifier: MIT */
/* The class `domain`: the module's functions for one library or layer. Its annotations are cached
 * by name as the module's are, so that `with io.annotate("read"):` makes nothing. Threads: any. */
#include "scope.h"
#include "str_text.h"
#include "track.h"
#include "types.h"

static PyObject *domain_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"name", NULL};
    PyObject *name;
    if (!state_is_alive(state_of_type(type)) ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "O:domain", ARGUMENT_NAMES(names), &name))
        return NULL;
    if (!PyUnicode_Check(name)) {
        text_type_error("name", "str", name);
        return NULL;
    }
    struct domain *domain = (struct domain *)type->tp_alloc(type, 0);
    if (domain != NULL)
        domain->name = Py_NewRef(name);
    return (PyObject *)domain;
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
    (void)ignored;
    return Py_BuildValue("O(O)", Py_TYPE(self), ((struct domain *)self)->name);
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
     PyDoc_STR("pop($self)\n--\n\nClose the calling thread's innermost open range, of whatever "
               "domain.")},
    {"mark", METHOD(domain_mark), KEYWORDS,
     PyDoc_STR("mark($self, name, *, category=None, color=None, payload=None, level=0, **items)\n"
               "--\n\nAs pyannot.mark, in this domain.")},
    {"counter", METHOD(domain_counter), KEYWORDS,
     PyDoc_STR("counter($self, name, value, *, category=None, color=None, level=0)\n"
               "--\n\nAs pyannot.counter: counters of different domains are different ones.")},
    {"start", METHOD(domain_start), KEYWORDS,
     PyDoc_STR("start($self, name, *, category=None, color=None, payload=None, level=0, **items)\n"
               "--\n\nAs pyannot.start, in this domain.")},
    {"end", scope_end, METH_O,
     PyDoc_STR("end($self, range, /)\n--\n\nClose a range that start() opened; 0 is ignored.")},
    {"track", METHOD(domain_track), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("track($self, name, parent=None, *, id=None)\n"
               "--\n\nAs pyannot.track; what happens on it is in this domain.")},
    {"flow", METHOD(domain_flow), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("flow($self, name=None, number=None, *, id=None)\n"
               "--\n\nAs pyannot.flow: arrows are in no domain.")},
    {"__reduce__", domain_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(struct domain, name), READONLY, PyDoc_STR("The name given.")},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(domain_doc,
             "domain(name)\n--\n\n"
             "The library or layer that events come from: annotate, push, mark, counter, start\n"
             "and track, bound to it. Libraries keep one: IO = pyannot.domain(\"mylib.io\").");

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
