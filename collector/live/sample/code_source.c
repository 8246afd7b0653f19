/* SPDX-License-Identifier: MIT */
/* Symbols of a file are loaded at the first look-up; starts of functions, for the first address
 * without a name. Thread-safety: see code_source.h. */
#include "code_source.h"

#include "clock_now.h"
#include "symbol_debug.h"
#include "symbol_module.h"
#include "symbol_other.h"
#include "text.h"
#include "unwind_cache.h"
#include "unwind_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_TEXT_MAX = 512 };

/* Names of an image read this recently are up to date. */
static const int64_t FRESH_NS = INT64_C(100000000);

struct code_source {
    struct elf_file *file; /* these four: of a file; owned */
    char *path;
    struct symbol_module *symbols;
    struct function_starts *starts; /* NULL: unavailable */
    bool starts_tried;
    struct symbol_kernel *kernel;
    struct symbol_jit *jit;
    pthread_mutex_t lock; /* of jit */
    char text[PLACE_TEXT_MAX];
};

static struct code_source *create(void)
{
    struct code_source *source = calloc(1, sizeof(*source));
    if (source)
        pthread_mutex_init(&source->lock, NULL);
    return source;
}

/* NULL if incomplete. */
static struct code_source *complete(struct code_source *source, bool whole)
{
    if (whole)
        return source;
    code_source_destroy(source);
    return NULL;
}

struct code_source *code_source_of_file(const struct elf_file *file, const char *path)
{
    struct code_source *source = create();
    if (!source)
        return NULL;
    source->path = strdup(path);
    return complete(source, source->path && elf_file_reopen(file, &source->file) == 0);
}

struct code_source *code_source_of_kernel(void)
{
    struct code_source *source = create();
    if (!source)
        return NULL;
    source->kernel = symbol_kernel_create();
    return complete(source, source->kernel != NULL);
}

struct code_source *code_source_of_image(int32_t pid, int32_t ns_pid, int64_t begin_ns)
{
    struct code_source *source = create();
    if (!source)
        return NULL;
    source->jit = symbol_jit_create(pid, ns_pid, begin_ns);
    return complete(source, source->jit != NULL);
}

void code_source_destroy(struct code_source *source)
{
    if (!source)
        return;
    symbol_module_destroy(source->symbols);
    function_starts_destroy(source->starts);
    symbol_kernel_destroy(source->kernel);
    symbol_jit_destroy(source->jit);
    elf_file_close(source->file);
    pthread_mutex_destroy(&source->lock);
    free(source->path);
    free(source);
}

void code_source_set_debug_root(const char *directory)
{
    symbol_debug_set_root(directory);
}

int code_source_rows(struct code_source *source, const char *cache_directory,
                     struct unwind_table **ret_table)
{
    return unwind_cache_table(cache_directory, source->file, ret_table);
}

static bool load_symbols(struct code_source *source)
{
    if (!source->symbols && source->file)
        source->symbols = symbol_module_create(source->file, source->path);
    return source->symbols != NULL;
}

/* The start of the function around it, so that one function has one name; else the address. */
static uint64_t function_begin(struct code_source *source, uint64_t address)
{
    uint64_t begin;
    if (!source->starts_tried) {
        source->starts_tried = true;
        if (function_starts_build(source->file, &source->starts) != 0)
            source->starts = NULL;
    }
    return source->starts && function_starts_find(source->starts, address, &begin) ? begin
                                                                                   : address;
}

static const char *file_name(struct code_source *source, uint64_t address, bool *ret_place)
{
    struct symbol symbol;
    if (load_symbols(source) && symbol_module_find(source->symbols, address, &symbol) &&
        !symbol.guessed)
        return symbol.name;
    *ret_place = true;
    symbol_path_text(source->path, function_begin(source, address), source->text,
                     sizeof(source->text));
    return source->text;
}

static const char *image_name(struct code_source *source, uint64_t address)
{
    pthread_mutex_lock(&source->lock);
    const char *name = symbol_jit_find(source->jit, address);
    pthread_mutex_unlock(&source->lock);
    return name;
}

const char *code_source_name(struct code_source *source, uint64_t address, bool *ret_place)
{
    *ret_place = false;
    if (source->file)
        return file_name(source, address, ret_place);
    const char *name =
        source->jit ? image_name(source, address) : symbol_kernel_find(source->kernel, address);
    *ret_place = !name;
    return name ? name : source->jit ? "[anonymous code]" : "[kernel]";
}

size_t code_source_places(struct code_source *source, uint64_t address,
                          struct symbol_place places[SYMBOL_PLACES_MAX])
{
    return load_symbols(source) ? symbol_module_places(source->symbols, address, places) : 0;
}

void code_source_each(struct code_source *source, bool (*is)(const char *name),
                      void (*visit)(void *context, uint64_t begin, uint64_t end), void *context)
{
    if (load_symbols(source))
        symbol_module_each(source->symbols, is, visit, context);
}

enum code_peek code_source_peek(struct code_source *source, uint64_t address, char *text,
                                size_t size)
{
    enum code_peek peek = CODE_UNSETTLED;
    if (pthread_mutex_trylock(&source->lock) != 0)
        return CODE_UNSETTLED;
    const char *name = symbol_jit_known(source->jit, address);
    if (name) {
        struct text copy = text_init(text, size);
        text_add(&copy, name, strlen(name));
        peek = CODE_NAMED;
    } else if (symbol_jit_has_read(source->jit, FRESH_NS)) {
        peek = CODE_NOTHING;
    }
    pthread_mutex_unlock(&source->lock);
    return peek;
}
