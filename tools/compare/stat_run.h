/* SPDX-License-Identifier: MIT */
/* One run of `annot stat`. Main thread only. */
#ifndef ANNOT_STAT_RUN_H
#define ANNOT_STAT_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct stat_usage {
    int64_t wall_ns;
    int64_t user_ns, system_ns; /* of the command and of what it waited for */
    uint64_t memory_bytes; /* the most that one of these processes had resident; 0: not known */
    int status;            /* as wait() has it */
};

/* Runs a command by itself, or `annot` with these arguments in a process of its own; `argv` ends
 * with NULL. It reads nothing; what it prints goes nowhere unless it is shown. 0 or -errno. */
int stat_run_command(char **argv, bool shown, struct stat_usage *ret_usage);
int stat_run_annot(char **argv, bool shown, struct stat_usage *ret_usage);

#endif
