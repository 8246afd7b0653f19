/* SPDX-License-Identifier: MIT */
/* Names of code without a file: the kernel's by /proc/kallsyms, that of JIT compilers by
 * /tmp/perf-PID.map (linux/tools/perf/Documentation/jit-interface.txt). Foreign bytes: bounded.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_SYMBOL_OTHER_H
#define ANNOT_SYMBOL_OTHER_H

#include <stdbool.h>
#include <stdint.h>

struct symbol_kernel;

/* NULL: out of memory. Empty without the right to see addresses. */
struct symbol_kernel *symbol_kernel_create(void);
void symbol_kernel_destroy(struct symbol_kernel *kernel);
/* NULL: unknown. Valid until destroy. */
const char *symbol_kernel_find(struct symbol_kernel *kernel, uint64_t address);

struct symbol_jit;

/* For the process with the root /proc/PID/root; ns_pid is in the file's name. Looks for the file on
 * demand, and reads its new part, at most every 100 ms. begin_ns: start of its program,
 * CLOCK_MONOTONIC; 0: start of the process. NULL: out of memory. */
struct symbol_jit *symbol_jit_create(int32_t pid, int32_t ns_pid, int64_t begin_ns);
void symbol_jit_destroy(struct symbol_jit *jit);
const char *symbol_jit_find(struct symbol_jit *jit, uint64_t address);
/* As symbol_jit_find, without checking the file. */
const char *symbol_jit_known(const struct symbol_jit *jit, uint64_t address);
/* True if another look would find no more: the file was missing, or read less than this time
 * ago. */
bool symbol_jit_has_read(const struct symbol_jit *jit, int64_t fresh_ns);

#endif
