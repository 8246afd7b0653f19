/* SPDX-License-Identifier: MIT */
/* The runs of `annot stat`: a process each, and the folder of their recordings. Main thread only.
 */
#ifndef ANNOT_STAT_RUN_H
#define ANNOT_STAT_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
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

/* ---- Recordings ---- */

struct stat_folder {
    char path[PATH_MAX - 300];
    bool temporary;
    const char *const *names; /* owned */
    size_t count;
};

/* `name`: NULL creates a temporary folder, which fini removes with its content. `variants`: the
 * names of its folders, with slashes replaced; they must outlive this object. CMD_OK, or the exit
 * status after a printed message. fini accepts a zeroed object. */
int stat_folder_init(struct stat_folder *folder, const char *name, const char *const *variants,
                     size_t count);
void stat_folder_fini(struct stat_folder *folder);

/* "DIR/A/001.annot" */
void stat_folder_path(const struct stat_folder *folder, size_t variant, unsigned run,
                      char path[PATH_MAX]);

#endif
