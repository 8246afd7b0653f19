/* SPDX-License-Identifier: MIT */
/* Files are opened below the process's own root, once. Thread-safety: one thread per object. */
#include "look.h"

#include "file_io.h"
#include "stacks.h"
#include "symbol_module.h"
#include "vec.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct line_module {
    uint32_t path;                 /* string */
    struct symbol_module *symbols; /* NULL: cannot be read */
};

struct look_lines {
    const struct trace *trace;
    int32_t pid;
    VEC(struct line_module) modules;
};

struct look_lines *look_lines_create(const struct trace *trace, int32_t pid)
{
    struct look_lines *lines = calloc(1, sizeof(*lines));
    if (lines)
        *lines = (struct look_lines){.trace = trace, .pid = pid};
    return lines;
}

void look_lines_destroy(struct look_lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->modules.count; i++)
        symbol_module_destroy(lines->modules.items[i].symbols);
    vec_free(&lines->modules);
    free(lines);
}

static struct symbol_module *open_module(const struct look_lines *lines, uint32_t path)
{
    struct symbol_module *symbols = NULL;
    struct elf_file *file;
    char *inside;
    const char *name = trace_string(lines->trace, path)->bytes;
    if (name[0] != '/' || asprintf(&inside, "/proc/%d/root%s", (int)lines->pid, name) < 0)
        return NULL; /* the kernel's own, like [vdso] */
    int fd = file_open_regular(AT_FDCWD, inside, O_RDONLY, NULL);
    if (fd >= 0 && elf_file_open(fd, &file) == 0) {
        symbols = symbol_module_create(file, inside);
        elf_file_close(file);
    }
    if (fd >= 0)
        close(fd);
    free(inside);
    return symbols;
}

static struct symbol_module *module_of(struct look_lines *lines, uint32_t path)
{
    for (size_t i = 0; i < lines->modules.count; i++)
        if (lines->modules.items[i].path == path)
            return lines->modules.items[i].symbols;
    struct line_module module = {path, open_module(lines, path)};
    if (vec_push(&lines->modules, module) == 0)
        return module.symbols;
    symbol_module_destroy(module.symbols);
    return NULL;
}

bool look_lines_find(struct look_lines *lines, uint32_t ordinal, const char **ret_file,
                     int *ret_line)
{
    const struct frame *frame = stacks_get_frame(trace_stacks_get(lines->trace), ordinal);
    if (frame->kind != FRAME_NATIVE || !frame->module)
        return false;
    struct symbol_module *symbols = module_of(lines, frame->module);
    return symbols && symbol_module_line(symbols, frame->address, ret_file, ret_line);
}
