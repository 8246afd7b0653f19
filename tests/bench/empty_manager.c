/* SPDX-License-Identifier: MIT */
/* The yardstick of bench_python.py: a context manager in C that does nothing. It takes a name and
 * keeps it, as anything that stands in the same statement must; its methods are ordinary ones. */
#include <Python.h>

struct manager {
    PyObject_HEAD PyObject *name;
};

static PyObject *manager_vectorcall(PyObject *type, PyObject *const *args, size_t flags,
                                    PyObject *names)
{
    if (PyVectorcall_NARGS(flags) != 1 || names != NULL || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "empty_manager() takes one str");
        return NULL;
    }
    struct manager *manager = PyObject_New(struct manager, (PyTypeObject *)type);
    if (manager != NULL) {
        Py_INCREF(args[0]);
        manager->name = args[0];
    }
    return (PyObject *)manager;
}

static void manager_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(((struct manager *)self)->name);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *manager_enter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    Py_INCREF(self);
    return self;
}

static PyObject *manager_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    (void)args;
    (void)count;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"__enter__", manager_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))manager_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_dealloc, manager_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "empty_manager.empty_manager",
    .basicsize = sizeof(struct manager),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = type_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type == NULL)
        return -1;
    ((PyTypeObject *)type)->tp_vectorcall = manager_vectorcall;
    int result = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return result;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "empty_manager",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_empty_manager(void);

PyMODINIT_FUNC PyInit_empty_manager(void)
{
    return PyModuleDef_Init(&definition);
}
