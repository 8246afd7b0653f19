/* SPDX-License-Identifier: MIT */
/* Each module caches the frames of its addresses, so a name is looked up once.
 * Thread-safety: one thread per object. */
#include "frames.h"

#include "clock_now.h"
#include "hash.h"
#include "modules.h"
#include "proc_info.h"
#include "processes.h"
#include "python_stack.h"
#include "spaces.h"
#include "symbol_module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL_FRAMES_MAX = 1 << 18, NAME_MAX_BYTES = 1024 };

/* Limit of the wait for names at the end of a recording. */
#define LAST_NAMES_NS INT64_C(2000000000)

/* Interval of looks at an image for newly made code. */
#define IMAGE_NS INT64_C(100000000)

void address_frames_fini(struct address_frames *names)
{
    map64_free(&names->kernel_frames);
    map64_free(&names->collectors);
}

static int64_t add_frame(struct address_frames *names, struct frame *frame, const char *function,
                         unsigned flags)
{
    const struct label like = {
        .module = frame->module, .kind = frame->kind, .flags = (uint8_t)flags};
    int64_t label = trace_label_add(names->trace, &like, function);
    if (label < 0)
        return label;
    frame->label = (uint32_t)label;
    return stacks_frame(trace_stacks(names->trace), frame);
}

/* A frame without a known function; made once. */
static int64_t plain_frame(struct address_frames *names, uint32_t *kept, enum frame_kind kind,
                           const char *function)
{
    struct frame frame = {.kind = (uint8_t)kind};
    if (*kept)
        return *kept;
    int64_t ordinal = add_frame(names, &frame, function, LABEL_PLACE);
    if (ordinal > 0)
        *kept = (uint32_t)ordinal;
    return ordinal;
}

/* Matches CPython's collector by version: collect, collect_main, gc_collect_main, each possibly
 * with a compiler's suffix. */
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

/* Adds the module to the trace at its first frame: its ordinal, or -ENOMEM. */
static int64_t emit_module(struct address_frames *names, struct module *module)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    if (module->ordinal != 0)
        return module->ordinal;
    int64_t path = trace_string_add(names->trace, module->path, strlen(module->path));
    if (path < 0)
        return path;
    struct code_module entry = {.path = (uint32_t)path,
                                .kind = module->path[0] == '[' ? MODULE_VDSO : MODULE_ELF};
    size_t size = module->file ? elf_file_build_id(module->file, id) : 0;
    entry.build_id_size = (uint8_t)(size < sizeof(entry.build_id) ? size : sizeof(entry.build_id));
    memcpy(entry.build_id, id, entry.build_id_size);
    int64_t ordinal = stacks_module(trace_stacks(names->trace), &entry);
    module->ordinal = ordinal < 0 ? 0 : (uint32_t)ordinal;
    return ordinal;
}

/* Requests the name of a frame, once; without a name it stays a place in a module. */
static int ask_name(struct address_frames *names, struct requested_source *source, uint64_t address,
                    uint32_t frame)
{
    int error = symbolizer_ask(names->symbolizer, source, address, frame);
    names->refused += error == -EAGAIN && frame != 0;
    return error == -EAGAIN ? 0 : error;
}

static int name_frame(struct address_frames *names, uint32_t frame, const char *text, bool place)
{
    const struct frame *named = stacks_get_frame(trace_stacks_get(names->trace), frame);
    const struct label like = {
        .module = named->module, .kind = named->kind, .flags = place ? LABEL_PLACE : 0};
    int64_t label = trace_label_add(names->trace, &like, text);
    if (label < 0)
        return (int)label;
    const struct frame_name name = {.frame = frame, .label = (uint32_t)label};
    return stacks_name_frame(trace_stacks(names->trace), &name);
}

/* 0, even if its file cannot be opened; -ENOMEM. */
static int open_source(struct address_frames *names, struct module *module)
{
    if (module->code || !module->file)
        return 0;
    struct code_source *code = code_source_of_file(module->file, module->path);
    module->code = symbolizer_add(names->symbolizer, code, module);
    if (!module->code || !module->interpreter)
        return 0;
    int error = symbolizer_ask_places(names->symbolizer, module->code, is_collector_name);
    return error == -EAGAIN ? 0 : error;
}

