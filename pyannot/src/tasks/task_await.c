/* SPDX-License-Identifier: MIT */
/* Where a task was suspended: a mark on its track when it resumes, if that took long.
 *
 * Before a step the task's coroutines are suspended, each at the object that it awaits, down to the
 * future that is done now. They are followed from the outermost one, for the function of the user's
 * own that waited, its line, and the function of a library that it waited for. An object that is no
 * coroutine of Python's (Cython's) ends the chain; a task of these makes no mark.
 *
 * Threads: the one that steps the task. */

#include "task_await.h"

#include "arguments.h"
#include "observed.h"
#include "task.h"
#include "task_track.h"

#include <annot/observers.h>

#include <frameobject.h>
#include <string.h>

/* Limit: a longer chain makes no mark. Frameworks have some dozens of coroutines around a
 * handler. */
enum { CHAIN_MAX = 128 };

/* ---- Coroutines ------------------------------------------------------------------------------ */

enum link_kind { LINK_COROUTINE = 0, LINK_ASYNC_GENERATOR, LINK_GENERATOR, LINK_KINDS };

enum link_part { PART_CODE = 0, PART_AWAITED, PART_FRAME, LINK_PARTS };

_Static_assert(LINK_KINDS *LINK_PARTS == TASK_AWAIT_NAMES, "a name for each");

/* One coroutine of the chain. Zero: absent. */
struct link {
    PyObject *object; /* borrowed */
    PyObject *code, *name;
};

static void link_clear(struct link *link)
{
    Py_CLEAR(link->code);
    Py_CLEAR(link->name);
}

static enum link_kind kind_of(PyObject *object)
{
    return PyCoro_CheckExact(object)       ? LINK_COROUTINE
           : PyAsyncGen_CheckExact(object) ? LINK_ASYNC_GENERATOR
           : PyGen_CheckExact(object)      ? LINK_GENERATOR
                                           : LINK_KINDS;
}

static PyObject *link_get(const struct task_state *tasks, PyObject *object, enum link_part part)
{
    return PyObject_GetAttr(object, tasks->await_names[kind_of(object) * LINK_PARTS + part]);
}

/* Returns the function's name as in samples. Before 3.11 code has no qualified name. */
static PyObject *link_name(const struct task_state *tasks, const struct link *link)
{
#if PY_VERSION_HEX >= 0x030B0000
    (void)tasks;
    return Py_NewRef(((PyCodeObject *)link->code)->co_qualname);
#else
    return PyObject_GetAttr(link->object, tasks->qualname_name);
#endif
}

/* False: unknown, maybe with an exception. */
static bool link_init(const struct task_state *tasks, struct link *link, PyObject *object)
{
    *link = (struct link){.object = object};
    link->code = link_get(tasks, object, PART_CODE);
    if (link->code == NULL || !PyCode_Check(link->code))
        return false;
    link->name = link_name(tasks, link);
    return link->name != NULL && PyUnicode_Check(link->name);
}

static int take_first(PyObject *object, void *ret_first)
{
    if (PyType_Check(object))
        return 0;
    *(PyObject **)ret_first = object;
    return 1;
}

/* Returns the object inside of the interpreter's own wrappers: the generator of the awaited item,
 * the coroutine of the __await__(), the awaited future. The wrappers have no attributes for it, but
 * their tp_traverse visits it first. New reference; NULL: not a wrapper. */
static PyObject *unwrapped(PyObject *object)
{
    static const char *const wrappers[] = {"async_generator_asend", "async_generator_athrow",
                                           "anext_awaitable", "coroutine_wrapper",
                                           "_asyncio.FutureIter"};
    PyTypeObject *type = Py_TYPE(object);
    PyObject *first = NULL;
    for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++) {
        if (strcmp(type->tp_name, wrappers[i]) == 0 && type->tp_traverse != NULL)
            type->tp_traverse(object, take_first, &first);
    }
    return Py_XNewRef(first);
}

/* ---- Own code -------------------------------------------------------------------------------- */

/* `folders` (tuple of str): the standard library's and pyannot's. */
static bool path_is_own(const char *path, PyObject *folders)
{
    if (strncmp(path, "<frozen ", 8) == 0 || strstr(path, "/site-packages/") != NULL ||
        strstr(path, "/dist-packages/") != NULL)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(folders); i++) {
        Py_ssize_t length = 0;
        const char *folder = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(folders, i), &length);
        if (folder == NULL)
            PyErr_Clear();
        else if (strncmp(path, folder, (size_t)length) == 0 && path[length] == '/')
            return false;
    }
    return true;
}

