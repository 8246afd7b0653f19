/* SPDX-License-Identifier: MIT */
/* pyannot._native: multi-phase initialisation, one state per interpreter. */
#include "async_enter.h"
#include "enter.h"
#include "entered.h"
#include "functions.h"
#include "functions_observe.h"
#include "holder.h"
#include "lane.h"
#include "state.h"
#include "task.h"
#include "task_exit.h"
#include "types.h"

static const char *const argument_names[ARGUMENT_COUNT] = {
    [ARGUMENT_NAME] = "name",   [ARGUMENT_DOMAIN] = "domain", [ARGUMENT_CATEGORY] = "category",
    [ARGUMENT_COLOR] = "color", [ARGUMENT_LEVEL] = "level",   [ARGUMENT_PAYLOAD] = "payload",
    [ARGUMENT_VALUE] = "value",
};

/* The module's types, and where the state keeps them. */
static const struct {
    PyTypeObject *(*create)(PyObject *module);
    size_t offset;
    bool is_public;
} types[] = {
    {annotate_type_create, offsetof(struct state, annotate_type), true},
    {function_type_create, offsetof(struct state, function_type), true},
    {holder_type_create, offsetof(struct state, holder_type), true},
    {domain_type_create, offsetof(struct state, domain_type), true},
    {flow_type_create, offsetof(struct state, flow_type), true},
    {track_type_create, offsetof(struct state, track_type), true},
    {track_range_type_create, offsetof(struct state, track_range_type), true},
    {free_range_type_create, offsetof(struct state, free_range_type), true},
    {ready_type_create, offsetof(struct state, ready_type), false},
    {link_type_create, offsetof(struct state, link_type), false},
};

enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

static PyTypeObject **type_slot(struct state *state, int index)
{
    return (PyTypeObject **)((char *)state + types[index].offset);
}

static int module_exec(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        state->argument_names[i] = PyUnicode_InternFromString(argument_names[i]);
        if (state->argument_names[i] == NULL)
            return -1;
    }
    for (int i = 0; i < TYPE_COUNT; i++) {
        PyTypeObject *type = types[i].create(module);
        *type_slot(state, i) = type;
        if (type == NULL || (types[i].is_public && PyModule_AddType(module, type) < 0))
            return -1;
    }
    if (entered_watch_forks() != 0) {
        PyErr_NoMemory();
        return -1;
    }
    if (async_enter_install(state) < 0 || observe_functions_add(module) < 0)
        return -1;
    return lane_add_to_module(module);
}

/* An import that failed, and the collector in any order: the state may be half-built. */
static int module_clear(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    task_clear(state);
    name_cache_clear(&state->names);
    holder_clear(state);
    for (int i = 0; i < TYPE_COUNT; i++)
        Py_CLEAR(*type_slot(state, i));
    Py_CLEAR(state->enter_type);
    Py_CLEAR(state->async_open);
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        Py_CLEAR(state->argument_names[i]);
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct state *state = PyModule_GetState(module);
    for (int i = 0; i < TYPE_COUNT; i++)
        Py_VISIT(*type_slot(state, i));
    Py_VISIT(state->enter_type);
    Py_VISIT(state->async_open);
    int result = task_traverse(state, visit, arg);
    return result ? result : holder_traverse(state, visit, arg);
}

static void module_free(void *module)
{
    module_clear(module);
    enter_spare_free(PyModule_GetState(module));
    task_exit_spare_free(PyModule_GetState(module));
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
