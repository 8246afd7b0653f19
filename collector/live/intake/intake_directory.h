/* SPDX-License-Identifier: MIT */
/* The directory in which programs and collectors meet, and the wake page in it.
 *
 * $ANNOT_DIR, else one of the places of annot_places.h: a directory owned by us, mode 0700.
 * The wake page holds the generation: nonzero while a session records. It is changed under an
 * exclusive lock of the file only. Thread-safety: one thread per object; that lock excludes
 * collectors in other processes. */
#ifndef ANNOT_INTAKE_DIRECTORY_H
#define ANNOT_INTAKE_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { DIRECTORY_PATH_SIZE = 4096 };

struct directory {
    int fd;
    char path[DIRECTORY_PATH_SIZE];
    bool made;         /* by us, or a default place, which only annot uses: removed when empty */
    bool foreign;      /* of another user, or on other mounts: nothing in it may be removed */
    uint32_t uid, gid; /* its owner, and the required owner of its files */
};

/* `path` NULL: the default. Creates it if missing. -EACCES: not ours or not 0700;
 * -ENAMETOOLONG; else -errno; on failure ret->path still names the path tried. */
int directory_open(const char *path, struct directory *ret);
/* As directory_open, but does not create it: -ENOENT. */
int directory_open_existing(const char *path, struct directory *ret);
/* True if programs find this user's directory without ANNOT_DIR. */
bool directory_is_default(const char *path, uint32_t uid);
void directory_close(struct directory *directory);

/* Creates a file with the directory's owner, also on a file system that knows only the users of a
 * user namespace. The descriptor; -EEXIST; or -errno. */
int directory_make_file(const struct directory *directory, const char *name, int flags);

/* Starts a new generation when a session began or ended, and returns it. Closes the gate if no
 * session lives. -EPROTONOSUPPORT: the page is of another major version. */
int64_t directory_wake(struct directory *directory);

/* Blocks all changes to the directory until the descriptor is closed; starting programs wait as
 * well. The descriptor, or -errno. */
int directory_lock(const struct directory *directory);

/* As directory_wake, but keeps the gate open without a live session, so that programs notice and
 * leave. The caller closes it a little later with directory_wake. */
int64_t directory_wake_last(struct directory *directory);

/* Removes wake page and directory if unused: no other file in it, no process that maps the page. 1
 * if removed, else 0 or -errno. */
int directory_remove_unused(struct directory *directory);

#endif
