/* SPDX-License-Identifier: MIT */
/* Starts a program that is nobody's child: whoever starts it never sees it again in wait(), gets no
 * SIGCHLD of it, and it keeps nothing of it but its environment, its limits and three descriptors.
 *
 * It has a session of its own, so that no terminal's keys reach it, the directory / and default
 * signal handling. Only if the caller is the reaper of orphans (the first process of a container,
 * PR_SET_CHILD_SUBREAPER) does it become its child nevertheless. */
#ifndef PYANNOT_RECORDER_DETACH_H
#define PYANNOT_RECORDER_DETACH_H

#include <sys/types.h>

struct detach {
    const char *path;         /* of the program; absolute */
    char *const *arguments;   /* with its name, NULL-terminated */
    char *const *environment; /* NULL-terminated */
    int descriptors[3];       /* the caller's; they become its 0, 1, 2 */
};

/* 0 and its pid, or -errno of what failed, for instance of the exec. Any thread; nothing of the
 * caller changes. Cost: two processes that share the caller's memory, some 0.2 ms. */
int detach_start(const struct detach *detach, pid_t *ret_pid);

#endif
