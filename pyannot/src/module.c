/* SPDX-License-Identifier: MIT */
/* pyannot._native: multi-phase initialisation, one state per interpreter. */
#include "annotate.h"
#include "annotation.h"
#include "enter.h"
#include "entered.h"
#include "flow.h"
#include "function.h"
#include "greenlets.h"
#include "observed.h"
#include "pool_side.h"
#include "scope.h"
#include "starts.h"
#include "state.h"
#include "task.h"
#include "task_await.h"
#include "task_exit.h"
#include "task_step.h"
#include "task_watch.h"
#include "tracing.h"
#include "track.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* Mailbox in which another process (`annot set`, with ptrace) writes Python code for this one to
 * run, and reads the result: collector/live/look/look_python.c. This module does not touch it. */
struct mail {
    uint32_t state, reserved;
    char answer[512];
    char script[16384 - 512 - 8];
};

__attribute__((visibility("default"), used)) struct mail annot_python_mail;

/* ---- Names of the process and of threads ----------------------------------------------------- */

/* Names offered by pyannot.observe do not replace those that the program has set. */

/* entered_forks + 1 in the process that named itself: its forked children do not inherit that. 0:
 * not named. */
static uint32_t process_is_named;
static _Thread_local bool thread_is_named __attribute__((tls_model("initial-exec")));

static PyObject *name_with(PyObject *module, PyObject *name, void (*give)(const char *text))
{
    struct annotation *annotation = annotation_of_name(PyModule_GetState(module), name);
    if (annotation == NULL)
        return NULL;
    give(annotation->event.text);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

static PyObject *naming_set_process(PyObject *module, PyObject *name)
{
    PyObject *result = name_with(module, name, annot_name_process);
    if (result != NULL)
        __atomic_store_n(&process_is_named, entered_forks + 1, __ATOMIC_RELAXED);
    return result;
}

static PyObject *naming_set_thread(PyObject *module, PyObject *name)
{
    PyObject *result = name_with(module, name, annot_name_thread);
    if (result != NULL)
        thread_is_named = true;
    return result;
}

static PyObject *naming_offer_process(PyObject *module, PyObject *name)
{
    if (__atomic_load_n(&process_is_named, __ATOMIC_RELAXED) == entered_forks + 1)
        Py_RETURN_NONE;
    return name_with(module, name, annot_name_process);
}

static PyObject *naming_offer_thread(PyObject *module, PyObject *name)
{
    if (thread_is_named)
        Py_RETURN_NONE;
    return name_with(module, name, annot_name_thread);
}

static PyObject *naming_emit_thread(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "name_thread_of() takes 2 arguments");
        return NULL;
    }
    long tid = PyLong_AsLong(args[0]);
    if (tid == -1 && PyErr_Occurred())
        return NULL;
    struct annotation *annotation = annotation_of_name(PyModule_GetState(module), args[1]);
    if (annotation == NULL)
        return NULL;
    annot_name_thread_of(tid > 0 && tid <= INT_MAX ? (int)tid : 0, annotation->event.text);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

/* ---- Functions for programs: see scope.h ----------------------------------------------------- */

#define SCOPE_FUNCTION(name)                                                                       \
    static PyObject *function_##name(PyObject *module, PyObject *const *args, Py_ssize_t count,    \
                                     PyObject *names)                                              \
    {                                                                                              \
        const struct scope scope = {PyModule_GetState(module), NULL};                              \
        const struct call call = {args, count, names};                                             \
        return scope_##name(&scope, &call);                                                        \
    }

SCOPE_FUNCTION(push)
SCOPE_FUNCTION(mark)
SCOPE_FUNCTION(counter)
SCOPE_FUNCTION(start)

static PyObject *function_enabled(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyBool_FromLong(annot_enabled());
}

static PyObject *function_current(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyLong_FromUnsignedLongLong(annot_current());
}

