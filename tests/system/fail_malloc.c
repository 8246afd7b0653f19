/* SPDX-License-Identifier: MIT */
/* Preloaded into annot: the FAIL_AT-th allocation of the process fails, and the FAIL_COUNT - 1
 * after it (default 1). At the end, the number of allocations is written to FAIL_COUNTS, if that is
 * set.
 *
 * Only in a program called "annot"; its children are left alone. Any thread. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static unsigned long fail_from, fail_to, count;
static int is_armed;

__attribute__((constructor)) static void arm(void)
{
    const char *from = getenv("FAIL_AT"), *more = getenv("FAIL_COUNT");
    is_armed = strcmp(program_invocation_short_name, "annot") == 0;
    fail_from = from ? strtoul(from, NULL, 10) : 0;
    fail_to = fail_from + (more ? strtoul(more, NULL, 10) : 1);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAIL_COUNTS");
    char text[32];
    if (!is_armed || !path)
        return;
    is_armed = 0;
    int length = snprintf(text, sizeof(text), "%lu\n", count);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        abort();
    close(fd);
}

static int fails(void)
{
    if (!is_armed)
        return 0;
    unsigned long number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (fail_from == 0 || number < fail_from || number >= fail_to)
        return 0;
    errno = ENOMEM;
    return 1;
}

EXPORT void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t number, size_t size)
{
    return fails() ? NULL : __libc_calloc(number, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}
