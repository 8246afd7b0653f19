/* SPDX-License-Identifier: MIT */
/* Outputs that are a folder of files: written under a temporary name and moved into place as a
 * whole. Thread-safety: one thread per object. */
#ifndef ANNOT_OUT_FOLDER_H
#define ANNOT_OUT_FOLDER_H

#include <stdbool.h>

struct out_folder;
struct out_stream;

enum { OUT_FOLDER_FILES = 4 };

/* `names`: of its files, at most OUT_FOLDER_FILES, and NULL; they outlive the folder. 0 or -errno.
 * For a path that exists: -EEXIST, or with `overwrite` -ENOTDIR: not a folder; -ENOTEMPTY: it has
 * other files too and is kept. */
int out_folder_open(const char *path, const char *const *names, bool overwrite,
                    struct out_folder **ret_folder);

/* The stream of the file `names[file]`; owned by the folder. */
struct out_stream *out_folder_stream(const struct out_folder *folder, unsigned file);

/* Moves the folder into place: 0 or the first -errno. Destroys the folder and its streams. */
int out_folder_close(struct out_folder *folder);

/* Destroys the folder and its streams and removes the files written. Accepts NULL. */
void out_folder_abandon(struct out_folder *folder);

#endif
