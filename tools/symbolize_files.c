/* SPDX-License-Identifier: MIT */
/* A module's files: itself where it lay, and in the directory of debug files by build-id and by
 * name. Each that is the same build is asked until one knows. Thread-safety: none. */
#include "symbolize_files.h"

#include "code_source.h"
#include "file_io.h"
#include "stacks.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 5, BUILD_ID_TEXT = 2 * 20 + 1 };

struct named_module {
    uint32_t path; /* string */
    bool known;    /* one build-id */
    struct code_source *files[FILES_MAX];
    size_t file_count;
};

struct symbolizing {
    struct trace *trace;
    const char *debug_dir;
    VEC(struct named_module) modules;
};

static bool same_build(const struct elf_file *file, const struct code_module *module)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    size_t size = elf_file_build_id(file, id);
    size_t kept = size < sizeof(module->build_id) ? size : sizeof(module->build_id);
    return size > 0 && kept == module->build_id_size && memcmp(id, module->build_id, kept) == 0;
}

/* If it is there, and is the one. */
static void try_file(const struct symbolizing *all, struct named_module *named,
                     const struct code_module *module, const char *path)
{
    struct elf_file *file;
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    int error = fd < 0 ? fd : elf_file_open(fd, &file);
    if (fd >= 0)
        close(fd);
    if (error)
        return;
    const char *name = trace_string(all->trace, named->path)->bytes;
    struct code_source *source = same_build(file, module) ? code_source_of_file(file, name) : NULL;
    if (source)
        named->files[named->file_count++] = source;
    elf_file_close(file);
}

static void try_files(const struct symbolizing *all, struct named_module *named,
                      const struct code_module *module)
{
    char path[PATH_MAX], id[BUILD_ID_TEXT];
    const char *name = trace_string(all->trace, named->path)->bytes, *dir = all->debug_dir;
    try_file(all, named, module, name);
    text_hex(id, module->build_id, module->build_id_size);
    struct text text = text_init(path, sizeof(path));
    text_format(&text, "%s/.build-id/%.2s/%s.debug", dir ? dir : "/usr/lib/debug", id, id + 2);
    try_file(all, named, module, path);
    static const char *const suffixes[] = {".debug", ""};
    for (size_t i = 0; dir && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        text = text_init(path, sizeof(path));
        text_format(&text, "%s/%s%s", dir, text_base_name(name), suffixes[i]);
        try_file(all, named, module, path);
    }
}

/* The one module of that path; NULL: none with a build-id, or several. */
static const struct code_module *only_module(const struct stacks *stacks, uint32_t path)
{
    const struct code_module *only = NULL;
    for (uint32_t i = 1; i < stacks_module_count(stacks); i++) {
        const struct code_module *module = stacks_get_module(stacks, i);
        if (module->path != path)
            continue;
        if (only || module->build_id_size == 0)
            return NULL;
        only = module;
    }
    return only;
}

/* NULL: out of memory. */
static struct named_module *find_module(struct symbolizing *all, uint32_t path)
{
    for (size_t i = 0; i < all->modules.count; i++)
        if (all->modules.items[i].path == path)
            return &all->modules.items[i];
    struct named_module named = {.path = path};
    const struct code_module *module = only_module(trace_stacks_get(all->trace), path);
    named.known = module != NULL;
    if (module)
        try_files(all, &named, module);
    if (vec_push(&all->modules, named) != 0)
        return NULL;
    return &all->modules.items[all->modules.count - 1];
}

/* 1: it has a name now; 0; -ENOMEM. */
static int name_frame(struct symbolizing *all, uint32_t ordinal, const struct named_module *named)
{
    struct stacks *stacks = trace_stacks(all->trace);
    uint64_t address = stacks_get_frame(stacks, ordinal)->address;
    for (size_t i = 0; i < named->file_count; i++) {
        bool place = false;
        const char *text = code_source_name(named->files[i], address, &place);
        if (place)
            continue;
        int64_t string = trace_string_add(all->trace, text, strlen(text));
        struct frame_name name = {.frame = ordinal, .function = (uint32_t)string};
        return string < 0 || stacks_name_frame(stacks, &name) != 0 ? -ENOMEM : 1;
    }
    return 0;
}

static int take_frame(struct symbolizing *all, uint32_t ordinal, struct symbolized *result)
{
    const struct frame *frame = stacks_get_frame(trace_stacks_get(all->trace), ordinal);
    if (frame->kind != FRAME_NATIVE || frame->address == 0 || !(frame->flags & FRAME_PLACE))
        return 0;
    const struct named_module *named = find_module(all, frame->module);
    if (!named)
        return -ENOMEM;
    int found = name_frame(all, ordinal, named);
    result->unnamed++;
    result->named += found == 1;
    result->unknown_id += !named->known;
    result->missing += named->known && named->file_count == 0;
    return found < 0 ? found : 0;
}

int symbolize_frames(struct trace *trace, const char *debug_dir, struct symbolized *ret_result)
{
    struct symbolizing all = {.trace = trace, .debug_dir = debug_dir};
    uint32_t count = stacks_frame_count(trace_stacks_get(trace));
    int error = 0;
    *ret_result = (struct symbolized){0};
    code_source_set_debug_root(debug_dir);
    for (uint32_t i = 1; i < count && !error; i++)
        error = take_frame(&all, i, ret_result);
    for (size_t i = 0; i < all.modules.count; i++)
        for (size_t k = 0; k < all.modules.items[i].file_count; k++)
            code_source_destroy(all.modules.items[i].files[k]);
    vec_free(&all.modules);
    return error;
}