static bool in_collector(const struct module *module, uint64_t address)
{
    for (size_t i = 0; i < module->collector.count; i++)
        if (address >= module->collector.items[i].begin && address < module->collector.items[i].end)
            return true;
    return false;
}

/* Sets up a new frame. */
static int learn_frame(struct address_frames *names, struct module *module, uint64_t address,
                       uint32_t frame)
{
    char text[NAME_MAX_BYTES];
    if (in_collector(module, address) && map64_put(&names->collectors, frame, 1) != 0)
        return -ENOMEM;
    if (stacks_get_frame(trace_stacks(names->trace), frame)->label != 0)
        return 0; /* of a module that was dropped meanwhile */
    int error = open_source(names, module);
    if (error != 0 || module->code)
        return error ? error : ask_name(names, module->code, address, frame);
    symbol_path_text(module->path, address, text, sizeof(text));
    return name_frame(names, frame, text, true);
}

static int64_t module_frame(struct address_frames *names, struct module *module, uint64_t address)
{
    const uint64_t *found = map64_find(&module->frames, address + 1);
    if (found)
        return (int64_t)*found;
    int64_t place = emit_module(names, module);
    if (place < 0)
        return place;
    struct frame frame = {.kind = FRAME_NATIVE, .module = (uint32_t)place, .address = address};
    int64_t ordinal = stacks_frame(trace_stacks(names->trace), &frame);
    if (ordinal < 0 || map64_put(&module->frames, address + 1, (uint64_t)ordinal) != 0)
        return -ENOMEM;
    int error = learn_frame(names, module, address, (uint32_t)ordinal);
    return error ? error : ordinal;
}

/* Code without an ELF file. Another function may be there soon, so the name is the one known now; a
 * frame that waits for its name belongs to one image. */
static int64_t waiting_frame(struct address_frames *names, struct sampled *process,
                             uint64_t address)
{
    const uint64_t *found = map64_find(&process->waiting, address + 1);
    if (found)
        return (int64_t)*found;
    struct frame frame = {.kind = FRAME_JIT, .address = address};
    int64_t ordinal = stacks_append_frame(trace_stacks(names->trace), &frame);
    if (ordinal < 0 || map64_put(&process->waiting, address + 1, (uint64_t)ordinal) != 0)
        return -ENOMEM;
    int error = ask_name(names, process->code, address, (uint32_t)ordinal);
    return error ? error : ordinal;
}

