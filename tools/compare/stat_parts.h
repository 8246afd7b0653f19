/* SPDX-License-Identifier: MIT */
/* What the files of `annot stat` share with each other only. Main thread only. */
#ifndef ANNOT_STAT_PARTS_H
#define ANNOT_STAT_PARTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- One run: stat_run.c ---- */

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

/* ---- Where recordings lie: stat_folder.c ---- */

struct stat_folder {
    char path[PATH_MAX - 32];
    bool temporary;
};

/* `name`: NULL makes one that fini removes, with all that is in it. CMD_OK, or the message is out.
 * fini accepts a zeroed object. */
int stat_folder_init(struct stat_folder *folder, const char *name, bool two);
void stat_folder_fini(struct stat_folder *folder);
/* "DIR/A/01.annot" */
void stat_folder_path(const struct stat_folder *folder, unsigned side, unsigned run,
                      char path[PATH_MAX]);

#endif
