/* SPDX-License-Identifier: MIT */
/* `annot symbolize`: names the functions of a recording that has only their addresses.
 *
 * From a module's files: itself where it lay, and in the directory of debug files by build-id and
 * by name. Each that is the same build is asked until one knows. Thread-safety: none. */
#include "cmd.h"
#include "code_source.h"
#include "collector.h"
#include "file_io.h"
#include "recording.h"
#include "stacks.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What became of the frames without names. */
struct symbolized {
    uint32_t unnamed;    /* before */
    uint32_t named;      /* of these */
    uint32_t unknown_id; /* of a module without a build-id */
    uint32_t missing;    /* no such file is here */
    uint32_t lined;      /* frames whose line is known now */
};

enum { FILES_MAX = 5, BUILD_ID_TEXT = 2 * 20 + 1 };

struct named_module {
    uint32_t ordinal;
    const char *path;
    bool known; /* by its build-id */
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
static void try_file(struct named_module *named, const struct code_module *module, const char *path)
{
    struct elf_file *file;
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    int error = fd < 0 ? fd : elf_file_open(fd, &file);
    if (fd >= 0)
        close(fd);
    if (error)
        return;
    struct code_source *source =
        same_build(file, module) ? code_source_of_file(file, named->path) : NULL;
    if (source)
        named->files[named->file_count++] = source;
    elf_file_close(file);
}

static void try_files(struct named_module *named, const struct code_module *module, const char *dir)
{
    char path[PATH_MAX], id[BUILD_ID_TEXT];
    try_file(named, module, named->path);
    text_hex(id, module->build_id, module->build_id_size);
    struct text text = text_init(path, sizeof(path));
    text_format(&text, "%s/.build-id/%.2s/%s.debug", dir ? dir : "/usr/lib/debug", id, id + 2);
    try_file(named, module, path);
    static const char *const suffixes[] = {".debug", ""};
    for (size_t i = 0; dir && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        text = text_init(path, sizeof(path));
        text_format(&text, "%s/%s%s", dir, text_base_name(named->path), suffixes[i]);
        try_file(named, module, path);
    }
}

/* NULL: out of memory. */
static struct named_module *find_module(struct symbolizing *all, uint32_t ordinal)
{
    for (size_t i = 0; i < all->modules.count; i++)
        if (all->modules.items[i].ordinal == ordinal)
            return &all->modules.items[i];
    const struct code_module *module = stacks_get_module(trace_stacks_get(all->trace), ordinal);
    struct named_module named = {.ordinal = ordinal,
                                 .path = trace_string(all->trace, module->path)->bytes,
                                 .known = module->build_id_size > 0};
    if (named.known)
        try_files(&named, module, all->debug_dir);
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
        const struct label like = {.module = named->ordinal, .kind = FRAME_NATIVE};
        int64_t label = trace_label_add(all->trace, &like, text);
        const struct frame_name name = {.frame = ordinal, .label = (uint32_t)label};
        return label < 0 || stacks_name_frame(stacks, &name) != 0 ? -ENOMEM : 1;
    }
    return 0;
}

