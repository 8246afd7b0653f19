/* SPDX-License-Identifier: MIT */
/* Opens files of functions: by the process's view of the file system, by its executable, by path.
 * The inode decides if it is the right file. */
#include "collector_functions.h"

#include "file_io.h"
#include "symbol_module.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 1024 };

struct function_file {
    char *path; /* in the process's view */
    uint64_t inode;
    int32_t pid;          /* owner of the path, if the inode is not known */
    struct elf_file *elf; /* NULL: unreadable, or not the file */
    struct symbol_module *symbols;
};

static void close_file(struct function_file *file)
{
    symbol_module_destroy(file->symbols);
    elf_file_close(file->elf);
    free(file->path);
    free(file);
}

void function_names_fini(struct function_names *names)
{
    for (size_t i = 0; i < names->files.count; i++)
        close_file(names->files.items[i]);
    vec_free(&names->files);
}

static int open_it(const char *path, uint64_t inode)
{
    struct stat status;
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, &status);
    if (fd >= 0 && (inode == 0 || status.st_ino == inode))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int open_file(const struct names_function *function)
{
    char path[PATH_MAX], own[PATH_MAX];
    static const char deleted[] = " (deleted)";
    size_t length = strlen(function->file);
    size_t tail = sizeof(deleted) - 1;
    if (length > tail && strcmp(function->file + length - tail, deleted) == 0)
        length -= tail;
    if (function->file[0] != '/' || length >= sizeof(own))
        return -1;
    memcpy(own, function->file, length);
    own[length] = 0;
    int fd = -1;
    if (function->pid > 0) {
        snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)function->pid, PATH_MAX - 64, own);
        fd = open_it(path, function->inode);
    }
    if (fd < 0 && function->pid > 0 && function->inode != 0) {
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)function->pid);
        fd = open_it(path, function->inode);
    }
    return fd >= 0 ? fd : open_it(own, function->inode);
}

static void load(struct function_file *file, const struct names_function *function)
{
    int fd = open_file(function);
    if (fd < 0)
        return;
    if (elf_file_open(fd, &file->elf) == 0)
        file->symbols = symbol_module_create(file->elf, function->file);
    close(fd);
}

/* NULL: out of memory, or too many files. */
static struct function_file *take_file(struct function_names *names,
                                       const struct names_function *function)
{
    for (size_t i = names->files.count; i-- > 0;) {
        struct function_file *file = names->files.items[i];
        if (file->inode == function->inode && (file->inode || file->pid == function->pid) &&
            strcmp(file->path, function->file) == 0)
            return file;
    }
    struct function_file *file = names->files.count < FILES_MAX ? calloc(1, sizeof(*file)) : NULL;
    if (!file)
        return NULL;
    *file = (struct function_file){
        .path = strdup(function->file), .inode = function->inode, .pid = function->pid};
    if (!file->path || vec_push(&names->files, file) != 0) {
        close_file(file);
        return NULL;
    }
    load(file, function);
    return file;
}

size_t function_names_find(void *context, const struct names_function *function, char *text)
{
    struct function_file *file = take_file(context, function);
    struct symbol symbol;
    uint64_t address;
    if (!file || !file->symbols || !elf_file_address(file->elf, function->offset, &address) ||
        !symbol_module_find(file->symbols, address, &symbol) || symbol.guessed)
        return 0;
    size_t length = strlen(symbol.name);
    if (length > NAMES_FUNCTION_MAX)
        length = NAMES_FUNCTION_MAX;
    memcpy(text, symbol.name, length);
    return length;
}
