/* SPDX-License-Identifier: MIT */
/* Loads a library into a process that runs, by ptrace and a call of dlopen in one of its threads,
 * which goes on afterwards as if nothing had been. Then its function LOOK_ENTERED is called. */
#ifndef ANNOT_LOOK_ENTER_H
#define ANNOT_LOOK_ENTER_H

#include <stdint.h>

#define LOOK_ENTERED "annot_inject_entered"

struct look_reason {
    char text[256]; /* "it is stopped" */
};

/* `library`: absolute. 0, or negative with the reason: nothing was changed then, but that the
 * library may be in it. -EAGAIN: no thread came to a safe place. Waits seconds, and while a lock of
 * the program's is held that loading needs. */
int look_enter(int32_t pid, const char *library, struct look_reason *ret_reason);

#endif
