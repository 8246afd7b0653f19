/* SPDX-License-Identifier: MIT */
/* Preloaded into annot: AT_NANOSLEEP (the gate is shut, the rest is not read yet) and AT_UNLINKAT
 * (all is in the file, the first segment goes) select the action there: "die" or "wait", half a
 * second. AT_OPENAT names a file ("session", "wake"): before any program makes the first one of
 * that name, the directory is removed. Any thread. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

/* As the last session does at its end. */
static void remove_directory(void)
{
    char wake[PATH_MAX];
    const char *directory = getenv("ANNOT_DIR");
    snprintf(wake, sizeof(wake), "%s/wake", directory);
    unlink(wake);
    rmdir(directory);
}

/* Large file offsets are the default of the build: this is openat64. */
EXPORT int openat(int directory, const char *name, int flags, ...)
{
    static bool gone;
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    const char *wanted = getenv("AT_OPENAT");
    if (!gone && wanted && (flags & O_CREAT) && strncmp(name, wanted, strlen(wanted)) == 0) {
        gone = true;
        remove_directory();
    }
    return (int)syscall(SYS_openat, directory, name, flags, mode);
}
