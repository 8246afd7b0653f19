/* SPDX-License-Identifier: MIT */
/* The class `annotate`: `with annotate("load"):` and `@annotate("load")`.
 *
 * `with annotate("load"):` finds the same object each time, so nothing is made. Entering pushes,
 * leaving pops if that entering pushed (entered.h). Neither makes an object for the statement
 * (enter.c). */
#include "annotation.h"
#include "async_enter.h"
#include "enter.h"
#include "exception.h"
#include "function.h"
#include "scope.h"
#include "types.h"

static PyObject *annotate_vectorcall(PyObject *type, PyObject *const *args, size_t flags,
                                     PyObject *names)
{
    const struct scope scope = {state_of_type((PyTypeObject *)type), NULL};
    const struct call call = {args, PyVectorcall_NARGS(flags), names};
    if (__builtin_expect(scope.state != NULL && call_is_short(&call, 1), 1)) {
        struct annotation *kept = name_cache_find(&scope.state->names, args[0]);
        if (__builtin_expect(kept != NULL, 1))
            return (PyObject *)kept;
    }
    return scope_annotate(&scope, &call);
}

/* Only for annotate.__new__(annotate, ...); calls of the class take the vectorcall. */
static PyObject *annotate_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    PyErr_Format(PyExc_TypeError, "call %.100s instead of its __new__", type->tp_name);
    return NULL;
}

static PyObject *annotate_repr(PyObject *self)
{
    PyObject *name = ((struct annotation *)self)->name;
    return name ? PyUnicode_FromFormat("annotate(%R)", name) : PyUnicode_FromString("annotate()");
}

/* For decorators: the same annotation with the name of a function, if it has none. */
static PyObject *annotate_named(PyObject *self, PyObject *name)
{
    struct annotation *annotation = (struct annotation *)self;
    if (annotation->text != NULL)
        return Py_NewRef(self);
    return (PyObject *)annotation_renamed(state_of_type(Py_TYPE(self)), annotation, name);
}

static PyObject *annotate_reduce(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return annotation_reduce((PyObject *)Py_TYPE(self), (struct annotation *)self);
}

static PyObject *annotate_aenter(PyObject *self, PyObject *ignored)
{
    struct state *state = state_of_type(Py_TYPE(self));
    struct annotation *annotation = (struct annotation *)self;
    (void)ignored;
    if (!state_is_alive(state) || !annotation_has_name(annotation))
        return NULL;
    if (!(task_is_watched() && task_enter(annotation)) && async_enter(state, annotation) < 0)
        return NULL;
    return ready_create(state, Py_NewRef(self));
}

static PyObject *annotate_aexit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct state *state = state_of_type(Py_TYPE(self));
    annot_range range;
    if (!state_is_alive(state) || async_leave(state, (struct annotation *)self, &range) < 0)
        return NULL;
    exception_end(range, exception_of_exit(args, count));
    return ready_create(state, Py_NewRef(Py_None));
}

#if !PYANNOT_BIND_ENTER
static PyObject *annotate_enter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    if (!annotation_has_name((struct annotation *)self))
        return NULL;
    annotation_enter((struct annotation *)self);
    return Py_NewRef(self);
}
#endif

static PyMethodDef methods[] = {
    {"__aenter__", annotate_aenter, METH_NOARGS,
     PyDoc_STR("__aenter__($self)\n--\n\nOpen a range of the process, which may overlap others.")},
    {"__aexit__", (PyCFunction)(void (*)(void))annotate_aexit, METH_FASTCALL,
     PyDoc_STR("__aexit__($self, *exception)\n--\n\nClose the range that __aenter__ opened.")},
    {"_named", annotate_named, METH_O, NULL},
    {"__reduce__", annotate_reduce, METH_NOARGS, NULL},
#if !PYANNOT_BIND_ENTER
    {"__enter__", annotate_enter, METH_NOARGS,
     PyDoc_STR("__enter__($self, /)\n--\n\nOpen the range on the calling thread.")},
#endif
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(struct annotation, name), READONLY, PyDoc_STR("The name given.")},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(
    annotate_doc,
    "annotate(name=None, *, domain=None, category=None, color=None, payload=None, level=0, "
    "**items)\n--\n\n"
    "A named range: `with annotate(\"load\"):` around a block, or `@annotate(\"load\")` on a\n"
    "function, method, generator or coroutine function; `@annotate` alone takes the function's\n"
    "qualified name. `async with` is for blocks that await.\n\n"
    "One object may be kept and used by any number of threads, nested and recursively.\n\n"
    "  name      str; shown in every output\n"
    "  domain    str, the library or layer it belongs to\n"
    "  category  str within the domain, for filters and colours\n"
    "  color     \"red\", \"#d62728\", 0xRRGGBB or 0xAARRGGBB\n"
    "  payload   one int, float, bool or str shown with it, or a dict of these\n"
    "  level     0 (always wanted) to 7 (most detailed)\n"
    "  items     further keywords are entries of the payload: annotate(\"load\", path=path)\n");

static PyType_Slot slots[] = {
    {Py_tp_new, annotate_new},         {Py_tp_dealloc, annotation_dealloc},
    {Py_tp_repr, annotate_repr},       {Py_tp_call, decorate_call},
    {Py_tp_methods, methods},          {Py_tp_members, members},
    {Py_tp_doc, (void *)annotate_doc}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot.annotate",
    .basicsize = sizeof(struct annotation),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyTypeObject *annotate_type_create(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type == NULL)
        return NULL;
    ((PyTypeObject *)type)->tp_vectorcall = annotate_vectorcall;
    if (leave_install(module, (PyTypeObject *)type) < 0 ||
        enter_install(module, (PyTypeObject *)type, false) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}
