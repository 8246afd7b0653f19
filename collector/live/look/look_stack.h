/* SPDX-License-Identifier: MIT */
/* One stack of a waiting thread, from its registers and memory: native and Python frames joined,
 * named, and kept in the trace. Thread-safety: one thread per object. */
#ifndef ANNOT_LOOK_STACK_H
#define ANNOT_LOOK_STACK_H

#include "look.h"
#include "look_space.h"
#include "python_remote.h"
#include "python_value.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* State of a waiting thread from /proc. Any of it may be missing or denied. */
struct look_call {
    bool known;     /* it waits, with readable registers */
    int32_t number; /* -1: not in a system call */
    uint64_t arguments[6];
    uint64_t sp, pc;
    bool frame_known; /* also rbp and rbx, which /proc lacks */
    uint64_t rbp, rbx;
};

struct look_stack {
    struct trace *trace;
    struct look_space space;
    struct python_remote *python; /* NULL: no Python, or unreadable */
    struct python_remote_thread *threads;
    int thread_count;
    struct python_values values; /* layout NULL: unknown */
    bool wants_locals;
    char reason[PYTHON_REMOTE_REASON_MAX];
};

/* 0, -ESRCH, -EPERM, -ENOMEM. */
int look_stack_open(struct look_stack *stack, int32_t pid, int32_t ns_pid, struct trace *trace);
void look_stack_close(struct look_stack *stack);

/* Reads the thread, with its registers in `call` if known. Fills stack, ends and source.
 * 0 or -ENOMEM. */
int look_stack_read(struct look_stack *stack, const struct look_call *call,
                    struct look_thread *thread);

/* Adds a thread's state in the interpreter: its name, and whether it holds the lock. */
void look_stack_describe(struct look_stack *stack, struct look_thread *thread);

/* True if a futex address is the lock of the interpreter. */
bool look_stack_is_gil(const struct look_stack *stack, uint64_t futex);

#endif
