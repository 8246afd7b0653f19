/* SPDX-License-Identifier: MIT */
/* Preloaded into annot: Linux before 6.15, whose pidfds lack the exit status of a process. */
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIDFD_GET_INFO = 0xff0b }; /* type and number */

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if ((request & 0xffff) != PIDFD_GET_INFO)
        return (int)syscall(SYS_ioctl, fd, request, argument);
    errno = ENOTTY;
    return -1;
}
