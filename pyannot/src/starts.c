/* SPDX-License-Identifier: MIT */
/* Arrows from the thread that starts a process to the first event of that process. Both sides of a
 * fork have its arrow. For another program both compute it, from the process id of the child and
 * its start time, because ids are reused.
 *
 * C functions that start programs (os.posix_spawn, _posixsubprocess.fork_exec) stay the same
 * objects, wherever the program keeps them: only the description that such an object refers to, a
 * PyMethodDef, is exchanged for one with another function pointer. Binding, pickles, texts and
 * identity do not change.
 * Threads: any. */
#include "starts.h"

#include "observed.h"

#include <annot/annot.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS_BEFORE_START = 20 }; /* of a stat line, after the name */

/* Returns the start time of a process, in ticks since boot; 0: unknown. */
static uint64_t start_ticks(const char *path)
{
    char line[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return 0;
    line[size] = 0;
    const char *at = strrchr(line, ')'); /* the name may hold spaces and parentheses */
    for (int field = 0; at != NULL && field < FIELDS_BEFORE_START; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static annot_flow flow_of(long pid, const char *path)
{
    uint64_t number = (uint64_t)pid << 40 ^ start_ticks(path);
    return annot_flow_id("start", number & INT64_MAX);
}

/* The arrow of the fork that the thread is about to make; the number of its forks with an arrow. */
static _Thread_local annot_flow fork_flow __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t forks __attribute__((tls_model("initial-exec")));

/* ---- Functions that start programs ----------------------------------------------------------- */

/* A started program has its arrow already if its fork was seen (preexec_fn). */
static PyObject *started(PyObject *result, uint32_t forks_before)
{
    char path[40];
    if (result == NULL || !PyLong_CheckExact(result) || forks != forks_before || !annot_enabled())
        return result;
    int overflow;
    long pid = PyLong_AsLongAndOverflow(result, &overflow);
    if (pid > 0) {
        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        annot_flow_begin(flow_of(pid, path), "start");
    }
    return result;
}

/* A function receives the module that it belongs to, not itself: so each has a C function. */
enum starter { POSIX_SPAWN = 0, POSIX_SPAWNP = 1, FORK_EXEC = 2, STARTERS = 3 };

/* CPython's own descriptions, which are static. W: the first interpreter that observes one, before
 * the function refers to its replacement. */
static const PyMethodDef *originals[STARTERS];

typedef PyObject *with_names(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *names);
typedef PyObject *without_names(PyObject *self, PyObject *const *args, Py_ssize_t count);

static PyObject *spawn(enum starter starter, PyObject *self, PyObject *const *args,
                       Py_ssize_t count, PyObject *names)
{
    uint32_t before = forks;
    with_names *call = (with_names *)(void (*)(void))originals[starter]->ml_meth;
    return started(call(self, args, count, names), before);
}

static PyObject *posix_spawn(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *names)
{
    return spawn(POSIX_SPAWN, self, args, count, names);
}

static PyObject *posix_spawnp(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *names)
{
    return spawn(POSIX_SPAWNP, self, args, count, names);
}

/* Up to 3.11: one tuple of arguments. */
static PyObject *fork_exec_tuple(PyObject *self, PyObject *args)
{
    uint32_t before = forks;
    return started(originals[FORK_EXEC]->ml_meth(self, args), before);
}

static PyObject *fork_exec(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    uint32_t before = forks;
    without_names *call = (without_names *)(void (*)(void))originals[FORK_EXEC]->ml_meth;
    return started(call(self, args, count), before);
}

static const struct {
    const char *name;
    PyCFunction function;
    enum starter starter;
    int flags;
} starters[] = {
    {"posix_spawn", (PyCFunction)(void (*)(void))posix_spawn, POSIX_SPAWN,
     METH_FASTCALL | METH_KEYWORDS},
    {"posix_spawnp", (PyCFunction)(void (*)(void))posix_spawnp, POSIX_SPAWNP,
     METH_FASTCALL | METH_KEYWORDS},
    {"fork_exec", fork_exec_tuple, FORK_EXEC, METH_VARARGS},
    {"fork_exec", (PyCFunction)(void (*)(void))fork_exec, FORK_EXEC, METH_FASTCALL},
};

static PyMethodDef replacements[STARTERS]; /* as originals */

/* Partner: calls of the function, which read the description once. */
static void describe(PyObject *function, PyMethodDef *description)
{
    __atomic_store_n(&((PyCFunctionObject *)function)->m_ml, description, __ATOMIC_RELEASE);
}

static bool observe_starter(PyObject *function)
{
    PyMethodDef *now = ((PyCFunctionObject *)function)->m_ml;
    for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++) {
        PyMethodDef *replacement = &replacements[starters[i].starter];
        if (now == replacement)
            return true;
        if (now->ml_flags != starters[i].flags || strcmp(now->ml_name, starters[i].name) != 0)
            continue;
        if (originals[starters[i].starter] == NULL) {
            *replacement = *now;
            replacement->ml_meth = starters[i].function;
            originals[starters[i].starter] = now;
        }
        if (originals[starters[i].starter] != now)
            return false;
        describe(function, replacement);
        return true;
    }
    return false;
}

PyObject *starts_observe(PyObject *module, PyObject *function)
{
    (void)module;
    return PyBool_FromLong(PyCFunction_CheckExact(function) && observe_starter(function));
}

PyObject *starts_leave(PyObject *module, PyObject *function)
{
    (void)module;
    for (int i = 0; PyCFunction_CheckExact(function) && i < STARTERS; i++)
        if (((PyCFunctionObject *)function)->m_ml == &replacements[i])
            describe(function, (PyMethodDef *)originals[i]);
    Py_RETURN_NONE;
}

PyObject *starts_arrived(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    if (annot_enabled())
        annot_flow_end(flow_of(getpid(), "/proc/self/stat"));
    Py_RETURN_NONE;
}

/* ---- Forks ----------------------------------------------------------------------------------- */

PyObject *starts_watch(PyObject *module, PyObject *on)
{
    struct state *state = PyModule_GetState(module);
    state->watches_forks = on == Py_True;
    Py_RETURN_NONE;
}

PyObject *starts_before_fork(PyObject *module, PyObject *ignored)
{
    const struct state *state = PyModule_GetState(module);
    (void)ignored;
    fork_flow = 0;
    if (state->watches_forks && annot_enabled()) {
        fork_flow = annot_flow_new();
        annot_flow_begin(fork_flow, "fork");
    }
    Py_RETURN_NONE;
}

PyObject *starts_after_fork_in_parent(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    forks += fork_flow != 0;
    fork_flow = 0;
    Py_RETURN_NONE;
}

PyObject *starts_after_fork_in_child(PyObject *module, PyObject *ignored)
{
    annot_flow flow = fork_flow;
    (void)module;
    (void)ignored;
    fork_flow = 0;
    if (flow != 0)
        annot_flow_end(flow);
    Py_RETURN_NONE;
}
