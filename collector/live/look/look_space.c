/* SPDX-License-Identifier: MIT */
/* Mapped code of a process: opens files and builds their tables when an address first falls into
 * them; finds source lines of a look's frames, from files below the process's own root. Foreign
 * bytes: bounded. Thread-safety: one thread per object. */
#include "look_space.h"

#include "look.h"
#include "trace.h"
#include "unwind_cache.h"

#include "file_io.h"
#include "modules.h"
#include "proc_info.h"
#include "stacks.h"
#include "symbol_module.h"
#include "unwind_table.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VDSO_SIZE_MAX = 1 << 16 };

static bool read_memory(const struct look_space *space, uint64_t address, void *buffer, size_t size)
{
    return proc_read_memory(space->pid, address, buffer, size) == (int64_t)size;
}

static int take_line(void *context, const struct maps_line *line)
{
    struct look_space *space = context;
    if (!line->executable)
        return 0;
    struct look_module module = {
        .begin = line->begin,
        .end = line->end,
        .offset = line->offset,
        .inode = line->inode,
        .major = line->major,
        .minor = line->minor,
        .path = strdup(line->path),
    };
    if (module.path && vec_push(&space->modules, module) == 0)
        return 0;
    free(module.path);
    return -ENOMEM;
}

int look_space_open(struct look_space *space, int32_t pid, int32_t ns_pid)
{
    *space = (struct look_space){.pid = pid, .jit = symbol_jit_create(pid, ns_pid, 0)};
    return maps_each(pid, take_line, space);
}

void look_space_close(struct look_space *space)
{
    for (size_t i = 0; i < space->modules.count; i++) {
        struct look_module *module = &space->modules.items[i];
        symbol_module_destroy(module->symbols);
        function_starts_destroy(module->starts);
        unwind_table_destroy(module->table);
        if (module->file)
            elf_file_close(module->file);
        free(module->path);
    }
    vec_free(&space->modules);
    symbol_jit_destroy(space->jit);
}

/* The vDSO is an ELF image without a file. */
static struct elf_file *open_vdso(const struct look_space *space, const struct look_module *module)
{
    struct elf_file *file = NULL;
    size_t size = (size_t)(module->end - module->begin);
    void *bytes = size <= VDSO_SIZE_MAX ? malloc(size) : NULL;
    if (bytes && read_memory(space, module->begin, bytes, size) &&
        elf_file_open_image(bytes, size, &file) != 0)
        file = NULL;
    free(bytes);
    return file;
}

static struct elf_file *open_module(const struct look_space *space, struct look_module *module)
{
    struct module_place place = {
        .pid = space->pid,
        .begin = module->begin,
        .end = module->end,
        .offset = module->offset,
        .major = module->major,
        .minor = module->minor,
        .inode = module->inode,
        .path = module->path,
    };
    struct stat status;
    struct elf_file *file = NULL;
    if (strcmp(module->path, "[vdso]") == 0)
        return open_vdso(space, module);
    int fd = module->inode ? module_file_open(&place, &status) : -ENOENT;
    if (fd < 0) {
        module->missing = module->inode && !module_file_is_memory(&place);
        return NULL;
    }
    if (elf_file_open(fd, &file) != 0) {
        module->missing = module_file_is_elf(fd);
        file = NULL;
    }
    close(fd);
    return file;
}

struct look_module *look_space_find(struct look_space *space, uint64_t address)
{
    for (size_t i = 0; i < space->modules.count; i++) {
        struct look_module *module = &space->modules.items[i];
        if (address < module->begin || address >= module->end)
            continue;
        uint64_t own;
        if (module->opened)
            return module;
        module->opened = true;
        module->file = open_module(space, module);
        if (module->file && elf_file_address(module->file, module->offset, &own)) {
            module->bias = module->begin - own;
            int error = unwind_cache_table(NULL, module->file, &module->table);
            if (error)
                module->table = NULL;
            module->missing = error && error != -ENODATA;
            module->symbols = symbol_module_create(module->file, module->path);
        }
        return module;
    }
    return NULL;
}

/* ---- Unwinding ------------------------------------------------------------------------------- */

