/* SPDX-License-Identifier: MIT */
/* A thread of another program, run one instruction at a time, and the list of return addresses that
 * its calls have left on its stack: its true stack at any moment, derived only from the executed
 * instructions. Thread-safety: none. */
#ifndef ANNOT_TRACEE_H
#define ANNOT_TRACEE_H

#include "elf_file.h"
#include "unwind_stack.h"

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

enum { TRACEE_DEPTH = 1024, TRACEE_MAPPINGS = 512, TRACEE_MODULES = 256, TRACEE_COPY = 16384 };

struct tracee_module {
    char path[512];
    struct elf_file *file;
    struct unwind_table *table; /* NULL: without a table */
};

struct tracee_mapping {
    uint64_t begin, end, bias;
    const struct tracee_module *module; /* NULL: anonymous */
};

struct tracee_call {
    uint64_t place; /* address on the stack */
    uint64_t address;
};

struct tracee {
    pid_t pid, tid; /* of its first thread; of the stepped one */
    struct user_regs_struct registers;
    int signal; /* to deliver at the next step */
    bool fresh; /* mappings were read at this step */
    struct tracee_mapping mappings[TRACEE_MAPPINGS];
    size_t mapping_count;
    struct tracee_module modules[TRACEE_MODULES];
    size_t module_count;
    struct tracee_call calls[TRACEE_DEPTH]; /* outermost first */
    size_t call_count;
    uint64_t wrong_returns; /* to a place other than the innermost call */
    uint8_t copy[TRACEE_COPY];
    size_t copy_size; /* of its stack, from rsp on */
};

/* Starts a program and stops it at its first instruction. Failures end the test. */
struct tracee *tracee_start(const char *const *arguments);
void tracee_kill(struct tracee *tracee);
/* Runs the first thread until it has created another, which is stepped from then on. */
void tracee_follow_clone(struct tracee *tracee);
/* Runs until the signal arrives, which is swallowed; its calls are set from `frames`. */
void tracee_run_to_signal(struct tracee *tracee, int signal);
void tracee_seed(struct tracee *tracee, const struct unwind_frame *frames, uint32_t count);

/* Executes one instruction. false: it has ended. */
bool tracee_step(struct tracee *tracee);

uint32_t tracee_unwind(struct tracee *tracee, struct unwind_frame *frames, uint32_t size,
                       enum stack_end *ret_end);
/* "/path/of/module+0x123" */
const char *tracee_name(struct tracee *tracee, uint64_t address, char text[600]);

#endif
