/* SPDX-License-Identifier: MIT */
/* pyannot._reader: recordings for Python, with multi-phase initialisation and one state per
 * interpreter; and its columns: immutable numbers, exported through the buffer protocol without a
 * copy. */
#include "reader_module.h"

#include "objects.h"

#include "column_table.h"

#include <stdlib.h>

/* ---- Columns --------------------------------------------------------------------------------- */

struct column {
    PyObject_HEAD void *items; /* owned; may be NULL if `count` is 0 */
    Py_ssize_t count, item_size;
    char format[2];
};

PyObject *column_create(struct module_state *state, char format, void *items, size_t count)
{
    PyTypeObject *type = state->column_type;
    struct column *column = (struct column *)type->tp_alloc(type, 0);
    if (column == NULL) {
        free(items);
        return NULL;
    }
    column->items = items;
    column->count = (Py_ssize_t)count;
    column->item_size = (Py_ssize_t)column_table_item_size(format);
    column->format[0] = format;
    return (PyObject *)column;
}

static void column_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free(((struct column *)self)->items);
    type->tp_free(self);
    Py_DECREF(type);
}

static int column_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    static char nothing[8];
    struct column *column = (struct column *)self;
    Py_ssize_t size = column->count * column->item_size;
    if (PyBuffer_FillInfo(view, self, column->count ? column->items : nothing, size, 1, flags) < 0)
        return -1;
    view->itemsize = column->item_size;
    view->format = flags & PyBUF_FORMAT ? column->format : NULL;
    if (flags & PyBUF_ND)
        view->shape = &column->count;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES)
        view->strides = &column->item_size;
    return 0;
}

static Py_ssize_t column_length(PyObject *self)
{
    return ((struct column *)self)->count;
}

static PyObject *column_item(PyObject *self, Py_ssize_t index)
{
    const struct column *column = (const struct column *)self;
    if (index < 0 || index >= column->count) {
        PyErr_SetString(PyExc_IndexError, "column index out of range");
        return NULL;
    }
    switch (column->format[0]) {
    case 'q':
        return PyLong_FromLongLong(((const int64_t *)column->items)[index]);
    case 'Q':
        return PyLong_FromUnsignedLongLong(((const uint64_t *)column->items)[index]);
    case 'd':
        return PyFloat_FromDouble(((const double *)column->items)[index]);
    case 'i':
        return PyLong_FromLong(((const int32_t *)column->items)[index]);
    case '?':
        return PyBool_FromLong(((const uint8_t *)column->items)[index]);
    default:
        return PyLong_FromLong(((const uint8_t *)column->items)[index]);
    }
}

static PyObject *column_repr(PyObject *self)
{
    const struct column *column = (const struct column *)self;
    return PyUnicode_FromFormat("<Column of %zd '%s'>", column->count, column->format);
}

/* pandas and Polars look for this before the buffer protocol. NumPy is installed if this is
 * called. */
static PyObject *column_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char type_name[] = "dtype", copy_name[] = "copy";
    static char *names[] = {type_name, copy_name, NULL};
    PyObject *type = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO:__array__", names, &type, &copy))
        return NULL;
    int is_copy = copy != Py_None ? PyObject_IsTrue(copy) : 0;
    if (is_copy < 0)
        return NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *view = numpy ? PyMemoryView_FromObject(self) : NULL;
    const char *method = is_copy ? "array" : "asarray";
    PyObject *array = view ? PyObject_CallMethod(numpy, method, "OO", view, type) : NULL;
    Py_XDECREF(view);
    Py_XDECREF(numpy);
    return array;
}

static PyObject *column_format(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(((struct column *)self)->format);
}

static PyMethodDef column_methods[] = {
    {"__array__", (PyCFunction)(void (*)(void))column_array, METH_VARARGS | METH_KEYWORDS,
     "A NumPy array of the same memory, or of another type."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef column_properties[] = {
    {"format", column_format, NULL, "The type of the items, as in the struct module.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char column_doc[] = "Numbers of one column, for memoryview and whatever takes buffers.";

static PyType_Slot column_slots[] = {
    {Py_tp_dealloc, column_dealloc},
    {Py_tp_repr, column_repr},
    {Py_tp_methods, column_methods},
    {Py_tp_getset, column_properties},
    {Py_tp_iter, PySeqIter_New}, /* with it, pandas does not take a column for a number */
    {Py_sq_length, column_length},
    {Py_sq_item, column_item},
    {Py_bf_getbuffer, column_getbuffer},
    {Py_tp_doc, column_doc},
    {0, NULL},
};

PyType_Spec column_spec = {
    .name = "pyannot._reader.Column",
    .basicsize = sizeof(struct column),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = column_slots,
};

/* ---- The module ------------------------------------------------------------------------------ */

struct module_state *module_state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

static int module_exec(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    state->reader_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &reader_spec, NULL);
    if (state->reader_type == NULL || PyModule_AddType(module, state->reader_type) < 0)
        return -1;
    state->column_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &column_spec, NULL);
    if (state->column_type == NULL || PyModule_AddType(module, state->column_type) < 0)
        return -1;
    state->column_type->tp_new = NULL; /* only a recording makes columns */
    return 0;
}

static int module_clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->reader_type);
    Py_CLEAR(state->column_type);
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);
    Py_VISIT(state->reader_type);
    Py_VISIT(state->column_type);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pyannot._reader",
    .m_doc = "Reads recordings; use pyannot.read.",
    .m_size = sizeof(struct module_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__reader(void);

PyMODINIT_FUNC PyInit__reader(void)
{
    return PyModuleDef_Init(&module_definition);
}