static int64_t jit_frame(struct address_frames *names, struct sampled *process, uint64_t address)
{
    char name[NAME_MAX_BYTES];
    int64_t now_ns = clock_now_ns();
    if (!process->code)
        process->code = symbolizer_add(
            names->symbolizer,
            code_source_of_image(process->pid, process->ns_pid, (int64_t)process->exec_ns),
            process);
    if (!process->code)
        return plain_frame(names, &names->anonymous, FRAME_JIT, "[anonymous code]");
    enum code_peek peek = code_source_peek(process->code->code, address, name, sizeof(name));
    if (peek != CODE_UNSETTLED && now_ns - process->code->requested_ns >= IMAGE_NS) {
        process->code->requested_ns = now_ns;
        if (ask_name(names, process->code, 0, 0) != 0)
            return -ENOMEM;
    }
    if (peek == CODE_UNSETTLED)
        return waiting_frame(names, process, address);
    if (peek == CODE_NOTHING)
        return plain_frame(names, &names->anonymous, FRAME_JIT, "[anonymous code]");
    struct frame frame = {.kind = FRAME_JIT};
    return add_frame(names, &frame, name, 0);
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

/* Requests a name that the kernel call could not give. */
static int64_t ask_kernel(struct address_frames *names, int64_t frame, uint64_t address)
{
    if (!names->kernel)
        names->kernel = symbolizer_add(names->symbolizer, code_source_of_kernel(), names);
    if (!names->kernel)
        return -ENOMEM;
    int error = ask_name(names, names->kernel, address, (uint32_t)frame);
    return error ? error : frame;
}

static int64_t add_kernel(struct address_frames *names, uint64_t address)
{
    char name[NAME_MAX_BYTES];
    struct frame frame = {.kind = FRAME_KERNEL, .address = address};
    int error = names->ask_kernel
                    ? names->ask_kernel(names->ask_context, address, name, sizeof(name))
                    : -EOPNOTSUPP;
    if (error == 0)
        return add_frame(names, &frame, name, 0);
    if (error == -ENOENT || names->kernel_hidden || address == 0)
        return plain_frame(names, &names->kernel_unnamed, FRAME_KERNEL, "[kernel]");
    int64_t ordinal = stacks_frame(trace_stacks(names->trace), &frame);
    return ordinal < 0 ? ordinal : ask_kernel(names, ordinal, address);
}

int64_t frame_kernel(struct address_frames *names, uint64_t address)
{
    const uint64_t *found = map64_find(&names->kernel_frames, address + 1);
    if (found)
        return (int64_t)*found;
    int64_t ordinal = add_kernel(names, address);
    if (ordinal <= 0 || ordinal == names->kernel_unnamed)
        return ordinal;
    if (names->kernel_frames.count > KERNEL_FRAMES_MAX)
        map64_free(&names->kernel_frames);
    return map64_put(&names->kernel_frames, address + 1, (uint64_t)ordinal) != 0 ? -ENOMEM
                                                                                 : ordinal;
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
    return add_frame(names, &frame, text, 0);
}

bool frame_is_collector(const struct address_frames *names, uint32_t frame)
{
    return map64_find(&names->collectors, frame) != NULL;
}

/* ---- Names that arrive later ----------------------------------------------------------------- */

/* Takes the range of an interpreter's collector; frames of it may exist already. */
static int take_collector(struct address_frames *names, struct module *module,
                          const struct symbol_answer *answer)
{
    struct code_range range = {answer->begin, answer->end};
    if (!module)
        return 0;
    for (size_t i = 0; i < module->frames.capacity; i++) {
        const struct map64_entry *entry = &module->frames.entries[i];
        if (entry->key == 0 || entry->key - 1 < range.begin || entry->key - 1 >= range.end)
            continue;
        names->collectors_learned++;
        if (map64_put(&names->collectors, entry->value, 1) != 0)
            return -ENOMEM;
    }
    return vec_push(&module->collector, range);
}

static int take_name(struct address_frames *names, const struct symbol_answer *answer)
{
    if (answer->source == names->kernel && answer->place)
        names->kernel_hidden = true;
    return name_frame(names, answer->frame, answer->text, answer->place);
}

int frames_take_names(struct address_frames *names)
{
    struct symbol_answer answer;
    int error = 0;
    while (error == 0 && symbolizer_take(names->symbolizer, &answer))
        error = answer.frame != 0 ? take_name(names, &answer)
                                  : take_collector(names, answer.source->owner, &answer);
    return error;
}

int frames_await_names(struct address_frames *names)
{
    symbolizer_await(names->symbolizer, clock_now_ns() + LAST_NAMES_NS);
    return frames_take_names(names);
}

uint32_t frames_unnamed(const struct address_frames *names)
{
    const struct stacks *stacks = trace_stacks_get(names->trace);
    uint32_t unnamed = 0;
    for (uint32_t i = 1; i < stacks_frame_count(stacks); i++)
        unnamed += stacks_get_frame(stacks, i)->label == 0;
    return unnamed;
}

/* ---- Long texts of code objects -------------------------------------------------------------- */

/* Records of code objects have no room for the rest of long line tables, names and paths, and lack
 * texts on pages that were not mapped at that moment (paged out, moved, or not yet touched), as the
 * BPF program cannot wait for them. They are read from outside while the process runs. Foreign
 * bytes: bounded, and compared with the part in the record. */

/* The bytes of an object to which a field of the code object points. */
struct code_part {
    unsigned field;
    const uint8_t *bytes;
    size_t size;
};

enum { TEXT_BYTES_MAX = 64 << 10, LINES_BYTES_MAX = 1 << 20 };

/* Reads `size` bytes after `skipped` in the object of the field, whose first bytes are in the part.
 * To be freed; NULL: unreadable, or changed meanwhile. */
static uint8_t *read_whole(const struct sampled *process, uint64_t code,
                           const struct code_part *part, size_t skipped, size_t size)
{
    uint64_t object;
    if (proc_read_memory(process->pid, code + part->field, &object, sizeof(object)) !=
        (int64_t)sizeof(object))
        return NULL;
    uint8_t *bytes = malloc(size);
    if (bytes && proc_read_memory(process->pid, object + skipped, bytes, size) == (int64_t)size)
        return bytes;
    free(bytes);
    return NULL;
}

/* Ignores the header, which may have changed: it caches a hash. */
static bool has_same_text(const uint8_t *whole, const struct code_part *part, size_t header)
{
    return part->size >= header &&
           memcmp(whole + header, part->bytes + header, part->size - header) == 0;
}

/* A text as a string of the trace: whole if it is readable and has 64 KiB at most, else truncated.
 * 0: unreadable; -ENOMEM. */
static int64_t code_rest_string(struct trace *trace, const struct sampled *process, uint64_t code,
                                const struct code_part *part)
{
    const struct python_offsets *offsets = &process->interpreter.runtime.offsets;
    size_t size = python_text_bytes(offsets, part->bytes, part->size);
    size_t whole_size = size < TEXT_BYTES_MAX ? size : TEXT_BYTES_MAX;
    uint8_t *whole =
        whole_size > part->size ? read_whole(process, code, part, 0, whole_size) : NULL;
    bool is_read = whole && has_same_text(whole, part, offsets->unicode_compact_data);
    const uint8_t *object = is_read ? whole : part->bytes;
    size_t object_size = is_read ? whole_size : part->size;
    size_t text_size = 3 * object_size + 8; /* Latin-1 needs two, and an ellipsis three */
    char *text = malloc(text_size);
    int64_t string = -ENOMEM;
    if (text)
        string = trace_string_add(
            trace, text,
            object_size ? python_text(offsets, object, object_size, text, text_size) : 0);
    free(text);
    free(whole);
    return string;
}

/* True if the code object is still the one of the record. */
static bool is_same_code(const struct sampled *process, const struct sampler_code *record)
{
    const struct python_offsets *offsets = &process->interpreter.runtime.offsets;
    int32_t line;
    return proc_read_memory(process->pid, record->code + offsets->code_first_line, &line,
                            sizeof(line)) == (int64_t)sizeof(line) &&
           line == record->first_line;
}

/* The same for a text that may be missing in the record. */
static int64_t code_text(struct trace *trace, const struct sampled *process,
                         const struct sampler_code *record, const struct code_part *part)
{
    size_t size = process->interpreter.runtime.offsets.unicode_compact_data;
    if (part->size > 0 || !is_same_code(process, record))
        return code_rest_string(trace, process, record->code, part);
    uint8_t *header = read_whole(process, record->code, part, 0, size);
    const struct code_part read = {part->field, header, header ? size : 0};
    int64_t string = code_rest_string(trace, process, record->code, &read);
    free(header);
    return string;
}

/* The whole line table of `length` bytes, to be freed. NULL: unreadable, or more than 1 MiB. */
static uint8_t *code_rest_lines(const struct sampled *process, uint64_t code,
                                const struct code_part *part, size_t length)
{
    const struct python_offsets *offsets = &process->interpreter.runtime.offsets;
    if (length > LINES_BYTES_MAX || length < part->size)
        return NULL;
    uint8_t *whole = read_whole(process, code, part, offsets->bytes_data, length);
    if (whole && memcmp(whole, part->bytes, part->size) == 0)
        return whole;
    free(whole);
    return NULL;
}

/* ---- Python code ----------------------------------------------------------------------------- */

/* Keeps labels of the trace and line tables as bytes. A code object that is sent again
 * replaces the earlier one. */

enum { CODE_BYTES_MAX = 24 << 20 };

/* The program sends those in use again within 15 s: PYTHON_TELL_AGAIN_NS, EMIT_AGAIN_NS. */
#define UNUSED_NS UINT64_C(20000000000)

struct code_name {
    struct wide_key key;
    uint64_t reported_ns;
    uint32_t label; /* 0: its name is unreadable */
    int32_t first_line;
    uint32_t version; /* of the interpreter */
    bool is_cut;      /* the table has more lines */
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

/* Drops code objects sent before that time. */
static void forget_before(struct code_names *codes, uint64_t time_ns)
{
    size_t kept = 0;
    uint64_t gone;
    for (size_t i = 0; i < codes->codes.count; i++) {
        struct code_name *code = codes->codes.items[i];
        if (code->reported_ns < time_ns) {
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

/* Searching all of them is only worthwhile now and then. */
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

/* The label of a code object. 0: its name is unreadable; -ENOMEM. */
static int64_t read_label(struct trace *trace, const struct sampled *process,
                          const struct sampler_code *record)
{
    const struct python_offsets *o = &process->interpreter.runtime.offsets;
    const uint8_t *bytes = (const uint8_t *)(record + 1);
    const struct code_part name = {o->code_qualname == PYTHON_OFFSET_NONE ? o->code_name
                                                                          : o->code_qualname,
                                   bytes, record->name_size};
    const struct code_part file = {o->code_filename, bytes + record->name_size, record->file_size};
    int64_t text = code_text(trace, process, record, &name);
    int64_t path = code_text(trace, process, record, &file);
    if (text <= 0 || path < 0)
        return text <= 0 ? text : path;
    return trace_python_label(trace, (uint32_t)text, (uint32_t)path, record->first_line);
}

static struct code_name *read_code(struct trace *trace, const struct sampled *process,
                                   const struct sampler_code *record)
{
    const struct python_offsets *offsets = &process->interpreter.runtime.offsets;
    const uint8_t *bytes = (const uint8_t *)(record + 1);
    const struct code_part lines = {
        offsets->code_lines, bytes + record->name_size + record->file_size, record->lines_size};
    bool is_cut = record->lines_length > record->lines_size;
    uint8_t *whole =
        is_cut ? code_rest_lines(process, record->code, &lines, record->lines_length) : NULL;
    uint32_t size = whole ? record->lines_length : record->lines_size;
    int64_t label = read_label(trace, process, record);
    struct code_name *code = label < 0 ? NULL : malloc(sizeof(*code) + size);
    if (code) {
        *code = (struct code_name){.label = (uint32_t)label,
                                   .first_line = record->first_line,
                                   .version = offsets->version,
                                   .is_cut = is_cut && !whole,
                                   .lines_size = size};
        memcpy(code->lines, whole ? whole : lines.bytes, size);
    }
    free(whole);
    return code;
}

static bool record_is_whole(const struct sampler_code *record)
{
    uint64_t rest = (uint64_t)record->name_size + record->file_size + record->lines_size;
    return record->head.size >= sizeof(*record) && rest <= record->head.size - sizeof(*record);
}

int code_names_add(struct code_names *codes, struct trace *trace, const struct sampled *process,
                   const struct sampler_code *record)
{
    if (!record_is_whole(record))
        return -EBADMSG;
    if (process->interpreter.state != INTERPRETER_FOUND)
        return 0;
    make_room(codes, record->head.time_ns);
    struct code_name *code = read_code(trace, process, record);
    if (!code)
        return -ENOMEM;
    code->key = *WIDE_KEY(record->code, record->key, process->family);
    code->reported_ns = record->head.time_ns;
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

/* 3.9: a truncated table of increments does not reveal its end. */
static bool is_after(const struct code_name *code, int instruction)
{
    int64_t address = 0;
    for (uint32_t i = 0; code->is_cut && i + 1 < code->lines_size; i += 2)
        address += code->lines[i];
    return code->is_cut && code->version == 0x0309 && instruction >= address;
}

int64_t code_names_frame(struct code_names *codes, struct trace *trace,
                         const struct sampled *process, const struct sampler_python *place)
{
    const uint64_t *found =
        wide_map_find(&codes->by_code, WIDE_KEY(place->code, place->key, process->family));
    if (!found)
        return 0;
    const struct code_name *code = codes->codes.items[*found - 1];
    if (code->label == 0)
        return 0;
    struct source_place at = python_source_place(code->version, code->lines, code->lines_size,
                                                 code->first_line, place->instruction);
    if (is_after(code, place->instruction))
        at = (struct source_place){0};
    const struct frame frame = {.kind = FRAME_PYTHON,
                                .label = code->label,
                                .line = at.line,
                                .column = at.column,
                                .end_column = at.end_column};
    return stacks_frame(trace_stacks(trace), &frame);
}