static bool link_is_own(const struct link *link, PyObject *folders)
{
    PyObject *owner = NULL;
    const char *path = text_of(((PyCodeObject *)link->code)->co_filename, &owner);
    bool is_own = path != NULL && path_is_own(path, folders);
    Py_XDECREF(owner);
    return is_own;
}

/* True for functions that a user calls: StreamReader.read, but not StreamReader._wait_for_data,
 * where it ends; and TaskGroup.__aexit__. */
static bool name_is_public(PyObject *name)
{
    Py_ssize_t length = PyUnicode_GetLength(name);
    Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, length, -1);
    Py_ssize_t begin = dot < 0 ? 0 : dot + 1;
    if (begin >= length || PyUnicode_READ_CHAR(name, begin) != '_')
        return true;
    return length - begin > 4 && PyUnicode_READ_CHAR(name, begin + 1) == '_' &&
           PyUnicode_READ_CHAR(name, length - 1) == '_';
}

/* ---- The chain ------------------------------------------------------------------------------- */

struct chain {
    PyObject *objects[CHAIN_MAX]; /* coroutines, the innermost last; owned */
    int count;
    PyObject *end;        /* awaited by the innermost one; NULL: it yields */
    struct link function; /* the innermost that is own, else the innermost of all */
    struct link library;  /* awaited by that: the innermost that is public, else of all */
};

static void chain_clear(struct chain *chain)
{
    while (chain->count > 0)
        Py_DECREF(chain->objects[--chain->count]);
    Py_CLEAR(chain->end);
    link_clear(&chain->function);
    link_clear(&chain->library);
}

/* Takes over `object`. Returns the object that it awaits: a new reference, or NULL, maybe with an
 * exception. */
static PyObject *chain_add(const struct task_state *tasks, struct chain *chain, PyObject *object)
{
    chain->objects[chain->count++] = object;
    PyObject *awaited = link_get(tasks, object, PART_AWAITED);
    if (awaited == Py_None)
        Py_CLEAR(awaited);
    return awaited;
}

/* Finds all coroutines of the task. False: they are unknown, or too many. */
static bool chain_follow(const struct task_state *tasks, struct chain *chain, PyObject *task)
{
    PyObject *at = PyObject_CallMethodNoArgs(task, tasks->get_coro_name);
    for (int i = 0; at != NULL && i < CHAIN_MAX; i++) {
        Py_CLEAR(chain->end);
        if (kind_of(at) != LINK_KINDS) {
            at = chain_add(tasks, chain, at);
        } else {
            chain->end = at;
            at = unwrapped(at);
        }
    }
    bool is_whole = at == NULL && !PyErr_Occurred();
    Py_XDECREF(at);
    return is_whole && chain->count > 0;
}

/* Looks at the coroutines from the innermost one on, up to one that is own. False: an exception. */
static bool chain_look(const struct task_state *tasks, struct chain *chain, PyObject *folders)
{
    for (int i = chain->count - 1; i >= 0; i--) {
        struct link link;
        if (!link_init(tasks, &link, chain->objects[i])) {
            link_clear(&link);
            return false;
        }
        if (link_is_own(&link, folders)) {
            chain->function = link;
            return true;
        }
        if (chain->library.name == NULL ||
            (!name_is_public(chain->library.name) && name_is_public(link.name))) {
            link_clear(&chain->library);
            chain->library = link;
        } else {
            link_clear(&link);
        }
    }
    return link_init(tasks, &chain->function, chain->objects[chain->count - 1]);
}

/* ---- The mark -------------------------------------------------------------------------------- */

static const char *type_name(PyObject *object)
{
    const char *dot = object ? strrchr(Py_TYPE(object)->tp_name, '.') : NULL;
    return dot ? dot + 1 : object ? Py_TYPE(object)->tp_name : "yield";
}

/* 0: unknown. */
static int line_of(const struct task_state *tasks, const struct link *link)
{
    PyObject *frame = link_get(tasks, link->object, PART_FRAME);
    int line = frame && PyFrame_Check(frame) ? PyFrame_GetLineNumber((PyFrameObject *)frame) : 0;
    Py_XDECREF(frame);
    return line;
}

