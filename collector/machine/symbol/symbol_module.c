/* SPDX-License-Identifier: MIT */
/* Merges the sources of names of one file, and caches the names looked up. */
#include "symbol_module.h"
#include "elf_symbols.h"
#include "hash_map.h"
#include "strtab.h"
#include "symbol_debug.h"
#include "symbol_lines.h"
#include "symbol_name.h"
#include "symbol_table.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANGLED_MAX = 4096, NO_LINE = UINT32_MAX };

struct symbol_module {
    struct elf_file *file; /* own */
    char *path, *debug_path;
    bool loaded, lines_tried;
    struct symbol_table table;
    struct strtab texts;
    struct map64 names;   /* index in the table + 1 -> ordinal of its name */
    struct map64 sources; /* address + 1 -> ordinal of a file << 32 | line; NO_LINE = unknown */
    struct symbol_lines *lines;
};

struct symbol_module *symbol_module_create(struct elf_file *file, const char *path)
{
    struct symbol_module *module = calloc(1, sizeof(*module));
    if (!module)
        return NULL;
    module->path = strdup(path);
    if (module->path && elf_file_reopen(file, &module->file) == 0)
        return module;
    symbol_module_destroy(module);
    return NULL;
}

void symbol_module_destroy(struct symbol_module *module)
{
    if (!module)
        return;
    symbol_lines_destroy(module->lines);
    symbol_table_free(&module->table);
    strtab_free(&module->texts);
    map64_free(&module->names);
    map64_free(&module->sources);
    elf_file_close(module->file);
    free(module->path);
    free(module->debug_path);
    free(module);
}

static void add_again(struct symbol_module *module)
{
    struct elf_file *file;
    if (elf_file_reopen(module->file, &file) == 0)
        symbol_table_add_file(&module->table, file);
    else
        module->table.failed = true;
}

/* Loads its own symbols; if these are incomplete, also those of a debug file or of the compressed
 * table. */
static void load(struct symbol_module *module)
{
    struct elf_file *other;
    module->loaded = true;
    symbol_table_add_code(&module->table, module->file);
    add_again(module);
    if (!module->table.complete) {
        if (symbol_debug_open(module->file, module->path, &other, &module->debug_path) ||
            symbol_debug_open_packed(module->file, &other))
            symbol_table_add_file(&module->table, other);
    }
    symbol_plt_add(&module->table, module->file);
    symbol_table_finish(&module->table);
    elf_file_trim(module->file);
}

/* NULL: unreadable, or out of memory. */
static const char *name_of(struct symbol_module *module, size_t index)
{
    const uint64_t *known = map64_find(&module->names, index + 1);
    if (known)
        return strtab_get(&module->texts, *known)->bytes;
    char mangled[MANGLED_MAX], name[SYMBOL_NAME_SIZE];
    if (symbol_table_name(&module->table, index, mangled, sizeof(mangled)) == 0)
        return NULL;
    int64_t ordinal = strtab_add(&module->texts, name, symbol_demangle(mangled, name));
    if (ordinal < 0 || map64_put(&module->names, index + 1, (uint64_t)ordinal) != 0)
        return NULL;
    return strtab_get(&module->texts, (size_t)ordinal)->bytes;
}

bool symbol_module_find(struct symbol_module *module, uint64_t address, struct symbol *ret_symbol)
{
    struct symbol_hit hit;
    if (!module->loaded)
        load(module);
    if (!symbol_table_find(&module->table, address, &hit))
        return false;
    const char *name = name_of(module, hit.index);
    if (!name)
        return false;
    *ret_symbol =
        (struct symbol){.name = name, .begin = hit.begin, .end = hit.end, .guessed = hit.guessed};
    return true;
}

struct search {
    bool (*is)(const char *name);
    void (*visit)(void *context, uint64_t begin, uint64_t end);
    void *context;
};

static bool take_match(void *context, const struct elf_symbol *symbol)
{
    const struct search *search = context;
    if (search->is(symbol->name))
        search->visit(search->context, symbol->address,
                      symbol->address + (symbol->size ? symbol->size : 1));
    return true;
}

void symbol_module_each(struct symbol_module *module, bool (*is)(const char *name),
                        void (*visit)(void *context, uint64_t begin, uint64_t end), void *context)
{
    struct search search = {is, visit, context};
    if (!module->loaded)
        load(module);
    for (size_t i = 0; i < module->table.file_count; i++) {
        elf_file_symbols(module->table.files[i], take_match, &search);
        elf_file_trim(module->table.files[i]);
    }
}

size_t symbol_path_text(const char *path, uint64_t address, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    text_format(&text, "%s+0x%llx", text_base_name(path), (unsigned long long)address);
    return text.length;
}

static struct symbol_lines *open_lines(const struct symbol_module *module, const char *path)
{
    int fd = symbol_debug_open_same(module->file, path);
    struct symbol_lines *lines = fd < 0 ? NULL : symbol_lines_create(fd);
    if (fd >= 0)
        close(fd);
    return lines;
}

static void load_lines(struct symbol_module *module)
{
    struct elf_file *debug;
    module->lines_tried = true;
    module->lines = open_lines(module, module->path);
    if (module->lines)
        return;
    if (!module->debug_path) {
        if (!symbol_debug_open(module->file, module->path, &debug, &module->debug_path))
            return;
        elf_file_close(debug);
    }
    module->lines = open_lines(module, module->debug_path);
}

/* The demangled name, kept with the module. NULL: out of memory. */
static const char *readable(struct symbol_module *module, const char *name)
{
    char text[SYMBOL_NAME_SIZE];
    size_t length = symbol_demangle(name, text);
    int64_t ordinal = strtab_add(&module->texts, text, length);
    return ordinal < 0 ? NULL : strtab_get(&module->texts, (uint64_t)ordinal)->bytes;
}

size_t symbol_module_places(struct symbol_module *module, uint64_t address,
                            struct symbol_place places[SYMBOL_PLACES_MAX])
{
    if (!module->lines_tried)
        load_lines(module);
    if (!module->lines || address == UINT64_MAX)
        return 0;
    size_t count = symbol_lines_places(module->lines, address, places);
    for (size_t i = 0; i < count; i++) {
        places[i].name = places[i].name ? readable(module, places[i].name) : NULL;
        if (!places[i].name && i + 1 < count)
            return 0;
    }
    return count;
}

int symbol_module_arguments(struct symbol_module *module, const struct code_entry *entry,
                            code_argument_visit *visit, void *context)
{
    if (!module->lines_tried)
        load_lines(module);
    return module->lines ? symbol_lines_arguments(module->lines, entry, visit, context) : -ENOENT;
}

bool symbol_module_line(struct symbol_module *module, uint64_t address, const char **ret_file,
                        int *ret_line)
{
    if (!module->lines_tried)
        load_lines(module);
    if (!module->lines || address == UINT64_MAX)
        return false;
    const uint64_t *known = map64_find(&module->sources, address + 1);
    uint64_t value = known ? *known : NO_LINE;
    if (!known) {
        const char *file;
        int line;
        if (symbol_lines_find(module->lines, address, &file, &line)) {
            int64_t ordinal = strtab_add(&module->texts, file, strlen(file));
            if (ordinal < 0)
                return false;
            value = (uint64_t)ordinal << 32 | (uint32_t)line;
        }
        if (map64_put(&module->sources, address + 1, value) != 0)
            return false;
    }
    if (value == NO_LINE)
        return false;
    *ret_file = strtab_get(&module->texts, value >> 32)->bytes;
    *ret_line = (int)(uint32_t)value;
    return true;
}
