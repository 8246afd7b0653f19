/* SPDX-License-Identifier: MIT */
/* The yardsticks of bench_python.py. An empty context manager in C: it takes a name and keeps it,
 * as every object in the same statement must; its methods are ordinary ones. A callable that only
 * calls the wrapped one. And both with the least work of a recorder: two time stamps, two 16-byte
 * stores. */
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <structmember.h>
#include <time.h>

static _Alignas(64) uint64_t ring[4096];
static uint32_t ring_at;

static inline uint64_t time_stamp(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static inline void store(uint64_t head)
{
    uint64_t *at = &ring[ring_at];
    at[0] = time_stamp();
    at[1] = head;
    ring_at = (ring_at + 2) & 4095;
}

/* ---- Context managers ------------------------------------------------------------------------ */

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

static PyObject *stamping_enter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    store(1);
    Py_INCREF(self);
    return self;
}

static PyObject *stamping_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    (void)args;
    (void)count;
    store(2);
    Py_RETURN_NONE;
}

static PyMethodDef empty_methods[] = {
    {"__enter__", manager_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))manager_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef stamping_methods[] = {
    {"__enter__", stamping_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))stamping_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static int manager_add(PyObject *module, const char *name, PyMethodDef *methods)
{
    PyType_Slot slots[] = {
        {Py_tp_dealloc, manager_dealloc},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = name,
        .basicsize = sizeof(struct manager),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type == NULL)
        return -1;
    ((PyTypeObject *)type)->tp_vectorcall = manager_vectorcall;
    int result = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return result;
}

/* ---- Callables around a function ------------------------------------------------------------- */

struct forwarder {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *wrapped;
};

static PyObject *forward(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    PyObject *wrapped = ((struct forwarder *)self)->wrapped;
    return ((PyFunctionObject *)wrapped)->vectorcall(wrapped, args, flags, names);
}

static PyObject *forward_stamping(PyObject *self, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    store(1);
    PyObject *result = forward(self, args, flags, names);
    store(2);
    return result;
}

static PyObject *forwarder_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *wrapped;
    int stamping;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O!p", &PyFunction_Type, &wrapped, &stamping))
        return NULL;
    struct forwarder *forwarder = PyObject_New(struct forwarder, type);
    if (forwarder != NULL) {
        forwarder->vectorcall = stamping ? forward_stamping : forward;
        Py_INCREF(wrapped);
        forwarder->wrapped = wrapped;
    }
    return (PyObject *)forwarder;
}

static void forwarder_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(((struct forwarder *)self)->wrapped);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMemberDef forwarder_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct forwarder, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot forwarder_slots[] = {
    {Py_tp_new, forwarder_new},
    {Py_tp_dealloc, forwarder_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, forwarder_members},
    {0, NULL},
};

static PyType_Spec forwarder_spec = {
    .name = "empty_manager.forwarder",
    .basicsize = sizeof(struct forwarder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = forwarder_slots,
};

/* ---- The module ------------------------------------------------------------------------------ */

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &forwarder_spec, NULL);
    int result = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    if (result < 0 || manager_add(module, "empty_manager.empty_manager", empty_methods) < 0)
        return -1;
    return manager_add(module, "empty_manager.stamping_manager", stamping_methods);
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
