/* SPDX-License-Identifier: MIT */
/* Each module keeps the frames of its addresses, so a name is looked up once.
 * Thread-safety: one thread per object. */
#include "frames.h"

#include "hash.h"
#include "python_stack.h"

#include <errno.h>
#include <stdlib.h>
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

/* ---- Python code ---- */

/* Keeps names as strings of the trace and line tables as bytes. A code object that is told again
 * replaces what was known. */

enum { CODE_BYTES_MAX = 24 << 20, TEXT_BYTES = 4 * SAMPLER_TEXT_MAX };

/* The program tells those in use again within 15 s: PYTHON_TELL_AGAIN_NS, EMIT_AGAIN_NS. */
#define UNUSED_NS UINT64_C(20000000000)

struct code_name {
    struct wide_key key;
    uint64_t told_ns;
    uint32_t function, file; /* strings */
    int32_t first_line;
    uint32_t version; /* of the interpreter */
    uint32_t lines_size;
    uint8_t lines[];
};

static size_t code_bytes(const struct code_name *code)
{
    return sizeof(*code) + code->lines_size + 64;
}

void code_names_fini(struct code_names *codes)
{
    for (size_t i = 0; i < codes->codes.count; i++)
        free(codes->codes.items[i]);
    vec_free(&codes->codes);
    wide_map_free(&codes->by_code);
}

/* Drops what was told before that time. */
static void forget_before(struct code_names *codes, uint64_t time_ns)
{
    size_t kept = 0;
    uint64_t gone;
    for (size_t i = 0; i < codes->codes.count; i++) {
        struct code_name *code = codes->codes.items[i];
        if (code->told_ns < time_ns) {
            wide_map_take(&codes->by_code, &code->key, &gone);
            codes->bytes -= code_bytes(code);
            free(code);
        } else {
            codes->codes.items[kept++] = code;
            *wide_map_find(&codes->by_code, &code->key) = kept;
        }
    }
    codes->codes.count = kept;
}

/* Looking through them all is worth it only now and then. */
static void make_room(struct code_names *codes, uint64_t now_ns)
{
    if (codes->bytes <= CODE_BYTES_MAX || now_ns < codes->swept_ns + UNUSED_NS / 4)
        return;
    codes->swept_ns = now_ns;
    if (now_ns > UNUSED_NS)
        forget_before(codes, now_ns - UNUSED_NS);
    if (codes->bytes / 2 > CODE_BYTES_MAX)
        forget_before(codes, UINT64_MAX);
}

/* A unicode object's text as a string of the trace; 0: not readable. */
static int64_t text_string(struct trace *trace, const struct python_offsets *offsets,
                           const uint8_t *object, size_t size)
{
    char text[TEXT_BYTES];
    size_t length = size ? python_text(offsets, object, size, text, sizeof(text)) : 0;
    return trace_string_add(trace, text, length);
}

static struct code_name *read_code(struct trace *trace, const struct python_offsets *offsets,
                                   const struct sampler_code *record)
{
    const uint8_t *bytes = (const uint8_t *)(record + 1);
    int64_t function = text_string(trace, offsets, bytes, record->name_size);
    int64_t file = text_string(trace, offsets, bytes + record->name_size, record->file_size);
    struct code_name *code = malloc(sizeof(*code) + record->lines_size);
    if (function < 0 || file < 0 || !code) {
        free(code);
        return NULL;
    }
    *code = (struct code_name){.function = (uint32_t)function,
                               .file = (uint32_t)file,
                               .first_line = record->first_line,
                               .version = offsets->version,
                               .lines_size = record->lines_size};
    memcpy(code->lines, bytes + record->name_size + record->file_size, record->lines_size);
    return code;
}

static bool record_is_whole(const struct sampler_code *record)
{
    uint64_t behind = (uint64_t)record->name_size + record->file_size + record->lines_size;
    return record->head.size >= sizeof(*record) && behind <= record->head.size - sizeof(*record);
}

int code_names_add(struct code_names *codes, struct trace *trace, const struct sampled *process,
                   const struct sampler_code *record)
{
    if (!record_is_whole(record))
        return -EBADMSG;
    if (process->interpreter.state != INTERPRETER_FOUND)
        return 0;
    make_room(codes, record->head.time_ns);
    struct code_name *code = read_code(trace, &process->interpreter.runtime.offsets, record);
    if (!code)
        return -ENOMEM;
    code->key = *WIDE_KEY(record->code, record->key, process->family);
    code->told_ns = record->head.time_ns;
    const uint64_t *found = wide_map_find(&codes->by_code, &code->key);
    if (!found && (vec_reserve(&codes->codes, 1) != 0 ||
                   wide_map_put(&codes->by_code, &code->key, codes->codes.count + 1) != 0)) {
        free(code);
        return -ENOMEM;
    }
    codes->bytes += code_bytes(code);
    if (!found) {
        codes->codes.items[codes->codes.count++] = code;
        return 0;
    }
    struct code_name *old = codes->codes.items[*found - 1];
    codes->codes.items[*found - 1] = code;
    codes->bytes -= code_bytes(old);
    free(old);
    return 0;
}

int64_t code_names_frame(struct code_names *codes, struct trace *trace,
                         const struct sampled *process, const struct sampler_python *place)
{
    const uint64_t *found =
        wide_map_find(&codes->by_code, WIDE_KEY(place->code, place->key, process->family));
    if (!found)
        return 0;
    const struct code_name *code = codes->codes.items[*found - 1];
    if (code->function == 0)
        return 0;
    int line = python_line(code->version, code->lines, code->lines_size, code->first_line,
                           place->instruction);
    struct frame frame = {.kind = FRAME_PYTHON,
                          .function = code->function,
                          .file = code->file,
                          .line = line,
                          .first_line = code->first_line};
    return stacks_frame(trace_stacks(trace), &frame);
}
