/* SPDX-License-Identifier: MIT */
/* The class `annotate`: `with annotate("load"):` and `@annotate("load")`.
 *
 * `with annotate("load"):` finds the same object each time, so nothing is made. Entering pushes,
 * leaving pops if that entering pushed (entered.h). Leaving needs nothing of the object, so
 * __exit__ is a builtin function, which Python does not bind for each statement; __enter__ binds
 * cheaply (enter.c). */
#include "arguments.h"
#include "enter.h"
#include "types.h"

static const struct signature annotate_signature = {"annotate", {ARGUMENT_NAME}, 1, ARGUMENT_VALUE};

static PyObject *annotate_vectorcall(PyObject *type, PyObject *const *args, size_t flags,
                                     PyObject *names)
{
    struct state *state = state_of_type((PyTypeObject *)type);
    struct call call = {args, PyVectorcall_NARGS(flags), names};
    PyObject *values[ARGUMENT_COUNT];
    if (state != NULL && call_is_short(&call, 1))
        return (PyObject *)annotation_of_name(state, args[0]);
    if (arguments_parse(state, &annotate_signature, &call, values) < 0)
        return NULL;
    return (PyObject *)annotation_create(state, values);
}

/* Only for annotate.__new__(annotate, ...); calls of the class take the vectorcall. */
static PyObject *annotate_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    PyErr_Format(PyExc_TypeError, "call %.100s instead of its __new__", type->tp_name);
    return NULL;
}

static void annotate_dealloc(PyObject *self)
{
    annotation_destroy((struct annotation *)self);
}

static PyObject *annotate_repr(PyObject *self)
{
    return PyUnicode_FromFormat("annotate(%R)", ((struct annotation *)self)->name);
}

/* The decorator: which wrapper a function needs is decided in Python. */
static PyObject *annotate_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *function;
    (void)keywords;
    if (!PyArg_UnpackTuple(args, "annotate.__call__", 1, 1, &function))
        return NULL;
    PyObject *module = PyImport_ImportModule("pyannot._decorators");
    if (module == NULL)
        return NULL;
    PyObject *wrapper = PyObject_CallMethod(module, "decorate", "OO", self, function);
    Py_DECREF(module);
    return wrapper;
}

/* Whatever is passed: by `with` the exception, by contextlib.ExitStack also the object. */
static PyObject *annotate_exit(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)args;
    (void)count;
    if (entered_pop())
        annot_pop();
    Py_RETURN_NONE;
}

static PyMethodDef exit_definition = {
    "__exit__", (PyCFunction)(void (*)(void))annotate_exit, METH_FASTCALL,
    PyDoc_STR("__exit__(*exception)\n--\n\nClose the range that __enter__ opened.")};

#if !PYANNOT_BIND_ENTER
static PyObject *annotate_enter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    annotation_enter((struct annotation *)self);
    return Py_NewRef(self);
}
#endif

static PyMethodDef methods[] = {
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
    "annotate(name, *, domain=None, category=None, color=None, payload=None, level=0)\n--\n\n"
    "A named range: `with annotate(\"load\"):` around a block, or `@annotate(\"load\")` on a\n"
    "function, method, generator or coroutine function.\n\n"
    "One object may be kept and used by any number of threads, nested and recursively.\n\n"
    "  name      str; shown in every output\n"
    "  domain    str, the library or layer it belongs to\n"
    "  category  str within the domain, for filters and colours\n"
    "  color     \"red\", \"#d62728\", 0xRRGGBB or 0xAARRGGBB\n"
    "  payload   one int, float, bool or str shown with it\n"
    "  level     0 (always wanted) to 7 (most detailed)\n");

static PyType_Slot slots[] = {
    {Py_tp_new, annotate_new},         {Py_tp_dealloc, annotate_dealloc},
    {Py_tp_repr, annotate_repr},       {Py_tp_call, annotate_call},
    {Py_tp_methods, methods},          {Py_tp_members, members},
    {Py_tp_doc, (void *)annotate_doc}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot.annotate",
    .basicsize = sizeof(struct annotation),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static int exit_install(PyObject *type)
{
    PyObject *function = PyCFunction_NewEx(&exit_definition, NULL, NULL);
    if (function == NULL)
        return -1;
    int result = PyObject_SetAttrString(type, "__exit__", function);
    Py_DECREF(function);
    return result;
}

PyTypeObject *annotate_type_create(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type == NULL)
        return NULL;
    ((PyTypeObject *)type)->tp_vectorcall = annotate_vectorcall;
    if (exit_install(type) < 0 ||
        (PYANNOT_BIND_ENTER && enter_install(module, (PyTypeObject *)type) < 0))
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}