/* The line of a frame that has a name, and where its function is. */
static int add_line(struct symbolizing *all, uint32_t ordinal, const struct named_module *named)
{
    struct stacks *stacks = trace_stacks(all->trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    struct code_place place;
    for (size_t i = 0; i < named->file_count; i++) {
        if (!code_source_place(named->files[i], frame->address, &place))
            continue;
        int64_t path = trace_string_add(all->trace, place.file, strlen(place.file));
        int64_t source = path > 0 ? stacks_source_of(stacks, (uint32_t)path) : path;
        struct label label = *stacks_get_label(stacks, frame->label);
        label.source = source > 0 ? (uint32_t)source : 0;
        label.first_line = place.first_line;
        int64_t found = source < 0 ? source : stacks_label(stacks, &label);
        const struct frame_name name = {
            .frame = ordinal, .label = (uint32_t)found, .line = place.line};
        return found < 0 || stacks_name_frame(stacks, &name) != 0 ? -ENOMEM : 1;
    }
    return 0;
}

static int take_frame(struct symbolizing *all, uint32_t ordinal, struct symbolized *result)
{
    const struct stacks *stacks = trace_stacks_get(all->trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    bool place = stacks_get_label(stacks, frame->label)->flags & LABEL_PLACE;
    if (frame->kind != FRAME_NATIVE || frame->address == 0)
        return 0;
    const struct named_module *named = find_module(all, frame->module);
    if (!named)
        return -ENOMEM;
    int found = place ? name_frame(all, ordinal, named) : 1;
    result->unnamed += place;
    result->named += place && found == 1;
    result->unknown_id += place && !named->known;
    result->missing += place && named->known && named->file_count == 0;
    if (found == 1 && stacks_get_frame(stacks, ordinal)->line == 0) {
        found = add_line(all, ordinal, named);
        result->lined += found == 1;
    }
    return found < 0 ? found : 0;
}

/* Names what can be, from files that are the same by their build-id as those that ran; debug_dir
 * NULL: where debug files are installed. 0 or -ENOMEM. */
static int symbolize_frames(struct trace *trace, const char *debug_dir,
                            struct symbolized *ret_result)
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

/* ---- The command ----------------------------------------------------------------------------- */

struct symbolize_values {
    const char *debug_dir;
    bool source;
};

static void tell(const char *path, const struct symbolized *result)
{
    if (result->lined > 0)
        cmd_note("%s: found the lines of %u frames", path, result->lined);
    if (result->unnamed == 0) {
        cmd_note("%s: every native frame has a name", path);
        return;
    }
    cmd_note("%s: named %u of %u frames", path, result->named, result->unnamed);
    uint32_t closed = result->missing + result->unknown_id;
    if (result->unnamed - result->named > closed)
        cmd_note("%u frames: the files have no symbols for them\n--debug-dir DIR names a folder of "
                 "debug files",
                 result->unnamed - result->named - closed);
    if (result->missing > 0)
        cmd_note("%u frames: no file with the module's build-id\n--debug-dir DIR names a folder of "
                 "debug files",
                 result->missing);
    if (result->unknown_id > 0)
        cmd_note("%u frames: the module has no build-id", result->unknown_id);
}

static int fail(const char *path, int error)
{
    if (error == -ENODATA)
        return cmd_fail(CMD_FAILED,
                        "%s has no end: it was cut, or is still being written\n"
                        "annot recover completes recordings that were interrupted",
                        path);
    if (error == -EBUSY)
        return cmd_fail(CMD_FAILED, "%s is being written\nwait until the recording has ended",
                        path);
    if (error == -ESTALE)
        return cmd_fail(CMD_FAILED, "%s was changed meanwhile\nrun annot symbolize again", path);
    return cmd_fail(CMD_FAILED, "cannot add names to %s: %s", path, strerror(-error));
}

/* Names are kept in recordings; a manifest has no place for them. */
static bool is_merge(const char *path, const struct store_reader *reader)
{
    struct store_info info;
    store_reader_info(reader, &info);
    if (info.part_count)
        cmd_fail(0,
                 "%s is the result of a merge\ngive the recordings that it names, one after "
                 "another: it shows their names",
                 path);
    return info.part_count > 0;
}

static int symbolize(const char *path, const struct symbolize_values *values)
{
    struct store_reader *reader = recording_open(path);
    struct symbolized result;
    if (!reader)
        return CMD_FAILED;
    if (is_merge(path, reader)) {
        store_reader_close(reader);
        return CMD_FAILED;
    }
    struct trace *trace = store_reader_trace(reader);
    int error = symbolize_frames(trace, values->debug_dir, &result);
    if (!error && values->source)
        error = sources_keep(trace);
    if (!error && (result.named > 0 || result.lined > 0 || values->source))
        error = store_add_names(path, reader);
    store_reader_close(reader);
    if (error)
        return fail(path, error);
    tell(path, &result);
    return CMD_OK;
}

static int run_symbolize(const struct cmd_call *call)
{
    const struct symbolize_values *values = call->values;
    char name[RECORDING_NAME_SIZE];
    struct stat status;
    if (values->debug_dir && (stat(values->debug_dir, &status) != 0 || !S_ISDIR(status.st_mode)))
        return cmd_fail(CMD_FAILED, "%s is no directory\n--debug-dir names a folder of debug files",
                        values->debug_dir);
    const char *path = recording_choose(call, name);
    return path ? symbolize(path, values) : CMD_FAILED;
}

static const struct option_spec symbolize_options[] = {
    {"debug-dir", 0, OPTION_TEXT, offsetof(struct symbolize_values, debug_dir), "DIR",
     "folder of debug files (default /usr/lib/debug)", NULL},
    {"source", 0, OPTION_FLAG, offsetof(struct symbolize_values, source), NULL,
     "keep the text of source files in the recording", NULL},
    {0},
};

const struct cmd cmd_symbolize = {
    .name = "symbolize",
    .summary = "name functions that a recording knows by address only",
    .usage = "[OPTIONS] [FILE]",
    .details =
        RECORDING_CHOICE_HELP "Files count only if their build-id is that of the file that ran.\n",
    .options = symbolize_options,
    .values_size = sizeof(struct symbolize_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_symbolize,
};