static PyObject *function_status(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyUnicode_DecodeUTF8(annot_status(), (Py_ssize_t)strlen(annot_status()), "replace");
}

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef functions[] = {
    {"push", WITH_KEYWORDS(function_push), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("push(name, *, domain=None, category=None, color=None, payload=None, level=0, "
               "**items)\n--\n\nOpen a range on the calling thread; pop() closes it.")},
    {"pop", scope_pop, METH_NOARGS,
     PyDoc_STR("pop()\n--\n\nClose the calling thread's innermost open range.")},
    {"mark", WITH_KEYWORDS(function_mark), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("mark(name, *, domain=None, category=None, color=None, payload=None, level=0, "
               "**items)\n--\n\nRecord one instant on the calling thread.")},
    {"counter", WITH_KEYWORDS(function_counter), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("counter(name, value, *, domain=None, category=None, color=None, level=0)\n"
               "--\n\nSet a counter of this process to a number, or several series of it:\n"
               "counter(\"memory\", {\"used\": 3, \"free\": 5}).")},
    {"start", WITH_KEYWORDS(function_start), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("start(name, *, domain=None, category=None, color=None, payload=None, level=0, "
               "**items)\n--\n\nOpen a range that may overlap others and end on any thread of\n"
               "this process. Returns its id for end(); 0 without a recording.")},
    {"end", scope_end, METH_O,
     PyDoc_STR("end(range, /)\n--\n\nClose a range that start() opened; 0 is ignored.")},
    {"set_process_name", naming_set_process, METH_O,
     PyDoc_STR("set_process_name(name, /)\n--\n\nName this process in all outputs.")},
    {"set_thread_name", naming_set_thread, METH_O,
     PyDoc_STR("set_thread_name(name, /)\n--\n\nName the calling thread in all outputs.")},
    {"enabled", function_enabled, METH_NOARGS,
     PyDoc_STR("enabled()\n--\n\nReturn true if this process is recorded now.")},
    {"current", function_current, METH_NOARGS,
     PyDoc_STR("current()\n--\n\nReturn the number of the calling thread's innermost range, for "
               "logs;\n0 if no range is open or without a recording.")},
    {"status", function_status, METH_NOARGS,
     PyDoc_STR(
         "status()\n--\n\nReturn 'recording', or the reason why this process is not recorded.")},
    {NULL, NULL, 0, NULL},
};

/* ---- Functions for pyannot.observe ----------------------------------------------------------- */

