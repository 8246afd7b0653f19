/* SPDX-License-Identifier: MIT */
/* Each module keeps the frames of its addresses, so a name is looked up once.
 * Thread-safety: one thread per object. */
#include "address_frames.h"

#include <errno.h>
#include <string.h>

enum { KERNEL_FRAMES_MAX = 1 << 18, NAME_MAX_BYTES = 512 };

void address_frames_fini(struct address_frames *names)
{
    symbol_kernel_destroy(names->kernel);
    map64_free(&names->kernel_frames);
    map64_free(&names->collectors);
}

/* A frame by its texts. `module` 0 = none. */
static int64_t add_frame(struct address_frames *names, struct frame *frame, const char *function)
{
    int64_t string = trace_string_add(names->trace, function, strlen(function));
    if (string < 0)
        return string;
    frame->function = (uint32_t)string;
    return stacks_frame(trace_stacks(names->trace), frame);
}

/* A frame that has nothing but a name; made once. */
static int64_t plain_frame(struct address_frames *names, uint32_t *kept, enum frame_kind kind,
                           const char *function)
{
    struct frame frame = {.kind = (uint8_t)kind};
    if (*kept)
        return *kept;
    int64_t ordinal = add_frame(names, &frame, function);
    if (ordinal > 0)
        *kept = (uint32_t)ordinal;
    return ordinal;
}

/* CPython's collector by version: collect, collect_main, gc_collect_main, each perhaps with what a
 * compiler puts behind a name. */
static bool is_collector_name(const char *name)
{
    static const char *const known[] = {"gc_collect_main",     "collect",
                                        "gc_collect_internal", "_PyGC_CollectNoFail",
                                        "PyGC_Collect",        "_PyGC_Collect"};
    size_t length = strcspn(name, ".");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strlen(known[i]) == length && strncmp(known[i], name, length) == 0)
            return true;
    return false;
}

static int64_t module_path_string(struct address_frames *names, struct module *module)
{
    if (module->path_string == 0) {
        int64_t string = trace_string_add(names->trace, module->path, strlen(module->path));
        if (string < 0)
            return string;
        module->path_string = (uint32_t)string;
    }
    return module->path_string;
}

static int64_t module_frame(struct address_frames *names, struct module *module, uint64_t address)
{
    const uint64_t *found = map64_find(&module->frames, address + 1);
    if (found)
        return (int64_t)*found;
    char buffer[NAME_MAX_BYTES];
    const char *name = module_symbol(module, address, buffer, sizeof(buffer));
    int64_t path = module_path_string(names, module);
    if (path < 0)
        return path;
    struct frame frame = {.kind = FRAME_NATIVE, .module = (uint32_t)path, .address = address};
    int64_t ordinal = add_frame(names, &frame, name);
    if (ordinal < 0 || map64_put(&module->frames, address + 1, (uint64_t)ordinal) != 0)
        return -ENOMEM;
    if (module->interpreter && is_collector_name(name) &&
        map64_put(&names->collectors, (uint64_t)ordinal, 1) != 0)
        return -ENOMEM;
    return ordinal;
}

/* Code that lies in no ELF file. */
static int64_t jit_frame(struct address_frames *names, struct sampled *process, uint64_t address)
{
    if (!process->jit)
        process->jit = symbol_jit_create(process->pid, process->ns_pid, (int64_t)process->exec_ns);
    const char *name = process->jit ? symbol_jit_find(process->jit, address) : NULL;
    if (!name)
        return plain_frame(names, &names->anonymous, FRAME_JIT, "[anonymous code]");
    struct frame frame = {.kind = FRAME_JIT};
    return add_frame(names, &frame, name);
}

int64_t frame_native(struct address_frames *names, struct sampled *process,
                     const struct mapping_list *list, uint64_t address)
{
    const struct mapping *mapping = mapping_list_find(list, address);
    if (!mapping)
        return plain_frame(names, &names->unmapped, FRAME_NATIVE, "[not mapped]");
    struct module *module = mapping->module;
    if (!module || (!module->file && module->not_elf))
        return jit_frame(names, process, address);
    return module_frame(names, module,
                        module_address(module, address, mapping->begin, mapping->offset));
}

/* NULL: not known. -ENOMEM in *ret_error. */
static const char *kernel_name(struct address_frames *names, uint64_t address, char *buffer,
                               int *ret_error)
{
    int error = names->ask_kernel
                    ? names->ask_kernel(names->ask_context, address, buffer, NAME_MAX_BYTES)
                    : -EOPNOTSUPP;
    if (error == 0 || error == -ENOENT)
        return error ? NULL : buffer;
    if (!names->kernel)
        names->kernel = symbol_kernel_create();
    if (!names->kernel)
        *ret_error = -ENOMEM;
    return names->kernel ? symbol_kernel_find(names->kernel, address) : NULL;
}

int64_t frame_kernel(struct address_frames *names, uint64_t address)
{
    char buffer[NAME_MAX_BYTES];
    int error = 0;
    const uint64_t *found = map64_find(&names->kernel_frames, address + 1);
    if (found)
        return (int64_t)*found;
    const char *name = kernel_name(names, address, buffer, &error);
    if (error)
        return error;
    if (!name)
        return plain_frame(names, &names->kernel_unnamed, FRAME_KERNEL, "[kernel]");
    if (names->kernel_frames.count > KERNEL_FRAMES_MAX)
        map64_free(&names->kernel_frames);
    struct frame frame = {.kind = FRAME_KERNEL, .address = address};
    int64_t ordinal = add_frame(names, &frame, name);
    if (ordinal > 0 && map64_put(&names->kernel_frames, address + 1, (uint64_t)ordinal) != 0)
        return -ENOMEM;
    return ordinal;
}

int64_t frame_collector(struct address_frames *names)
{
    return plain_frame(names, &names->collector, FRAME_COLLECTOR, "[garbage collector]");
}

int64_t frame_code_unread(struct address_frames *names)
{
    return plain_frame(names, &names->code_unread, FRAME_PYTHON, "[python code not read]");
}

int64_t frame_note(struct address_frames *names, const char *text)
{
    struct frame frame = {.kind = FRAME_NOTE};
    return add_frame(names, &frame, text);
}

bool frame_is_collector(const struct address_frames *names, uint32_t frame)
{
    return map64_find(&names->collectors, frame) != NULL;
}
