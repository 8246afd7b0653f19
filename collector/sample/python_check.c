/* SPDX-License-Identifier: MIT */
/* Looks through the mapped files of a process for its interpreter and for pyannot. */
#include "python_check.h"

#include "module_file.h"
#include "proc_info.h"
#include "python_runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct search {
    int32_t pid;
    bool found, published;
    struct python_image image;
    struct python_offsets offsets; /* of pyannot */
    uint64_t bias;
};

static int look_into(void *context, const struct maps_line *line)
{
    struct search *search = context;
    struct stat status;
    struct elf_file *file;
    uint64_t address;
    struct module_place place = {search->pid, line->begin, line->end,   line->offset,
                                 line->major, line->minor, line->inode, line->path};
    int fd = line->executable && line->path[0] == '/' ? module_file_open(&place, &status) : -ENOENT;
    if (fd < 0)
        return 0;
    if (elf_file_open(fd, &file) == 0) {
        if (!search->found && python_image_find(file, &search->image) &&
            elf_file_address(file, line->offset, &address)) {
            search->found = true;
            search->bias = line->begin - address;
        }
        if (!search->published && strstr(line->path, "pyannot"))
            search->published = python_offsets_from_module(file, &search->offsets);
        elf_file_close(file);
    }
    close(fd);
    return 0;
}

int python_check_process(int32_t pid, struct python_check *ret_check)
{
    struct search search = {.pid = pid};
    struct python_memory memory = python_memory_of(&search.pid);
    struct python_runtime runtime = {0};
    *ret_check = (struct python_check){0};
    int error = maps_each(pid, look_into, &search);
    if (error)
        return error;
    if (!search.found)
        return -ENOENT;
    ret_check->version = search.image.version;
    error = python_runtime_find(&search.image, search.bias, &memory,
                                search.published ? &search.offsets : NULL, &runtime);
    if (error)
        return error;
    ret_check->readable = runtime.offsets.version != 0 && runtime.reason[0] == '\0';
    if (runtime.offsets.version)
        ret_check->version = runtime.offsets.version;
    snprintf(ret_check->source, sizeof(ret_check->source), "%s",
             runtime.source ? runtime.source : "");
    snprintf(ret_check->reason, sizeof(ret_check->reason), "%s",
             ret_check->readable || runtime.reason[0] ? runtime.reason : "unknown interpreter");
    return 0;
}
