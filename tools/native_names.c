/* SPDX-License-Identifier: MIT */
/* Names, lines and inlined functions of native frames. Implements native_names.h. */
#include "native_names.h"

#include "clock_now.h"
#include "cmd.h"
#include "code_owner.h"
#include "collector.h"
#include "collector_sources.h"
#include "file_io.h"
#include "reader.h"
#include "recording.h"
#include "stacks.h"
#include "symbolizer.h"
#include "text.h"
#include "vec.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PASSING_BYTES_MAX = 256 << 20, PASSING_NS = 1000000000 };

enum { FILES_MAX = 5, BUILD_ID_TEXT = 2 * 20 + 1 };

struct named_module {
    uint32_t ordinal;
    const char *path;
    bool known; /* has a build-id */
    struct code_source *files[FILES_MAX];
    size_t file_count;
};

struct symbolizing {
    struct trace *trace;
    const char *debug_dir;
    bool own_only;       /* only the user's own code, from trusted files */
    int64_t deadline_ns; /* 0: unlimited */
    VEC(struct named_module) modules;
};

/* Returns true if the file belongs to the user or the system and is small enough to read at the end
 * of a recording. */
static bool is_trusted(int fd)
{
    struct stat status;
    const char *sudo = getenv("SUDO_UID");
    if (fstat(fd, &status) != 0 || status.st_size > PASSING_BYTES_MAX)
        return false;
    return status.st_uid == 0 || status.st_uid == geteuid() ||
           (geteuid() == 0 && sudo && status.st_uid == strtoul(sudo, NULL, 10));
}

static bool same_build(const struct elf_file *file, const struct code_module *module)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    size_t size = elf_file_build_id(file, id);
    size_t kept = size < sizeof(module->build_id) ? size : sizeof(module->build_id);
    return size > 0 && kept == module->build_id_size && memcmp(id, module->build_id, kept) == 0;
}

/* Adds the file if it exists and has the right build-id. */
static void try_file(const struct symbolizing *all, struct named_module *named,
                     const struct code_module *module, const char *path)
{
    struct elf_file *file;
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    if (fd >= 0 && all->own_only && !is_trusted(fd)) {
        close(fd);
        return;
    }
    int error = fd < 0 ? fd : elf_file_open(fd, &file);
    if (fd >= 0)
        close(fd);
    if (error)
        return;
    struct code_source *source = same_build(file, module) ? code_source_of_file(file, path) : NULL;
    if (source)
        named->files[named->file_count++] = source;
    elf_file_close(file);
}

