/* SPDX-License-Identifier: MIT */
/* pyannot._native: multi-phase initialisation, one state per interpreter. */
#include "async_enter.h"
#include "enter.h"
#include "entered.h"
#include "functions.h"
#include "holder.h"
#include "observed.h"
#include "pool_side.h"
#include "state.h"
#include "task.h"
#include "types.h"

static const char *const argument_names[ARGUMENT_COUNT] = {
    [ARGUMENT_NAME] = "name",   [ARGUMENT_DOMAIN] = "domain", [ARGUMENT_CATEGORY] = "category",
    [ARGUMENT_COLOR] = "color", [ARGUMENT_LEVEL] = "level",   [ARGUMENT_PAYLOAD] = "payload",
    [ARGUMENT_VALUE] = "value",
};

/* Types that are made when they are first asked for, and what those are called that Python code
 * uses. */
static const struct {
    PyTypeObject *(*create)(PyObject *module);
    const char *name;
} types[LATER_TYPE_COUNT] = {
    [TYPE_FUNCTION] = {function_type_create, "annotated_function"},
    [TYPE_HOLDER] = {holder_type_create, "annotation_holder"},
    [TYPE_DOMAIN] = {domain_type_create, "domain"},
    [TYPE_FLOW] = {flow_type_create, "flow"},
    [TYPE_TRACK] = {track_type_create, "track"},
    [TYPE_TRACK_RANGE] = {track_range_type_create, "track_range"},
    [TYPE_FREE_RANGE] = {free_range_type_create, "free_range"},
    [TYPE_OBSERVED] = {observed_type_create, "observed"},
    [TYPE_POOL_SIDE] = {pool_side_type_create, "pool_side"},
    [TYPE_READY] = {ready_type_create, NULL},
    [TYPE_LINK] = {link_type_create, NULL},
};

PyTypeObject *state_type_make(struct state *state, enum later_type type)
{
    PyTypeObject *none = NULL;
    if (!state_is_alive(state))
        return NULL;
    PyTypeObject *made = types[type].create(state->module);
    if (made == NULL)
        return NULL;
    /* Partner: state_type, and itself: making one may let other threads run. */
    if (__atomic_compare_exchange_n(&state->later_types[type], &none, made, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    Py_DECREF(made);
    return none;
}

/* __getattr__ of the module: a type that has not been asked for before. */
static PyObject *module_getattr(PyObject *module, PyObject *name)
{
    for (int i = 0; PyUnicode_Check(name) && i < LATER_TYPE_COUNT; i++) {
        if (types[i].name == NULL || PyUnicode_CompareWithASCIIString(name, types[i].name) != 0)
            continue;
        PyObject *type = (PyObject *)state_type(PyModule_GetState(module), i);
        if (type == NULL || PyObject_SetAttr(module, name, type) < 0)
            return NULL;
        return Py_NewRef(type);
    }
    PyErr_Format(PyExc_AttributeError, "module 'pyannot._native' has no attribute %R", name);
    return NULL;
}

static PyMethodDef module_methods[] = {
    {"__getattr__", module_getattr, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    state->module = module;
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        state->argument_names[i] = PyUnicode_InternFromString(argument_names[i]);
        if (state->argument_names[i] == NULL)
            return -1;
    }
    state->annotate_type = annotate_type_create(module);
    if (state->annotate_type == NULL || PyModule_AddType(module, state->annotate_type) < 0)
        return -1;
    if (entered_watch_forks() != 0) {
        PyErr_NoMemory();
        return -1;
    }
    if (async_enter_install(state) < 0 || PyModule_AddFunctions(module, module_methods) < 0)
        return -1;
    return observe_functions_add(module);
}

/* An import that failed, and the collector in any order: the state may be half-built. */
static int module_clear(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    task_clear(state);
    name_cache_clear(&state->names);
    holder_clear(state);
    for (int i = 0; i < LATER_TYPE_COUNT; i++)
        Py_CLEAR(state->later_types[i]);
    Py_CLEAR(state->annotate_type);
    Py_CLEAR(state->enter_type);
    Py_CLEAR(state->enters[0]);
    Py_CLEAR(state->enters[1]);
    Py_CLEAR(state->async_open);
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        Py_CLEAR(state->argument_names[i]);
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct state *state = PyModule_GetState(module);
    for (int i = 0; i < LATER_TYPE_COUNT; i++)
        Py_VISIT(state->later_types[i]);
    Py_VISIT(state->annotate_type);
    Py_VISIT(state->enter_type);
    Py_VISIT(state->async_open);
    int result = task_traverse(state, visit, arg);
    for (int i = 0; i < 2 && result == 0; i++)
        result = visit_type_of(state->enters[i], 2, visit, arg);
    for (int i = 0; i < NAME_CACHE_SIZE && result == 0; i++)
        result = visit_type_of((PyObject *)state->names.slots[i], 1, visit, arg);
    return result ? result : holder_traverse(state, visit, arg);
}

static void module_free(void *module)
{
    module_clear(module);
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