static bool on_find(void *context, uint64_t address, struct unwind_place *ret_place)
{
    struct look_module *module = look_space_find(context, address);
    if (!module)
        return false;
    *ret_place = (struct unwind_place){
        .table = module->table, .missing = module->missing, .bias = module->bias};
    return true;
}

static bool on_read(void *context, uint64_t address, uint64_t *ret_value)
{
    return read_memory(context, address, ret_value, sizeof(*ret_value));
}

void look_space_unwind(struct look_space *space, const struct unwind_registers *registers,
                       struct look_walk *ret_walk)
{
    struct unwind_request request = {
        .registers = *registers,
        .find = on_find,
        .read = on_read,
        .context = space,
    };
    ret_walk->end = STACK_NOT_WALKED;
    ret_walk->count = unwind_stack(&request, ret_walk->frames, LOOK_DEPTH, &ret_walk->end);
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The start of the function around an address, as in recordings; else the address. */
static uint64_t function_begin(struct look_module *module, uint64_t address)
{
    struct elf_file *file;
    uint64_t begin;
    if (!module->starts_tried && elf_file_reopen(module->file, &file) == 0) {
        if (function_starts_build(file, &module->starts) != 0)
            module->starts = NULL;
        elf_file_close(file);
    }
    module->starts_tried = true;
    return module->starts && function_starts_find(module->starts, address, &begin) ? begin
                                                                                   : address;
}

void look_space_name(struct look_space *space, uint64_t address, bool caller,
                     struct look_name *ret_name)
{
    struct look_module *module = look_space_find(space, address);
    struct symbol symbol;
    const char *jit = NULL;
    uint64_t at = address - (caller ? 1 : 0);
    *ret_name = (struct look_name){.module = ""};
    if (module && !module->file && module->missing) {
        ret_name->module = module->path;
        ret_name->address = at - module->begin + module->offset;
        symbol_path_text(module->path, ret_name->address, ret_name->function,
                         sizeof(ret_name->function));
        return;
    }
    if (!module || !module->file) {
        jit = space->jit ? symbol_jit_find(space->jit, at) : NULL;
        ret_name->jit = true;
        if (jit)
            snprintf(ret_name->function, sizeof(ret_name->function), "%s", jit);
        else
            snprintf(ret_name->function, sizeof(ret_name->function), "[code at 0x%" PRIx64 "]", at);
        return;
    }
    ret_name->module = module->path;
    ret_name->address = at - module->bias;
    bool found = module->symbols &&
                 symbol_module_find(module->symbols, ret_name->address, &symbol) && !symbol.guessed;
    if (found)
        snprintf(ret_name->function, sizeof(ret_name->function), "%s", symbol.name);
    else
        symbol_path_text(module->path, function_begin(module, ret_name->address),
                         ret_name->function, sizeof(ret_name->function));
}

/* ---- Source lines ---------------------------------------------------------------------------- */

struct line_module {
    uint32_t module;               /* ordinal */
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

static struct symbol_module *open_symbols(const struct look_lines *lines, uint32_t module)
{
    struct symbol_module *symbols = NULL;
    struct elf_file *file;
    char *inside;
    uint32_t path = stacks_get_module(trace_stacks_get(lines->trace), module)->path;
    const char *name = trace_string(lines->trace, path)->bytes;
    if (name[0] != '/' || asprintf(&inside, "/proc/%d/root%s", (int)lines->pid, name) < 0)
        return NULL; /* a pseudo file of the kernel, like [vdso] */
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

static struct symbol_module *symbols_of(struct look_lines *lines, uint32_t module)
{
    for (size_t i = 0; i < lines->modules.count; i++)
        if (lines->modules.items[i].module == module)
            return lines->modules.items[i].symbols;
    const struct line_module opened = {module, open_symbols(lines, module)};
    if (vec_push(&lines->modules, opened) == 0)
        return opened.symbols;
    symbol_module_destroy(opened.symbols);
    return NULL;
}

bool look_lines_find(struct look_lines *lines, uint32_t ordinal, const char **ret_file,
                     int *ret_line)
{
    const struct frame *frame = stacks_get_frame(trace_stacks_get(lines->trace), ordinal);
    if (frame->kind != FRAME_NATIVE || !frame->module)
        return false;
    struct symbol_module *symbols = symbols_of(lines, frame->module);
    return symbols && symbol_module_line(symbols, frame->address, ret_file, ret_line);
}