static void try_files(const struct symbolizing *all, struct named_module *named,
                      const struct code_module *module)
{
    const char *dir = all->debug_dir;
    char path[PATH_MAX], id[BUILD_ID_TEXT];
    try_file(all, named, module, named->path);
    text_hex(id, module->build_id, module->build_id_size);
    struct text text = text_init(path, sizeof(path));
    text_format(&text, "%s/.build-id/%.2s/%s.debug", dir ? dir : "/usr/lib/debug", id, id + 2);
    try_file(all, named, module, path);
    static const char *const suffixes[] = {".debug", ""};
    for (size_t i = 0; dir && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        text = text_init(path, sizeof(path));
        text_format(&text, "%s/%s%s", dir, text_base_name(named->path), suffixes[i]);
        try_file(all, named, module, path);
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
        try_files(all, &named, module);
    if (vec_push(&all->modules, named) != 0)
        return NULL;
    return &all->modules.items[all->modules.count - 1];
}

/* 1: named; 0; -ENOMEM. */
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

/* The label of a function at a place. `like`: the label of its code, which provides the name if the
 * place has none. Returns the ordinal, or -ENOMEM. */
static int64_t label_at(struct symbolizing *all, const struct symbol_place *place,
                        const struct label *like)
{
    struct stacks *stacks = trace_stacks(all->trace);
    struct label label = *like;
    int64_t path = trace_string_add(all->trace, place->file, strlen(place->file));
    int64_t source = path > 0 ? stacks_source_of(stacks, (uint32_t)path) : path;
    int64_t text =
        place->name ? trace_string_add(all->trace, place->name, strlen(place->name)) : like->text;
    if (source < 0 || text < 0)
        return -ENOMEM;
    label.text = (uint32_t)text;
    label.source = (uint32_t)source;
    label.first_line = place->first_line;
    return stacks_label(stacks, &label);
}

/* Assigns the innermost place to the frame; the functions it was inlined into become enclosing
 * frames. 0 or -ENOMEM. */
static int name_places(struct symbolizing *all, uint32_t ordinal, const struct symbol_place *places,
                       size_t count)
{
    struct stacks *stacks = trace_stacks(all->trace);
    const struct frame frame = *stacks_get_frame(stacks, ordinal);
    const struct label like = *stacks_get_label(stacks, frame.label);
    uint32_t caller = 0;
    for (size_t i = count; i-- > 0;) {
        int64_t label = label_at(all, &places[i], &like), around = 0;
        struct frame_name name = {
            .frame = ordinal, .label = (uint32_t)label, .line = places[i].line, .caller = caller};
        if (label < 0)
            return -ENOMEM;
        if (i == 0)
            return stacks_name_frame(stacks, &name);
        around = stacks_frame(stacks, &(struct frame){.kind = frame.kind,
                                                      .module = frame.module,
                                                      .label = name.label,
                                                      .line = name.line,
                                                      .caller = caller});
        if (around < 0)
            return -ENOMEM;
        caller = (uint32_t)around;
    }
    return 0;
}

/* Adds the line of a named frame, and the source of its function. 1: found; 0; -ENOMEM. */
static int add_line(struct symbolizing *all, uint32_t ordinal, const struct named_module *named)
{
    const struct stacks *stacks = trace_stacks_get(all->trace);
    uint64_t address = stacks_get_frame(stacks, ordinal)->address;
    struct symbol_place places[SYMBOL_PLACES_MAX];
    for (size_t i = 0; i < named->file_count; i++) {
        size_t count = code_source_places(named->files[i], address, places);
        if (count > 0)
            return name_places(all, ordinal, places, count) ? -ENOMEM : 1;
    }
    return 0;
}

static int take_frame(struct symbolizing *all, uint32_t ordinal, struct native_names *result)
{
    const struct stacks *stacks = trace_stacks_get(all->trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    bool place = stacks_get_label(stacks, frame->label)->flags & LABEL_PLACE;
    if (frame->kind != FRAME_NATIVE || frame->address == 0)
        return 0;
    if (all->own_only && code_owner_of(all->trace, frame->label) != CODE_OWN)
        return 0;
    if (all->deadline_ns && clock_now_ns() >= all->deadline_ns) {
        result->left++;
        return 0;
    }
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

static int symbolize_frames(struct symbolizing *all, struct native_names *ret_result)
{
    uint32_t count = stacks_frame_count(trace_stacks_get(all->trace));
    int error = 0;
    *ret_result = (struct native_names){0};
    code_source_set_debug_root(all->debug_dir);
    for (uint32_t i = 1; i < count && !error; i++)
        error = take_frame(all, i, ret_result);
    for (size_t i = 0; i < all->modules.count; i++)
        for (size_t k = 0; k < all->modules.items[i].file_count; k++)
            code_source_destroy(all->modules.items[i].files[k]);
    vec_free(&all->modules);
    return error;
}

static int add_names(const char *path, struct store_reader *reader, struct symbolizing *all,
                     bool source, struct native_names *ret_result)
{
    int error = symbolize_frames(all, ret_result);
    bool any = ret_result->named > 0 || ret_result->lined > 0;
    if (!error && source)
        error = sources_keep(all->trace);
    if (!error && (any || (source && !all->own_only)))
        error = store_add_names(path, reader);
    return error;
}

int native_names_add(const char *path, struct store_reader *reader, const char *debug_dir,
                     bool source, struct native_names *ret_result)
{
    struct symbolizing all = {.trace = store_reader_trace(reader), .debug_dir = debug_dir};
    return add_names(path, reader, &all, source, ret_result);
}

/* ---- At the end of a recording --------------------------------------------------------------- */

static bool has_own(const struct trace *trace)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t count = stacks_label_count(stacks);
    for (uint32_t i = 1; i < count; i++)
        if (stacks_get_label(stacks, i)->kind == FRAME_NATIVE &&
            code_owner_of(trace, i) == CODE_OWN)
            return true;
    return false;
}

void native_names_complete(const char *path, const struct trace *trace, bool source)
{
    struct store_reader *reader;
    struct native_names result;
    if (!has_own(trace))
        return;
    if (stacks_stack_count(trace_stacks_get(trace)) > STACKS_READ_AGAIN_MAX) {
        cmd_note("native frames have no lines yet, for there are very many stacks\n"
                 "annot symbolize %s looks for them",
                 path);
        return;
    }
    if (store_reader_open(path, &reader) != 0)
        return;
    struct symbolizing all = {.trace = store_reader_trace(reader),
                              .own_only = true,
                              .deadline_ns = clock_now_ns() + PASSING_NS};
    int error = add_names(path, reader, &all, source, &result);
    store_reader_close(reader);
    if (!error && result.left > 0)
        cmd_note("%u native frames have no lines yet\nannot symbolize %s looks for all of them",
                 result.left, path);
}
