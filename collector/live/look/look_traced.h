/* SPDX-License-Identifier: MIT */
/* A thread of another process that is made to call functions, by ptrace. Only on machines that
 * look_enter() knows. Thread-safety: one thread, which is the tracer; the kernel lets its tracees
 * go when its process ends. */
#ifndef ANNOT_LOOK_TRACED_H
#define ANNOT_LOOK_TRACED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __x86_64__
#include <sys/user.h>

enum { LOOK_EXTENDED_MAX = 16384 };

struct look_traced {
    pid_t pid, tid;
    struct user_regs_struct registers;
    int64_t call;                        /* the system call that it was in, negative: none */
    uint64_t mask;                       /* of blocked signals */
    uint8_t extended[LOOK_EXTENDED_MAX]; /* registers of vectors and floating point */
    size_t extended_size;
    uint64_t syscall_at, trap_at; /* instructions of the program's own; to be filled in */
    uint64_t stack;               /* for calls; 0: none */
};

/* Stops a thread and keeps its registers. 0, -EPERM, -ESRCH, -ETIMEDOUT (it sleeps where nothing
 * wakes it), -EBUSY (the whole process is stopped). */
int look_traced_stop(struct look_traced *traced, pid_t pid, pid_t tid);
/* Sends it on as it was, whatever it did meanwhile. */
void look_traced_go(struct look_traced *traced);

/* Makes the stack for calls; takes it away. 0 or negative errno. */
int look_traced_begin(struct look_traced *traced);
void look_traced_end(struct look_traced *traced);
/* Calls and waits, however long it takes: what holds it up is a lock that others will give. 0,
 * -EFAULT or -ESRCH. */
int look_traced_call(struct look_traced *traced, uint64_t function, const uint64_t arguments[2],
                     uint64_t *ret_value);
int look_traced_write(const struct look_traced *traced, uint64_t at, const void *bytes,
                      size_t size);

#endif

#endif
