/* SPDX-License-Identifier: MIT */
/* Names of code that lies in no file: the kernel's by /proc/kallsyms, compiled at run time by
 * /tmp/perf-PID.map (linux/tools/perf/Documentation/jit-interface.txt). Foreign bytes: bounded.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_SYMBOL_OTHER_H
#define ANNOT_SYMBOL_OTHER_H

#include <stdbool.h>
#include <stdint.h>

struct symbol_kernel;

/* NULL: out of memory. Without the right to see addresses it knows no names. */
struct symbol_kernel *symbol_kernel_create(void);
void symbol_kernel_destroy(struct symbol_kernel *kernel);
/* NULL: not known. Valid until destroy. */
const char *symbol_kernel_find(struct symbol_kernel *kernel, uint64_t address);

struct symbol_jit;

/* Of the process whose root is /proc/PID/root; ns_pid is in the file's name. Looks for the file
 * when asked, and reads what was added since, at most every 100 ms. begin_ns: when its program
 * began, CLOCK_MONOTONIC; 0: with the process. NULL: out of memory. */
struct symbol_jit *symbol_jit_create(int32_t pid, int32_t ns_pid, int64_t begin_ns);
void symbol_jit_destroy(struct symbol_jit *jit);
const char *symbol_jit_find(struct symbol_jit *jit, uint64_t address);
/* The same without looking at the file. */
const char *symbol_jit_known(const struct symbol_jit *jit, uint64_t address);
/* Whether to look again now would tell no more: there was no file, or it was read less than so long
 * ago. */
bool symbol_jit_has_read(const struct symbol_jit *jit, int64_t fresh_ns);

#endif
