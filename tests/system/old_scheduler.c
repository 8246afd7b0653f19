/* SPDX-License-Identifier: MIT */
/* Preloaded into annot: Linux before 6.17, which has no tracepoint for a thread that returns to a
 * CPU. The kernel's types are read from a copy with that name replaced. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TYPES      "/sys/kernel/btf/vmlinux"
#define TRACEPOINT "btf_trace_sched_exit_tp"

static int fill_copy(int copy, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || ftruncate(copy, status.st_size) != 0)
        return -1;
    size_t size = (size_t)status.st_size, got = 0;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
    if (bytes == MAP_FAILED)
        return -1;
    for (ssize_t part = 1; part > 0 && got<size; got += part> 0 ? (size_t)part : 0)
        part = read(fd, bytes + got, size - got);
    char *name = memmem(bytes, size, TRACEPOINT, sizeof(TRACEPOINT));
    if (name)
        name[strlen(TRACEPOINT) - 1] = '_';
    munmap(bytes, size);
    return got == size ? 0 : -1;
}

static int open_copy(int fd)
{
    int copy = memfd_create("types", MFD_CLOEXEC);
    if (fd >= 0 && copy >= 0 && fill_copy(copy, fd) == 0) {
        close(fd);
        return copy;
    }
    abort(); /* the test would take another path */
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, int) : 0;
    va_end(arguments);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    return strcmp(path, TYPES) == 0 ? open_copy(fd) : fd;
}
