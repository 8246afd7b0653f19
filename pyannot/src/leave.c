/* SPDX-License-Identifier: MIT */
/* See leave.h. Leaving needs nothing of the annotation, so this is one object for all statements,
 * which Python does not bind: a builtin function, whose calls later interpreters specialize. But no
 * builtin function is called at the limit of recursion, so that a range that ends by a
 * RecursionError would stay open: what calls this one without looking is put into it. Before 3.12,
 * whose calls of builtin functions are all checked, it is an object of our own. */
#include "leave.h"

#include "entered.h"
#include "exception.h"

/* Whatever is passed: by `with` the exception, by contextlib.ExitStack also the object. */
static inline PyObject *leave(PyObject *const *args, Py_ssize_t count)
{
    if (entered_pop())
        exception_pop(exception_of_exit(args, count));
    Py_RETURN_NONE;
}

/* Takes over `exit`. */
static int install(PyTypeObject *annotate_type, PyObject *exit)
{
    int result = exit ? PyObject_SetAttrString((PyObject *)annotate_type, "__exit__", exit) : -1;
    Py_XDECREF(exit);
    return result;
}

static PyObject *leave_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    (void)self;
    (void)names;
    return leave(args, PyVectorcall_NARGS(flags));
}

#if PY_VERSION_HEX >= 0x030C0000

static PyObject *leave_function(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return leave(args, count);
}

static PyMethodDef definition = {
    "__exit__", (PyCFunction)(void (*)(void))leave_function, METH_FASTCALL,
    PyDoc_STR("__exit__(*exception)\n--\n\nClose the range that __enter__ opened.")};

int leave_install(PyObject *module, PyTypeObject *annotate_type)
{
    (void)module;
    PyObject *exit = PyCFunction_NewEx(&definition, NULL, NULL);
    if (exit != NULL)
        ((PyCFunctionObject *)exit)->vectorcall = leave_vectorcall;
    return install(annotate_type, exit);
}

#else

struct leave {
    PyObject_HEAD vectorcallfunc vectorcall;
};

static void leave_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* Else the class would keep this type, and it the module, for ever. */
static int leave_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct leave, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, leave_dealloc},
    {Py_tp_traverse, leave_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {Py_tp_doc, (void *)PyDoc_STR("Closes the range that __enter__ opened.")},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "pyannot._native.leave",
    .basicsize = sizeof(struct leave),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};

int leave_install(PyObject *module, PyTypeObject *annotate_type)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    struct leave *exit = type ? PyObject_GC_New(struct leave, type) : NULL;
    Py_XDECREF(type);
    if (exit != NULL) {
        exit->vectorcall = leave_vectorcall;
        PyObject_GC_Track(exit);
    }
    return install(annotate_type, (PyObject *)exit);
}

#endif
