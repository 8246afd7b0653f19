/* SPDX-License-Identifier: MIT */
/* pyannot._detach: starts a program that is not a child of its starter: wait() never returns it, no
 * SIGCHLD comes from it, and it inherits only the environment, the limits and three descriptors.
 *
 * It has its own session, so that keys of a terminal do not reach it, the directory / and default
 * signal handling. Only if the caller is the reaper of orphans (the first process of a container,
 * PR_SET_CHILD_SUBREAPER) does it become its child nevertheless.
 *
 * Two clones share our memory, one inside the other, as vfork does it: no memory is copied, however
 * large we are, and no handler of fork runs. The outer one has no exit signal, so that wait()
 * passes it by (except with __WALL or __WCLONE); it ends at once and leaves the inner one, which
 * becomes the program, to the reaper of orphans. Each waits for the one inside. Until exec the
 * clones run on our memory: system calls only. */
#include "compat.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_SIZE = 64 * 1024, FIRST_SPARE = 3, CLOSE_MAX = 1 << 20 };

struct detach {
    const char *path;         /* of the program; absolute */
    char *const *arguments;   /* with its name, NULL-terminated */
    char *const *environment; /* NULL-terminated */
    int descriptors[3];       /* the caller's; they become 0, 1, 2 */
};

struct start {
    const struct detach *detach;
    char *stacks; /* one for each clone */
    pid_t pid;
    int error; /* positive; W: the clones, while we wait */
};

static void reset_signals(void)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &standard, NULL); /* fails for a few that cannot be changed */
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, FIRST_SPARE, ~0u, 0) == 0)
        return;
#endif
    struct rlimit limit;
    rlim_t count = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : CLOSE_MAX;
    for (int fd = FIRST_SPARE; (rlim_t)fd < count && fd < CLOSE_MAX; fd++)
        close(fd);
}

/* Descriptors may be 0, 1 and 2 in another order, so they are first moved out of the way. */
static int take_descriptors(const int descriptors[3])
{
    int spare[3];
    for (int i = 0; i < 3; i++) {
        spare[i] = fcntl(descriptors[i], F_DUPFD, FIRST_SPARE);
        if (spare[i] < 0)
            return -1;
    }
    for (int i = 0; i < 3; i++) {
        if (dup2(spare[i], i) < 0)
            return -1;
    }
    return 0;
}

static int inner(void *context)
{
    struct start *start = context;
    const struct detach *detach = start->detach;
    reset_signals();
    if (take_descriptors(detach->descriptors) == 0 && chdir("/") == 0) {
        close_others();
        execve(detach->path, detach->arguments, detach->environment);
    }
    start->error = errno;
    _exit(127);
}

static int outer(void *context)
{
    struct start *start = context;
    setsid();
    /* The exit signal counts only if exec fails; then the reaper of orphans needs one. */
    pid_t pid =
        clone(inner, start->stacks + (size_t)STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, start);
    if (pid < 0)
        start->error = errno;
    start->pid = pid;
    _exit(0);
}

static int start_both(struct start *start)
{
    sigset_t all, before;
    int status;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* no handler of ours runs in a clone */
    pid_t pid = clone(outer, start->stacks + 2 * (size_t)STACK_SIZE, CLONE_VM | CLONE_VFORK, start);
    int error = pid < 0 ? errno : start->error;
    while (pid > 0 && waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

/* Lets a process read our memory where Yama (kernel.yama.ptrace_scope=1) reserves that for
 * ancestors: samples of Python code without eBPF need it. The kernel revokes it when that process
 * ends. Each process has one such permission, so a program's own is replaced. Without Yama the call
 * fails, and is not needed. */
static void permit_reading(pid_t pid)
{
    (void)prctl(PR_SET_PTRACER, (unsigned long)pid, 0UL, 0UL, 0UL);
}

/* Returns 0 and the pid, or -errno of the failed step, for instance of the exec. Any thread;
 * changes only who may read the caller's memory. Cost: two processes that share the caller's
 * memory, some 0.2 ms. */
static int detach_start(const struct detach *detach, pid_t *ret_pid)
{
    struct start start = {.detach = detach, .pid = -1};
    void *stacks = mmap(NULL, 2 * (size_t)STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return -errno;
    start.stacks = stacks;
    int error = start_both(&start);
    munmap(stacks, 2 * (size_t)STACK_SIZE);
    *ret_pid = start.pid;
    if (error == 0)
        permit_reading(start.pid);
    return error;
}

/* ---- pyannot._detach ------------------------------------------------------------------------- */

/* Returns the bytes objects of a sequence, NULL-terminated; they stay the sequence's. NULL: an
 * exception. */
static char **strings_of(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    char **strings = PyMem_Calloc((size_t)count + 1, sizeof(*strings));
    if (strings == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(tuple, i), &strings[i], NULL) < 0) {
            PyMem_Free(strings);
            return NULL;
        }
    }
    return strings;
}

static PyObject *start_with(struct detach *detach, PyObject *arguments, PyObject *environment)
{
    pid_t pid = -1;
    int error = 0;
    char **words = strings_of(arguments);
    char **variables = words ? strings_of(environment) : NULL;
    if (variables) {
        detach->arguments = words;
        detach->environment = variables;
        Py_BEGIN_ALLOW_THREADS error = detach_start(detach, &pid);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(variables);
    PyMem_Free(words);
    if (PyErr_Occurred())
        return NULL;
    if (error == 0)
        return PyLong_FromLong(pid);
    errno = -error;
    return PyErr_SetFromErrnoWithFilename(PyExc_OSError, detach->path);
}

static PyObject *start(PyObject *module, PyObject *args)
{
    struct detach detach = {0};
    PyObject *arguments, *environment;
    (void)module;
    if (!PyArg_ParseTuple(args, "yO!O!(iii):start", &detach.path, &PyTuple_Type, &arguments,
                          &PyTuple_Type, &environment, &detach.descriptors[0],
                          &detach.descriptors[1], &detach.descriptors[2]))
        return NULL;
    return start_with(&detach, arguments, environment);
}

static PyObject *permit(PyObject *module, PyObject *number)
{
    long pid = PyLong_AsLong(number);
    (void)module;
    if (pid == -1 && PyErr_Occurred())
        return NULL;
    permit_reading((pid_t)pid);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"start", start, METH_VARARGS,
     "start(path, arguments, environment, (input, output, error)) -> pid of a program that is no\n"
     "child of this process. Texts are bytes."},
    {"permit", permit, METH_O,
     "permit(pid): lets that process read the memory of this one, a forked child, as start() did\n"
     "for its parent."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
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
    .m_name = "pyannot._detach",
    .m_doc = "Starts programs that are no children of this process, for pyannot.record.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__detach(void);

PyMODINIT_FUNC PyInit__detach(void)
{
    return PyModuleDef_Init(&definition);
}
