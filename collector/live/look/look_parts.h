/* SPDX-License-Identifier: MIT */
/* What the files of a look share with each other only. Thread-safety: one thread per object. */
#ifndef ANNOT_LOOK_PARTS_H
#define ANNOT_LOOK_PARTS_H

#include "elf_file.h"
#include "look.h"
#include "python_remote.h"
#include "python_value.h"
#include "symbol_module.h"
#include "symbol_other.h"
#include "trace.h"
#include "unwind_stack.h"
#include "unwind_table.h"
#include "vec.h"

#ifdef __x86_64__
#include <sys/user.h>
#endif

/* What /proc tells of a thread that waits. Any of it may be gone or denied. */
struct look_call {
    bool known;     /* it waits, and we may know where */
    int32_t number; /* -1: not in a system call */
    uint64_t arguments[6];
    uint64_t sp, pc;
    bool frame_known; /* rbp and rbx, too, which /proc does not tell */
    uint64_t rbp, rbx;
};

/* ---- Asking Python: look_python.c, look_debugger.c ---- */

struct text;

/* Lines of Python, with a space before each, around what is asked for: the first raise unless it is
 * still to be done, the last hand on `answer`, which ends with NUL. */
struct look_mail {
    const char *take, *answer;
};

/* 0 or -E2BIG. */
int look_python_compose(const struct look_python *run, const struct look_mail *mail,
                        struct text *script);
/* Takes the mark off an answer: 0, or negative with the reason. */
int look_python_answer(char answer[LOOK_ANSWER_SIZE], struct look_reason *reason);

/* By the interpreter's own way for that (PEP 768): nothing is stopped. As look_python_run, or
 * LOOK_NOT_TAKEN: it has none, or its main thread does not run Python now. */
enum { LOOK_NOT_TAKEN = 1 };

int look_debugger_run(const struct look_python *run, char answer[LOOK_ANSWER_SIZE],
                      struct look_reason *ret_reason);

/* ---- Address space: look_space.c ----
 *
 * The code that a process has mapped, for unwinding and naming one stack after another.
 *
 * Files are opened and their tables built when an address first falls into them. Foreign bytes:
 * bounded. Thread-safety: one thread per object. */

struct look_module {
    uint64_t begin, end, offset, inode;
    uint32_t major, minor;
    char *path;
    bool opened;
    struct elf_file *file; /* NULL: none, or not to be had */
    bool missing;          /* not to be had, or its table: walks end there */
    struct unwind_table *table;
    struct symbol_module *symbols;
    struct function_starts *starts; /* made when an address has no name; NULL: not there */
    bool starts_tried;
    uint64_t bias;
};

struct look_space {
    int32_t pid;
    VEC(struct look_module) modules; /* executable mappings, by address */
    struct symbol_jit *jit;
};

/* 0 or -errno of reading its mappings. */
int look_space_open(struct look_space *space, int32_t pid, int32_t ns_pid);
void look_space_close(struct look_space *space);

/* What is mapped there, with its file opened; NULL: nothing executable. Valid until close. */
struct look_module *look_space_find(struct look_space *space, uint64_t address);

enum { LOOK_DEPTH = 1024 };

struct look_walk {
    struct unwind_frame frames[LOOK_DEPTH]; /* leaf first */
    uint32_t count;
    enum stack_end end;
};

/* Walks from the registers of a thread that waits. */
void look_space_unwind(struct look_space *space, const struct unwind_registers *registers,
                       struct look_walk *ret_walk);

struct look_name {
    char function[256];
    const char *module; /* valid until close; "" = none */
    uint64_t address;   /* the module's own */
    bool jit;
};

/* What people call an address; `caller`: it is a return address. */
void look_space_name(struct look_space *space, uint64_t address, bool caller,
                     struct look_name *ret_name);

/* ---- Native stacks: look_stack.c ----
 *
 * One stack of a thread that waits, from what was read of it: native and Python frames joined,
 * named, and kept in the trace. Thread-safety: one thread per object. */

struct look_stack {
    struct trace *trace;
    struct look_space space;
    struct python_remote *python; /* NULL: no Python, or not to be read */
    struct python_remote_thread *threads;
    int thread_count;
    struct python_values values; /* layout NULL: not known */
    bool wants_locals;
    char reason[PYTHON_REMOTE_REASON_MAX];
};

/* 0, -ESRCH, -EPERM, -ENOMEM. */
int look_stack_open(struct look_stack *stack, int32_t pid, int32_t ns_pid, struct trace *trace);
void look_stack_close(struct look_stack *stack);

/* Reads the thread; `call` tells its registers if they are known. Fills stack, ends and source.
 * 0 or -ENOMEM. */
int look_stack_read(struct look_stack *stack, const struct look_call *call,
                    struct look_thread *thread);

/* What only the interpreter knows of a thread: its name, and whether it holds the lock. */
void look_stack_describe(struct look_stack *stack, struct look_thread *thread);

/* Whether a futex address is the lock of the interpreter. */
bool look_stack_is_gil(const struct look_stack *stack, uint64_t futex);

/* ---- A thread that is made to call functions: look_traced.c ----
 *
 * By ptrace. Only on machines that look_enter() knows. Thread-safety: one thread, which is the
 * tracer; what it traces is let go when its process ends. */

#ifdef __x86_64__
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

/* ---- A place where a thread can be made to call: look_place.c ----
 *
 * Used by a child process, which alone traces. Thread-safety: one thread. */

struct look_place {
    struct look_space space;
    struct look_traced traced; /* of a thread that is stopped, with a stack for calls */
    struct look_walk walk;
    pid_t pid;
    uint64_t errno_at;
    struct look_reason *reason;
    uint64_t value; /* for who called look_place_use */
};

struct look_use {
    /* Before a thread is stopped. 0, or negative with the reason. */
    int (*find)(struct look_place *place, void *context);
    /* In one that is. 0; 1: another thread may do; negative with the reason. */
    int (*work)(struct look_place *place, void *context);
    void *context; /* what they write to it stays in the child */
};

/* 0, or negative with the reason; -EAGAIN: no thread came to such a place. Waits seconds. */
int look_place_use(pid_t pid, const struct look_use *use, uint64_t *ret_value,
                   struct look_reason *ret_reason);
/* A function that the C library or the dynamic linker exports; `of_any`: or anything else. 0: none
 * does. */
uint64_t look_place_function(struct look_place *place, const char *name, bool of_any);
/* 0, or negative with the reason. */
int look_place_call(struct look_place *place, uint64_t function, const uint64_t arguments[2],
                    uint64_t *ret_value);
/* Writes the reason; -ECANCELED. */
int look_refuse(struct look_reason *reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#endif

#endif
