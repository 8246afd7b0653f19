/* SPDX-License-Identifier: MIT */
/* Implements heap_maps.h. */
#include "heap_maps.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define OPTIONAL extern __attribute__((weak, visibility("default")))
OPTIONAL int open(const char *path, int flags, ...);
OPTIONAL ssize_t read(int fd, void *buffer, size_t size);
OPTIONAL int close(int fd);

enum { LINE_SIZE = PATH_MAX + 128 };

static uint64_t number(const char **at, const char *end, unsigned base)
{
    uint64_t value = 0;
    for (; *at < end; ++*at) {
        char digit = **at;
        unsigned amount = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                          : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                                                         : base;
        if (amount >= base)
            break;
        value = value * base + amount;
    }
    return value;
}

/* After a number: the separator. */
static uint64_t field(const char **at, const char *end, unsigned base)
{
    uint64_t value = number(at, end, base);
    *at += *at < end;
    return value;
}

/* "7f0000-7f1000 r-xp 00001000 fd:01 1234    /lib/libc.so.6"; false: not executable. */
static bool parse(const char *at, const char *end, struct heap_mapping *ret)
{
    ret->begin = field(&at, end, 16);
    ret->end = field(&at, end, 16);
    if (end - at < 5 || at[2] != 'x')
        return false;
    at += 5;
    ret->offset = field(&at, end, 16);
    ret->major = (uint32_t)field(&at, end, 16);
    ret->minor = (uint32_t)field(&at, end, 16);
    ret->inode = field(&at, end, 10);
    while (at < end && *at == ' ')
        at++;
    ret->path = at;
    ret->path_size = (uint32_t)(end - at);
    return true;
}

/* Takes the whole lines; returns the number of bytes that are left. */
static size_t take_lines(char *buffer, size_t size,
                         void (*take)(void *context, const struct heap_mapping *mapping),
                         void *context)
{
    struct heap_mapping mapping;
    size_t begin = 0;
    for (size_t i = 0; i < size; i++) {
        if (buffer[i] != '\n')
            continue;
        if (parse(buffer + begin, buffer + i, &mapping))
            take(context, &mapping);
        begin = i + 1;
    }
    for (size_t i = begin; i < size; i++)
        buffer[i - begin] = buffer[i];
    return size - begin;
}

void heap_maps_each(void (*take)(void *context, const struct heap_mapping *mapping), void *context)
{
    static char buffer[LINE_SIZE];
    size_t used = 0;
    int fd = open && read && close ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    for (ssize_t got;
         used < sizeof(buffer) && (got = read(fd, buffer + used, sizeof(buffer) - used)) > 0;)
        used = take_lines(buffer, used + (size_t)got, take, context);
    close(fd);
}
