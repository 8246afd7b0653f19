/* SPDX-License-Identifier: MIT */
/* The functions of pyannot._native. */
#include "functions.h"

#include "annotation.h"
#include "entered.h"
#include "observed.h"
#include "scope.h"
#include "state.h"
#include "task.h"

#include <limits.h>
#include <string.h>

/* ---- Names of the process and of threads ----------------------------------------------------- */

/* What the program itself says stays; what pyannot.observe
 * offers is taken where nothing was said. */

/* entered_forks + 1 in the process that named itself: what a parent has said is no name of its
 * forked children. 0: nobody has. */
static uint32_t process_said;
static _Thread_local bool thread_said __attribute__((tls_model("initial-exec")));

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
        __atomic_store_n(&process_said, entered_forks + 1, __ATOMIC_RELAXED);
    return result;
}

static PyObject *naming_set_thread(PyObject *module, PyObject *name)
{
    PyObject *result = name_with(module, name, annot_name_thread);
    if (result != NULL)
        thread_said = true;
    return result;
}

static PyObject *naming_offer_process(PyObject *module, PyObject *name)
{
    if (__atomic_load_n(&process_said, __ATOMIC_RELAXED) == entered_forks + 1)
        Py_RETURN_NONE;
    return name_with(module, name, annot_name_process);
}

static PyObject *naming_offer_thread(PyObject *module, PyObject *name)
{
    if (thread_said)
        Py_RETURN_NONE;
    return name_with(module, name, annot_name_thread);
}

static PyObject *naming_tell_thread(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "tell_thread_name() takes 2 arguments");
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

/* ---- Of programs: see scope.h ---------------------------------------------------------------- */

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

PyMethodDef functions_table[] = {
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
               "this process. Returns its id for end(); 0 while nobody records.")},
    {"end", scope_end, METH_O,
     PyDoc_STR("end(range, /)\n--\n\nClose a range that start() opened; 0 is ignored.")},
    {"set_process_name", naming_set_process, METH_O,
     PyDoc_STR("set_process_name(name, /)\n--\n\nName this process in every output.")},
    {"set_thread_name", naming_set_thread, METH_O,
     PyDoc_STR("set_thread_name(name, /)\n--\n\nName the calling thread in every output.")},
    {"enabled", function_enabled, METH_NOARGS,
     PyDoc_STR("enabled()\n--\n\nWhether anybody records now.")},
    {"current", function_current, METH_NOARGS,
     PyDoc_STR("current()\n--\n\nThe number of the calling thread's innermost range, to write into "
               "logs;\n0 where none is open or nobody records.")},
    {"status", function_status, METH_NOARGS,
     PyDoc_STR("status()\n--\n\nWhy this process does not record, or 'recording'.")},
    {NULL, NULL, 0, NULL},
};

/* ---- Of pyannot.observe ---------------------------------------------------------------------- */

static PyMethodDef table[] = {
    {"tasks_watch", tasks_watch, METH_VARARGS,
     PyDoc_STR("tasks_watch(get_running_loop, current_task, /)\n--\n\n"
               "Ranges inside of tasks go to tracks of theirs.")},
    {"tasks_unwatch", tasks_unwatch, METH_NOARGS, PyDoc_STR("tasks_unwatch()\n--\n\n")},
    {"tasks_types", tasks_types, METH_VARARGS,
     PyDoc_STR("tasks_types(types, steps, /)\n--\n\nThe types of tasks; whether steps are shown.")},
    {"tasks_slow_threshold", tasks_slow_threshold, METH_O,
     PyDoc_STR("tasks_slow_threshold(nanoseconds, /)\n--\n\n0: no turn of a loop is too long.")},
    {"tasks_slow_turns", tasks_slow_turns, METH_NOARGS,
     PyDoc_STR("tasks_slow_turns()\n--\n\n[(place, number, thread, milliseconds, None)]")},
    {"tasks_slow_endless", tasks_slow_endless, METH_O,
     PyDoc_STR("tasks_slow_endless(nanoseconds, /)\n--\n\nThe same, with their stacks.")},
    {"tasks_slow_stack", tasks_slow_stack, METH_VARARGS,
     PyDoc_STR("tasks_slow_stack(place, number, text, /)\n--\n\nTells where a turn is.")},
    {"collected", (PyCFunction)(void (*)(void))observe_collected, METH_FASTCALL,
     PyDoc_STR("collected(phase, info, /)\n--\n\nFor gc.callbacks.")},
    {"offer_process_name", naming_offer_process, METH_O,
     PyDoc_STR("offer_process_name(name, /)\n--\n\nUnless the program has named it itself.")},
    {"offer_thread_name", naming_offer_thread, METH_O,
     PyDoc_STR("offer_thread_name(name, /)\n--\n\nUnless the program has named it itself.")},
    {"tell_thread_name", (PyCFunction)(void (*)(void))naming_tell_thread, METH_FASTCALL,
     PyDoc_STR("tell_thread_name(number, name, /)\n--\n\nOf any thread of this process.")},
    {"starts_watch", starts_watch, METH_O,
     PyDoc_STR("starts_watch(on, /)\n--\n\nWhether forks get arrows.")},
    {"starts_before_fork", starts_before_fork, METH_NOARGS,
     PyDoc_STR("starts_before_fork()\n--\n\nFor os.register_at_fork.")},
    {"starts_after_fork_in_parent", starts_after_fork_in_parent, METH_NOARGS,
     PyDoc_STR("starts_after_fork_in_parent()\n--\n\nFor os.register_at_fork.")},
    {"starts_after_fork_in_child", starts_after_fork_in_child, METH_NOARGS,
     PyDoc_STR("starts_after_fork_in_child()\n--\n\nFor os.register_at_fork.")},
    {"starts_arrived", starts_arrived, METH_NOARGS,
     PyDoc_STR("starts_arrived()\n--\n\nThe arrow from who started this program.")},
    {NULL, NULL, 0, NULL},
};

int observe_functions_add(PyObject *module)
{
    return task_install(module) < 0 ? -1 : PyModule_AddFunctions(module, table);
}
