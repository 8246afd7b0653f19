/* SPDX-License-Identifier: MIT */
/* The start of a command: the programs that its own process ran before its last exec, and their
 * child processes. A pyenv shim, env or a shell script that ends with exec makes dozens of them,
 * all ended before the program itself starts.
 *
 * Only a start of at most LAUNCH_MAX_NS counts, and only processes without events that exited
 * normally: others are the user's work. A program with events that replaces itself is no start.
 * Thread-safety: none. */
#ifndef ANNOT_LAUNCH_H
#define ANNOT_LAUNCH_H

#include "trace.h"

enum { LAUNCH_MAX_NS = 1000000000 };

struct launch_counts {
    uint32_t processes, threads;
};

/* Returns an array by process, true for those of the command's start; the caller frees it. NULL:
 * out of memory. Cost: one loop over processes and threads. */
bool *launch_find(const struct trace *trace, struct launch_counts *ret_counts);

#endif
