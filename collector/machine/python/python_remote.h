/* SPDX-License-Identifier: MIT */
/* The Python stacks of another process, read through process_vm_readv: pauses nothing, loads
 * nothing into it. For the sampling rung without BPF and for looking at a process once.
 *
 * The process runs on while it is read. A stack with a changed top is reported as torn; deeper
 * frames cannot be checked that way, but change less. Needs the right to read the process (same
 * user, and the limits of Yama's ptrace_scope). Thread-safety: one thread per object. */
#ifndef ANNOT_PYTHON_REMOTE_H
#define ANNOT_PYTHON_REMOTE_H

#include "python_runtime.h"
#include "python_stack.h"
#include "stack_end.h"

struct python_remote;

enum { PYTHON_REMOTE_REASON_MAX = 200 };

/* Finds the interpreter in a process. 0; -ENOENT: no interpreter; -EAGAIN: not initialised yet;
 * -ENOTSUP: an unknown interpreter; -EPERM; -ESRCH; -ENOMEM. `reason` describes the failure. Opens
 * the files that the process has mapped as code: milliseconds. */
int python_remote_open(int32_t pid, struct python_remote **ret_remote,
                       char reason[PYTHON_REMOTE_REASON_MAX]);
void python_remote_close(struct python_remote *remote); /* accepts NULL */

const struct python_runtime *python_remote_runtime(const struct python_remote *remote);

struct python_remote_thread {
    uint64_t tstate;
    int32_t tid;    /* as in /proc/PID/task; 0 = unknown */
    int32_t ns_tid; /* in its own pid namespace */
};

/* Lists threads with a Python thread state, at most `size`. Returns their number, or -errno: -ESRCH
 * when the process has ended, -EAGAIN when the list changed while being read. */
int python_remote_threads(struct python_remote *remote, struct python_remote_thread *threads,
                          size_t size);

/* Strings are owned by the remote and stay valid until it is closed. */
struct python_remote_frame {
    uint64_t address, code, key;
    uint64_t anchor;
    const char *function, *file; /* "?" and "" if unreadable */
    int32_t first_line;          /* 0 = unknown */
    struct source_place place;
    int32_t instruction;
    uint8_t flags; /* SAMPLER_PYTHON_ENTRY, SAMPLER_PYTHON_SHIM */
};

/* True if the thread holds the global interpreter lock now. */
bool python_remote_holds_gil(const struct python_remote *remote,
                             const struct python_remote_thread *thread);

/* The stack of a thread, leaf first, shims included. Returns the number of frames written; *ret_end
 * is the reason of its end: STACK_COMPLETE, STACK_DEPTH, STACK_FAULT, STACK_BAD_FRAME, or
 * STACK_TORN when the top changed while it was read; discard that stack. 5-10 microseconds. */
uint32_t python_remote_stack(struct python_remote *remote,
                             const struct python_remote_thread *thread,
                             struct python_remote_frame *frames, uint32_t size,
                             enum stack_end *ret_end);

#endif
