/* SPDX-License-Identifier: MIT */
/* Names of code without a file: the kernel's by /proc/kallsyms, that of JIT compilers by
 * /tmp/perf-PID.map (linux/tools/perf/Documentation/jit-interface.txt). Foreign bytes: bounded.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_SYMBOL_OTHER_H
#define ANNOT_SYMBOL_OTHER_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
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

/* ---- Named stretches of memory --------------------------------------------------------------- */

/* Named stretches of memory; later ones hide earlier ones where they overlap, as when a JIT
 * compiler reuses the place of older code.
 *
 * Kept as sorted runs without overlaps, each at least twice as long as the next newer one: adding n
 * stretches costs O(n log n) in total, for any batch sizes, finding O(log^2 n). Thread-safety:
 * none. */

struct code_stretch {
    uint64_t begin, end; /* begin < end */
    uint32_t name;
};

struct code_run { /* a VEC with a name */
    struct code_stretch *items;
    size_t count, capacity;
};

/* `{0}` is empty. */
struct code_runs {
    VEC(struct code_run) runs; /* oldest and longest first */
};

/* Adds stretches in order of age. 0 or -ENOMEM: none was added. */
int code_runs_add(struct code_runs *runs, const struct code_stretch *stretches, size_t count);
bool code_runs_find(const struct code_runs *runs, uint64_t address, uint32_t *ret_name);
size_t code_runs_count(const struct code_runs *runs);
void code_runs_free(struct code_runs *runs);

#endif
