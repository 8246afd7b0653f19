/* SPDX-License-Identifier: MIT */
/* The directory in which programs and collectors meet, and the wake page in it.
 *
 * $ANNOT_DIR, else one of the places of annot_places.h: a directory, ours, mode 0700.
 * The wake page holds the generation: nonzero while anybody records. It is changed under an
 * exclusive lock of the file only. Thread-safety: one thread per object; collectors in other
 * processes are kept apart by that lock. */
#ifndef ANNOT_INTAKE_DIRECTORY_H
#define ANNOT_INTAKE_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { DIRECTORY_PATH_SIZE = 4096 };

struct directory {
    int fd;
    char path[DIRECTORY_PATH_SIZE];
    bool made;    /* by us, or a default place, which only annot uses: removed when it is empty */
    bool foreign; /* of another user, or behind other mounts: nothing of it is ours to remove */
    uint32_t uid, gid; /* whose it is, and whose its files must be */
};

/* `path` NULL: the default. Creates it if missing. -EACCES: not ours or not 0700;
 * -ENAMETOOLONG; else -errno; on failure ret->path still names what was tried. */
int directory_open(const char *path, struct directory *ret);
/* The same, but none is made: -ENOENT. */
int directory_open_existing(const char *path, struct directory *ret);
/* Whether a directory of that user lies where programs look for it without ANNOT_DIR. */
bool directory_is_default(const char *path, uint32_t uid);
void directory_close(struct directory *directory);

/* Makes a file in it, of its owner, also where its file system knows none but the users of a user
 * namespace. The descriptor; -EEXIST; or -errno. */
int directory_make_file(const struct directory *directory, const char *name, int flags);

/* A new generation, which is returned: a session began or ended. The gate is shut if none lives.
 * -EPROTONOSUPPORT: the page is of another major version. */
int64_t directory_wake(struct directory *directory);

/* Holds off everybody who changes what the directory says, until the descriptor is closed; programs
 * that start wait as well. The descriptor, or -errno. */
int directory_lock(const struct directory *directory);

/* The same, but the gate stays open also if none lives, so that programs notice and leave. The
 * caller shuts it a little later, by directory_wake. */
int64_t directory_wake_last(struct directory *directory);

/* Removes wake page and directory if nobody uses them: no other file in it, no process that has
 * the page mapped. 1 if removed, else 0 or -errno. */
int directory_remove_unused(struct directory *directory);

#endif
