/* SPDX-License-Identifier: MIT */
/* A thread of another process that is made to call functions, by ptrace. Only on machines supported
 * by look_enter(). Thread-safety: one thread, the tracer; the kernel releases its tracees when its
 * process ends. */
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
    int64_t call;                        /* its interrupted system call, negative: not in one */
    uint64_t mask;                       /* of blocked signals */
    uint8_t extended[LOOK_EXTENDED_MAX]; /* registers of vectors and floating point */
    size_t extended_size;
    uint64_t syscall_at, trap_at; /* instructions in the program's code; set by the caller */
    uint64_t stack;               /* for calls; 0: not made */
};

/* Stops a thread and saves its registers. 0, -EPERM, -ESRCH, -ETIMEDOUT (it sleeps
 * uninterruptibly), -EBUSY (the whole process is stopped). */
int look_traced_stop(struct look_traced *traced, pid_t pid, pid_t tid);
/* Restores its state and resumes it. */
void look_traced_go(struct look_traced *traced);

/* Allocates the stack for calls; frees it. 0 or negative errno. */
int look_traced_begin(struct look_traced *traced);
void look_traced_end(struct look_traced *traced);
/* Calls and waits without a limit: it can only be held up by a lock that others will release. 0,
 * -EFAULT or -ESRCH. */
int look_traced_call(struct look_traced *traced, uint64_t function, const uint64_t arguments[2],
                     uint64_t *ret_value);
int look_traced_write(const struct look_traced *traced, uint64_t at, const void *bytes,
                      size_t size);

#endif

#endif
