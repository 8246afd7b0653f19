/* SPDX-License-Identifier: MIT */
/* Goes through the executable mappings of a process and asks each file once whether it is an
 * interpreter. /proc text and the files are foreign. Thread-safety: none needed. */
#include "python_locate.h"

#include "file_io.h"
#include "maps_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Through the process's own root, so that its mount namespace does not matter; map_files also
 * reaches what was deleted, but only the privileged. */
static int open_mapped(int32_t pid, const struct maps_line *mapping)
{
    char path[4200];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, (unsigned long)mapping->begin,
             (unsigned long)mapping->end);
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof(path), "/proc/%d/root%s", pid, mapping->path);
    return file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
}

static bool is_module_of_pyannot(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && strncmp(name, "/_native", 8) == 0 && name - path >= 7 &&
           strncmp(name - 7, "pyannot", 7) == 0;
}

struct search {
    int32_t pid;
    struct python_location *location;
    bool found, denied;
};

/* 1: the search is over. */
static int look_into(struct search *search, const struct maps_line *mapping, struct elf_file *file)
{
    struct python_location *location = search->location;
    if (!location->published && is_module_of_pyannot(mapping->path))
        location->published = python_offsets_from_module(file, &location->offsets);
    uint64_t address;
    struct python_image image;
    if (!search->found && elf_file_address(file, mapping->offset, &address) &&
        python_image_find(file, &image)) {
        location->image = image;
        location->bias = mapping->begin - address;
        search->found = true;
    }
    return search->found && location->published;
}

static int take_line(void *context, const struct maps_line *line)
{
    struct search *search = context;
    struct elf_file *file;
    if (!line->executable || line->path[0] != '/')
        return 0;
    int fd = open_mapped(search->pid, line);
    if (fd == -EACCES || fd == -EPERM)
        search->denied = true;
    if (fd < 0)
        return 0;
    int error = elf_file_open(fd, &file);
    close(fd);
    if (error)
        return 0;
    int done = look_into(search, line, file);
    elf_file_close(file);
    return done;
}

int python_locate(int32_t pid, struct python_location *ret_location)
{
    struct search search = {.pid = pid, .location = ret_location};
    memset(ret_location, 0, sizeof(*ret_location));
    int error = maps_each(pid, take_line, &search);
    if (error < 0)
        return error;
    return search.found ? 0 : search.denied ? -EPERM : -ENOENT;
}
