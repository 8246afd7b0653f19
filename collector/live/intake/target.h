/* SPDX-License-Identifier: MIT */
/* A running program seen from outside: whether it contains libannot, the directory in which it
 * meets collectors, the session it takes part in, and the file that makes it join one.
 *
 * libannot maps the wake page of its directory when it is loaded, so a program's mappings show it.
 * All of it may vanish or change at any moment: the caller holds a pidfd meanwhile, and the file
 * that names a session contains the program's start time. Thread-safety: pure functions. */
#ifndef ANNOT_INTAKE_TARGET_H
#define ANNOT_INTAKE_TARGET_H

#include "annot_wire.h"
#include "intake_directory.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum target_state {
    TARGET_PLAIN,  /* no libannot found in it */
    TARGET_READY,  /* its libannot watches the wake page of `path` */
    TARGET_SHUT,   /* contains libannot, which has found no usable directory (yet) */
    TARGET_STRAY,  /* its directory was removed or replaced while it ran, or cannot be reached */
    TARGET_HIDDEN, /* its mappings may not be read */
};

enum { TARGET_NAME_SIZE = 64 };

struct target {
    int32_t pid; /* in our namespace; ns_pid: in its own */
    int32_t ns_pid;
    uint64_t pid_ns;
    uint64_t start_ticks; /* 0 = unknown */
    uint32_t uid;         /* effective */
    enum target_state state;
    bool elsewhere; /* it is in another mount namespace */
    ino_t wake_inode;
    uint16_t refusal, error; /* SHUT: the reason given by its libannot; 0: unknown */
    char comm[16];
    char path[DIRECTORY_PATH_SIZE]; /* of its directory, in its view; "" unless READY or STRAY */
};

/* 0, -ESRCH (gone, or ended), -ENOMEM, or -errno. Cost: reading its /proc/PID/maps. */
int target_look(int32_t pid, struct target *ret_target);

/* Opens its directory; valid only if the wake page there is the one that it has mapped. Sets
 * ret->foreign for another user or other mounts. 0 or -errno. */
int target_open_directory(const struct target *target, struct directory *ret_directory);

/* The session that it takes part in, or would join at its next event. 1, 0 or -errno. */
int target_find_session(const struct directory *directory, const struct target *target,
                        struct annot_session *ret_session);

/* Assigns it to the session `id` from the next generation on. 0; -EBUSY: it takes part in
 * *ret_other; else -errno. */
int target_claim(const struct directory *directory, const struct target *target, uint64_t id,
                 struct annot_session *ret_other);

/* The name of the file that assigns it. */
void target_name(const struct target *target, char name[TARGET_NAME_SIZE]);

/* Removes such a file if it names the session `id`. Takes the lock that attaching and leaving
 * hold. */
void target_release(const struct directory *directory, const char *name, uint64_t id);

/* Calls back for each process that such a file assigns to the session `id`, until an error. */
int target_each(const struct directory *directory, uint64_t id,
                int (*call)(void *context, int32_t pid, uint64_t pid_ns), void *context);

/* Removes the files of sessions that are over. */
void target_sweep(const struct directory *directory);

/* ---- Targets of a session -------------------------------------------------------------------- */

struct intake;
struct trace;

/* Running programs that are assigned to a session. fini accepts a zeroed object.
 * Thread-safety: as the collector. */

struct target_file {
    char name[TARGET_NAME_SIZE];
};

struct targets {
    VEC(struct target_file) files;
    bool gate_held; /* closed for good by targets_shut_gate */
};

/* Does collector_annotate for a session in that directory. */
int targets_add(struct targets *targets, struct directory *directory, const struct target *target,
                uint64_t session_id, char *ret_other);

/* Notes the recording that has the annotations of a program. -EBUSY, or another error. */
int targets_note_other(struct trace *trace, const struct target *target, const char *other);

/* Ends the assignments when the session is over, and starts a new generation that leaves the gate
 * open, so that programs notice at their next event. */
void targets_release(struct targets *targets, struct directory *directory, uint64_t session_id);

/* Waits a little until they have left, and closes the gate unless other sessions record. */
void targets_shut_gate(struct targets *targets, struct directory *directory,
                       const struct intake *intake);
void targets_fini(struct targets *targets);

#endif
