/* SPDX-License-Identifier: MIT */
/* A program that runs already, as one sees it from outside: whether libannot is in it, in which
 * directory it meets collectors, which session it takes part in, and how it is told to join one.
 *
 * libannot maps the wake page of its directory when it is loaded, so a program's mappings tell. All
 * of it may be gone or another one at the next moment: whoever looks holds a pidfd meanwhile, and
 * the file that names a session has the program's start time. Thread-safety: pure functions. */
#ifndef ANNOT_INTAKE_TARGET_H
#define ANNOT_INTAKE_TARGET_H

#include "annot_wire.h"
#include "intake_directory.h"

#include <sys/types.h>

enum target_state {
    TARGET_PLAIN,  /* no libannot in it, as far as can be seen */
    TARGET_READY,  /* its libannot watches the wake page of `path` */
    TARGET_SHUT,   /* libannot is in it, but found no directory that it could use, or not yet */
    TARGET_STRAY,  /* its directory was removed or replaced while it ran, or cannot be reached */
    TARGET_HIDDEN, /* its mappings may not be read */
};

enum { TARGET_NAME_SIZE = 64 };

struct target {
    int32_t pid; /* as we see it; ns_pid: as it sees itself */
    int32_t ns_pid;
    uint64_t pid_ns;
    uint64_t start_ticks; /* 0 = unknown */
    uint32_t uid;         /* effective */
    enum target_state state;
    bool elsewhere; /* its mounts are not ours */
    ino_t wake_inode;
    uint16_t refusal, error; /* SHUT: what its libannot says of the reason; 0: nothing */
    char comm[16];
    char path[DIRECTORY_PATH_SIZE]; /* of its directory, as it names it; "" unless READY or STRAY */
};

/* 0, -ESRCH (gone, or ended), -ENOMEM, or -errno. Cost: its /proc/PID/maps. */
int target_look(int32_t pid, struct target *ret_target);

/* Its directory, which is believed only if the wake page there is the one that it has mapped. For
 * one of another user or behind other mounts ret->foreign is set. 0 or -errno. */
int target_open_directory(const struct target *target, struct directory *ret_directory);

/* The session that it takes part in, or would at its next event. 1, 0 or -errno. */
int target_find_session(const struct directory *directory, const struct target *target,
                        struct annot_session *ret_session);

/* Tells it to join the session `id` at the next generation. 0; -EBUSY: it takes part in another
 * one, *ret_other; else -errno. */
int target_claim(const struct directory *directory, const struct target *target, uint64_t id,
                 struct annot_session *ret_other);

/* The name of the file by which it is told. */
void target_name(const struct target *target, char name[TARGET_NAME_SIZE]);

/* Removes such a file if it names the session `id`. Waits for those who attach or leave. */
void target_release(const struct directory *directory, const char *name, uint64_t id);

/* Calls back for each process that such a file names to the session `id`, until an error. */
int target_each(const struct directory *directory, uint64_t id,
                int (*call)(void *context, int32_t pid, uint64_t pid_ns), void *context);

/* Removes those whose session is over. */
void target_sweep(const struct directory *directory);

#endif
