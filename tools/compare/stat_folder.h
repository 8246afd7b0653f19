/* SPDX-License-Identifier: MIT */
/* The folder of recordings of `annot stat`. Main thread only. */
#ifndef ANNOT_STAT_FOLDER_H
#define ANNOT_STAT_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

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
