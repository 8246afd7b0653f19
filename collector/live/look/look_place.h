/* SPDX-License-Identifier: MIT */
/* A place in a process where one of its threads can call functions. Used by a child process, the
 * only tracer. Thread-safety: one thread. */
#ifndef ANNOT_LOOK_PLACE_H
#define ANNOT_LOOK_PLACE_H

#include "look_enter.h"
#include "look_space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread of another process that is made to call functions, by ptrace. Only on machines supported
 * by look_enter(). */

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

int look_traced_write(const struct look_traced *traced, uint64_t at, const void *bytes,
                      size_t size);

#endif

#ifdef __x86_64__
struct look_place {
    struct look_space space;
    struct look_traced traced; /* of the stopped thread, with a stack for calls */
    struct look_walk walk;
    pid_t pid;
    uint64_t errno_at;
    struct look_reason *reason;
    uint64_t value; /* result for the caller of look_place_use */
};

struct look_use {
    /* Called before a thread is stopped. 0, or negative with the reason. */
    int (*find)(struct look_place *place, void *context);
    /* Called in a stopped thread. 0; 1: try another thread; negative with the reason. */
    int (*work)(struct look_place *place, void *context);
    void *context; /* changes to it stay in the child */
};

/* 0, or negative with the reason; -EAGAIN: no thread reached such a place. Waits seconds. */
int look_place_use(pid_t pid, const struct look_use *use, uint64_t *ret_value,
                   struct look_reason *ret_reason);
/* The address of a function exported by the C library or the dynamic linker; `of_any`: or by any
 * module. 0: not found. */
uint64_t look_place_function(struct look_place *place, const char *name, bool of_any);
/* 0, or negative with the reason. */
int look_place_call(struct look_place *place, uint64_t function, const uint64_t arguments[2],
                    uint64_t *ret_value);
/* Writes the reason; -ECANCELED. */
int look_refuse(struct look_reason *reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

#endif