static void mark(const struct task_track *track, double milliseconds, const struct chain *chain,
                 int line)
{
    static annot_name name;
    PyObject *owners[3] = {0};
    PyObject *library = chain->library.name;
    const char *awaits = library ? text_of(library, &owners[0]) : type_name(chain->end);
    const char *function = text_of(chain->function.name, &owners[1]);
    const char *file = text_of(((PyCodeObject *)chain->function.code)->co_filename, &owners[2]);
    if (awaits != NULL && function != NULL && file != NULL) {
        const struct annot_value values[] = {
            annot_value_double(ANNOT_ASYNCIO_KEY_MS, milliseconds),
            annot_value_string(ANNOT_ASYNCIO_KEY_AWAITS, awaits),
            annot_value_string(ANNOT_ASYNCIO_KEY_FUNCTION, function),
            annot_value_string(ANNOT_ASYNCIO_KEY_FILE, file),
            annot_value_int64(ANNOT_ASYNCIO_KEY_LINE, line),
        };
        struct annot_event event = awaited_event();
        event.text = "awaited";
        event.name = annot_site_name(&name, event.text);
        event.values = values;
        event.value_count = sizeof(values) / sizeof(*values);
        annot_track_mark_event(&track->track, &event);
    }
    for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++)
        Py_XDECREF(owners[i]);
}

/* True if the awaited future is not done: a handle of the task's may have another purpose than its
 * step, as in loop.call_later(1, task.cancel). */
static bool still_waits(const struct task_state *tasks, PyObject *task)
{
    PyObject *waiter = NULL, *done = NULL;
    if (attribute_find(task, tasks->waiter_name, &waiter) > 0 && waiter != Py_None)
        done = PyObject_CallMethodNoArgs(waiter, tasks->done_name);
    Py_XDECREF(waiter);
    Py_XDECREF(done);
    return done == Py_False;
}

static void emit(const struct task_state *tasks, const struct task_track *track, PyObject *task,
                 double milliseconds)
{
    struct chain chain;
    chain.count = 0;
    chain.end = NULL;
    chain.function = chain.library = (struct link){0};
    PyObject *folders = task_part_take(&tasks->libraries);
    if (folders != NULL && chain_follow(tasks, &chain, task) &&
        chain_look(tasks, &chain, folders)) {
        int line = line_of(tasks, &chain.function);
        if (line > 0)
            mark(track, milliseconds, &chain, line);
    }
    chain_clear(&chain);
    Py_XDECREF(folders);
}

bool awaited_emit(struct state *state, const struct task_track *track, PyObject *task,
                  uint64_t duration_ns)
{
    const struct annot_event event = awaited_event();
    PyObject *kind, *value, *traceback;
    if (!annot_track_wants(&event))
        return true;
    PyErr_Fetch(&kind, &value, &traceback);
    bool goes_on = !still_waits(&state->tasks, task);
    PyErr_Clear();
    if (goes_on)
        emit(&state->tasks, track, task, (double)duration_ns / 1e6);
    PyErr_Clear();
    PyErr_Restore(kind, value, traceback);
    return goes_on;
}

/* ---- The module's part ----------------------------------------------------------------------- */

int task_await_install(struct task_state *tasks)
{
    static const char *const names[TASK_AWAIT_NAMES] = {
        "cr_code",  "cr_await", "cr_frame",     "ag_code",  "ag_await",
        "ag_frame", "gi_code",  "gi_yieldfrom", "gi_frame",
    };
    for (int i = 0; i < TASK_AWAIT_NAMES; i++) {
        tasks->await_names[i] = PyUnicode_InternFromString(names[i]);
        if (tasks->await_names[i] == NULL)
            return -1;
    }
    tasks->get_coro_name = PyUnicode_InternFromString("get_coro");
    tasks->waiter_name = PyUnicode_InternFromString("_fut_waiter");
    tasks->qualname_name = PyUnicode_InternFromString("__qualname__");
    return tasks->get_coro_name && tasks->waiter_name && tasks->qualname_name ? 0 : -1;
}

void task_await_clear(struct task_state *tasks)
{
    for (int i = 0; i < TASK_AWAIT_NAMES; i++)
        Py_CLEAR(tasks->await_names[i]);
    Py_CLEAR(tasks->get_coro_name);
    Py_CLEAR(tasks->waiter_name);
    Py_CLEAR(tasks->qualname_name);
    Py_CLEAR(tasks->libraries);
}

/* tasks_libraries(folders): folders without code of the user's own. Awaits are recorded from now
 * on, unless the tuple is empty. */
PyObject *tasks_libraries(PyObject *module, PyObject *folders)
{
    struct state *state = PyModule_GetState(module);
    PyObject *kept = PyTuple_Check(folders) && PyTuple_GET_SIZE(folders) > 0 ? folders : NULL;
    for (Py_ssize_t i = 0; kept && i < PyTuple_GET_SIZE(kept); i++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(kept, i))) {
            PyErr_SetString(PyExc_TypeError, "tasks_libraries() takes a tuple of str");
            return NULL;
        }
    }
    task_part_set(&state->tasks.libraries, kept);
    Py_RETURN_NONE;
}
