/* SPDX-License-Identifier: MIT */
/* One run of `annot stat`. Main thread only. */
#ifndef ANNOT_STAT_RUN_H
#define ANNOT_STAT_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct stat_usage {
    int64_t wall_ns;
    int64_t user_ns, system_ns; /* of the command and of the children it waited for */
    uint64_t memory_bytes;      /* largest resident size of one of these processes; 0: unknown */
    int status;                 /* as from wait() */
};

/* Runs a command, or `annot` with these arguments in a child process; `argv` ends with NULL.
 * Standard input is /dev/null, and so is standard output unless `shown`. 0 or -errno. */
int stat_run_command(char **argv, bool shown, struct stat_usage *ret_usage);
int stat_run_annot(char **argv, bool shown, struct stat_usage *ret_usage);

#endif
