/* SPDX-License-Identifier: MIT */
/* pyannot._reader: recordings for Python. Multi-phase initialisation, one state per interpreter. */
#include "reader_types.h"

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
    state->column_type->tp_new = NULL; /* nothing but a recording makes columns */
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
