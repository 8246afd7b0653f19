/* SPDX-License-Identifier: MIT */
/* Preloaded into annot: /proc/PID/stat is read 40 ms late, as after a preemption of annot. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Large file offsets are the default of the build: this is open64. */
EXPORT int open(const char *path, int flags, ...)
{
    if (strcmp(program_invocation_short_name, "annot") == 0 && strstr(path, "/proc/") == path &&
        strstr(path, "/stat"))
        usleep(40000);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
}
