/* SPDX-License-Identifier: MIT */
/* Loads a library into a running process, by ptrace and a call of dlopen in one of its threads,
 * which goes on afterwards undisturbed. Then calls its function LOOK_ENTERED. */
#ifndef ANNOT_LOOK_ENTER_H
#define ANNOT_LOOK_ENTER_H

#include <stdint.h>

#define LOOK_ENTERED "annot_inject_entered"

struct look_reason {
    char text[256]; /* "it is stopped" */
};

/* `library`: absolute. 0, or negative with the reason: then the process is unchanged, but may have
 * the library loaded. -EAGAIN: no thread reached a safe place. Waits seconds, and while the program
 * holds a lock that loading needs. */
int look_enter(int32_t pid, const char *library, struct look_reason *ret_reason);

#endif
