/* SPDX-License-Identifier: MIT */
/* Implements named_files.h. */
#include "named_files.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATHS_MAX = 64 };

char *test_path(const char *name)
{
    static char *paths[PATHS_MAX]; /* of one test: an accepted leak */
    static size_t count;
    CHECK(count < PATHS_MAX);
    CHECK(asprintf(&paths[count], "%s/%s", test_directory(), name) > 0);
    return paths[count++];
}

void test_shell(const char *format, ...)
{
    char command[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof(command), format, list);
    va_end(list);
    if (system(command) != 0)
        test_fail(__FILE__, __LINE__, "failed: %s", command);
}

const char *test_tool(const char *variable)
{
    const char *path = getenv(variable);
    if (!path || !*path)
        test_skip("%s is not set: the program is not on this machine", variable);
    return path;
}

struct elf_file *test_open(const char *path)
{
    struct elf_file *file = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        test_fail(__FILE__, __LINE__, "cannot open %s", path);
    CHECK_INT(elf_file_open(fd, &file), 0);
    close(fd);
    return file;
}

struct symbol_module *test_module(const char *path)
{
    struct elf_file *file = test_open(path);
    struct symbol_module *module = symbol_module_create(file, path);
    CHECK(module != NULL);
    elf_file_close(file); /* the module holds its own reference */
    return module;
}