static PyMethodDef observe_functions[] = {
    {"observed_domain", scope_observed_domain, METH_VARARGS,
     PyDoc_STR("observed_domain(name, observer, role, /)\n--\n\n"
               "Return a domain for events of pyannot's observers (annot/observers.h).")},
    {"tasks_watch", tasks_watch, METH_VARARGS,
     PyDoc_STR("tasks_watch(get_running_loop, current_task, /)\n--\n\n"
               "Put ranges inside tasks on the tasks' tracks.")},
    {"tasks_unwatch", tasks_unwatch, METH_NOARGS,
     PyDoc_STR("tasks_unwatch()\n--\n\nEnd tasks_watch().")},
    {"greenlets_known", greenlets_known, METH_VARARGS,
     PyDoc_STR("greenlets_known(getcurrent, settrace, gettrace, /)\n--\n\n"
               "Watch greenlets. Returns replacements of the last two functions.")},
    {"greenlets_ranges", greenlets_ranges, METH_O,
     PyDoc_STR("greenlets_ranges(on, /)\n--\n\nPut ranges inside greenlets on their tracks.")},
    {"tasks_types", tasks_types, METH_VARARGS,
     PyDoc_STR("tasks_types(types, steps, /)\n--\n\nSet the types of tasks, and whether steps are "
               "shown.")},
    {"tasks_libraries", tasks_libraries, METH_O,
     PyDoc_STR("tasks_libraries(folders, /)\n--\n\n"
               "Set the folders without the user's code, and record where tasks await.")},
    {"tasks_slow_threshold", tasks_slow_threshold, METH_O,
     PyDoc_STR(
         "tasks_slow_threshold(nanoseconds, /)\n--\n\nRecord longer turns of a loop; 0: none.")},
    {"tasks_blocked_threshold", tasks_blocked_threshold, METH_O,
     PyDoc_STR("tasks_blocked_threshold(nanoseconds, /)\n--\n\n"
               "Record longer turns without a watchdog and stacks; 0: none.")},
    {"tasks_slow_turns", tasks_slow_turns, METH_NOARGS,
     PyDoc_STR("tasks_slow_turns()\n--\n\n"
               "Return long turns: [(place, number, thread, milliseconds, None)].")},
    {"tasks_slow_endless", tasks_slow_endless, METH_O,
     PyDoc_STR("tasks_slow_endless(nanoseconds, /)\n--\n\n"
               "Return turns that last longer than this, with their stacks.")},
    {"tasks_slow_stack", tasks_slow_stack, METH_VARARGS,
     PyDoc_STR("tasks_slow_stack(place, number, text, /)\n--\n\nStore the stack of a turn.")},
    {"collected", (PyCFunction)(void (*)(void))observe_collected, METH_FASTCALL,
     PyDoc_STR("collected(phase, info, /)\n--\n\nFor gc.callbacks.")},
    {"offer_process_name", naming_offer_process, METH_O,
     PyDoc_STR("offer_process_name(name, /)\n--\n\n"
               "Name the process, unless the program has named it.")},
    {"offer_thread_name", naming_offer_thread, METH_O,
     PyDoc_STR("offer_thread_name(name, /)\n--\n\n"
               "Name the calling thread, unless the program has named it.")},
    {"name_thread_of", (PyCFunction)(void (*)(void))naming_emit_thread, METH_FASTCALL,
     PyDoc_STR("name_thread_of(number, name, /)\n--\n\nName any thread of this process.")},
    {"imports_watch", imports_watch, METH_O,
     PyDoc_STR("imports_watch(on, /)\n--\n\nSet whether imports are ranges.")},
    {"open_file", observe_open, METH_VARARGS,
     PyDoc_STR("open_file(path, flags, /)\n--\n\nOpen a file without an audit event.")},
    {"starts_watch", starts_watch, METH_O,
     PyDoc_STR("starts_watch(on, /)\n--\n\nSet whether forks get arrows.")},
    {"starts_before_fork", starts_before_fork, METH_NOARGS,
     PyDoc_STR("starts_before_fork()\n--\n\nFor os.register_at_fork.")},
    {"starts_after_fork_in_parent", starts_after_fork_in_parent, METH_NOARGS,
     PyDoc_STR("starts_after_fork_in_parent()\n--\n\nFor os.register_at_fork.")},
    {"starts_after_fork_in_child", starts_after_fork_in_child, METH_NOARGS,
     PyDoc_STR("starts_after_fork_in_child()\n--\n\nFor os.register_at_fork.")},
    {"starts_observe", starts_observe, METH_O,
     PyDoc_STR(
         "starts_observe(function, /)\n--\n\n"
         "Draw arrows to programs that this C function starts. Returns true if it is known.")},
    {"starts_leave", starts_leave, METH_O,
     PyDoc_STR("starts_leave(function, /)\n--\n\nRestore the function.")},
    {"starts_arrived", starts_arrived, METH_NOARGS,
     PyDoc_STR(
         "starts_arrived()\n--\n\nEnd the arrow from the process that started this program.")},
    {NULL, NULL, 0, NULL},
};

/* ---- Types ----------------------------------------------------------------------------------- */

static const char *const argument_names[ARGUMENT_COUNT] = {
    [ARGUMENT_NAME] = "name",   [ARGUMENT_DOMAIN] = "domain", [ARGUMENT_CATEGORY] = "category",
    [ARGUMENT_COLOR] = "color", [ARGUMENT_LEVEL] = "level",   [ARGUMENT_PAYLOAD] = "payload",
    [ARGUMENT_VALUE] = "value",
};

/* Types that are made on first use, with the names of those that Python code uses. */
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

static PyTypeObject *type_create(PyObject *module, enum later_type type)
{
    return types[type].create(module);
}

/* __getattr__ of the module: a type that was not used before. */
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
    state->type_create = type_create;
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
    if (task_install(module) < 0 || PyModule_AddFunctions(module, trace_functions) < 0)
        return -1;
    return PyModule_AddFunctions(module, observe_functions);
}

/* Called after a failed import, and by the collector in any order: the state may be half-built. */
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
    .m_doc = "The C part of pyannot; use it through pyannot.",
    .m_size = sizeof(struct state),
    .m_methods = functions,
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
