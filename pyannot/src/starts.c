/* SPDX-License-Identifier: MIT */
/* Arrows from whoever starts a process to its first event. That of a fork is known to the thread on
 * both sides of it. That of another program both sides work out: from the number of the child, and
 * from when it began, because numbers come again. Threads: any. */
#include "functions.h"
#include "observed.h"
#include "state.h"

#include <annot/annot.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS_BEFORE_START = 20 }; /* of a stat line, behind the name */

/* When a process began, in ticks since boot; 0: not known. */
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

/* Of the fork that the thread is about to make; and how many of its forks had an arrow. */
static _Thread_local annot_flow fork_flow __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t forks __attribute__((tls_model("initial-exec")));

/* os.posix_spawn and its like return the number of the process. If they told of a fork
 * (preexec_fn), that arrow leads there already. */
PyObject *observed_start(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    uint32_t before = forks;
    PyObject *result = PyObject_Vectorcall(((struct observed *)self)->wrapped, args, flags, names);
    char path[40];
    if (result == NULL || !PyLong_CheckExact(result) || forks != before || !annot_enabled())
        return result;
    int overflow;
    long pid = PyLong_AsLongAndOverflow(result, &overflow);
    if (pid > 0) {
        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        annot_flow_begin(flow_of(pid, path), "start");
    }
    return result;
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
