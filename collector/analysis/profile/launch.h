/* SPDX-License-Identifier: MIT */
/* The start of a command: the programs that its own process ran before its last exec, and the
 * processes that those started. A pyenv shim, env or a shell script that ends with exec makes
 * dozens of them, all gone before the program itself begins.
 *
 * Only a start of at most LAUNCH_MAX_NS counts, and only processes without events that ended in
 * order: others are the user's work. A program with events that replaces itself is no start.
 * Thread-safety: none. */
#ifndef ANNOT_LAUNCH_H
#define ANNOT_LAUNCH_H

#include "trace.h"

enum { LAUNCH_MAX_NS = 1000000000 };

struct launch_counts {
    uint32_t processes, threads;
};

/* Returns by process whether it belongs to the start of the command; the caller frees it. NULL: out
 * of memory. Cost: once through processes and threads. */
bool *launch_find(const struct trace *trace, struct launch_counts *ret_counts);

#endif
