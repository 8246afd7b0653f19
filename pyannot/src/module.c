/* SPDX-License-Identifier: MIT */
/* pyannot._native: multi-phase initialisation, one state per interpreter. */
#include "enter.h"
#include "functions.h"
#include "state.h"
#include "types.h"

static const char *const argument_names[ARGUMENT_COUNT] = {
    [ARGUMENT_NAME] = "name",   [ARGUMENT_DOMAIN] = "domain", [ARGUMENT_CATEGORY] = "category",
    [ARGUMENT_COLOR] = "color", [ARGUMENT_LEVEL] = "level",   [ARGUMENT_PAYLOAD] = "payload",
    [ARGUMENT_VALUE] = "value",
};

static int module_exec(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        state->argument_names[i] = PyUnicode_InternFromString(argument_names[i]);
        if (state->argument_names[i] == NULL)
            return -1;
    }
    state->annotate_type = annotate_type_create(module);
    if (state->annotate_type == NULL || PyModule_AddType(module, state->annotate_type) < 0)
        return -1;
    state->function_type = function_type_create(module);
    if (state->function_type == NULL || PyModule_AddType(module, state->function_type) < 0)
        return -1;
    return 0;
}

/* An import that failed, and the collector in any order: the state may be half-built. */
static int module_clear(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    name_cache_clear(&state->names);
    Py_CLEAR(state->annotate_type);
    Py_CLEAR(state->function_type);
    Py_CLEAR(state->enter_type);
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        Py_CLEAR(state->argument_names[i]);
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct state *state = PyModule_GetState(module);
    Py_VISIT(state->annotate_type);
    Py_VISIT(state->function_type);
    Py_VISIT(state->enter_type);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
    enter_spare_free(PyModule_GetState(module));
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

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pyannot._native",
    .m_doc = "Annotations as C objects; use them through pyannot.",
    .m_size = sizeof(struct state),
    .m_methods = functions_table,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
