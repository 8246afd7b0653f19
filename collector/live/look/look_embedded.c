/* SPDX-License-Identifier: MIT */
/* Implements look_embedded.h. The program's file is untrusted: elf_file.h bounds it. */
#include "look_embedded.h"

#include "elf_file.h"
#include "python_runtime.h"
#include "text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True if the program calls it, in a shared libpython: interpreters call only Py_BytesMain. */
static bool calls_initialize(struct elf_file *file)
{
    static const char name[] = "\0Py_Initialize";
    struct elf_section names;
    return elf_file_section(file, ".dynstr", &names) &&
           memmem(names.bytes, names.size, name, sizeof(name) - 1);
}

/* True if the file has an interpreter, or starts one of a library. */
static bool has_python(const char *path)
{
    struct elf_file *file;
    struct python_image image;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int error = fd < 0 ? -1 : elf_file_open(fd, &file);
    if (fd >= 0)
        close(fd);
    if (error)
        return false;
    bool found = calls_initialize(file) || (python_image_find(file, &image) && !image.pypy);
    elf_file_close(file);
    return found;
}

bool look_embedded(const char *path)
{
    char file[PATH_MAX];
    return realpath(path, file) && !strstr(text_base_name(file), "python") && has_python(file);
}
