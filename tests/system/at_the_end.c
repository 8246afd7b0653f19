/* SPDX-License-Identifier: MIT */
/* Preloaded into annot: what AT_NANOSLEEP (the gate is shut, the rest is not read yet) or
 * AT_UNLINKAT (all is in the file, the first segment goes) says happens there: "die" or "wait",
 * half a second. Other programs are left alone. Any thread. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void act(const char *variable)
{
    const struct timespec pause = {.tv_nsec = 500000000};
    const char *what = getenv(variable);
    if (!what || strcmp(program_invocation_short_name, "annot") != 0)
        return;
    if (strcmp(what, "die") == 0)
        kill(getpid(), SIGKILL);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *rest)
{
    act("AT_NANOSLEEP");
    return clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest) == 0 ? 0 : -1;
}

EXPORT int unlinkat(int directory, const char *name, int flags)
{
    int (*next)(int, const char *, int) = dlsym(RTLD_NEXT, "unlinkat");
    if (strstr(name, ".segment"))
        act("AT_UNLINKAT");
    return next(directory, name, flags);
}
