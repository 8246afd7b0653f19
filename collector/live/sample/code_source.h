/* SPDX-License-Identifier: MIT */
/* Sources of names for addresses of code: an ELF file with its debug file, the kernel, or an image
 * with code made at run time.
 *
 * Opened by the thread that knows the owner, used on another: names load symbol tables and debug
 * files and demangle, which takes up to seconds for a large library. Thread-safety: one thread at a
 * time per source, except code_source_peek. */
#ifndef ANNOT_CODE_SOURCE_H
#define ANNOT_CODE_SOURCE_H

#include "elf_file.h"
#include "symbol_module.h"

struct code_source;

/* A file, as a separate object: `file` may be closed. `path`: its displayed name. For an image,
 * begin_ns is the start of its program, CLOCK_MONOTONIC. NULL: out of memory or descriptors.
 * destroy accepts NULL. */
struct code_source *code_source_of_file(const struct elf_file *file, const char *path);
struct code_source *code_source_of_kernel(void);
struct code_source *code_source_of_image(int32_t pid, int32_t ns_pid, int64_t begin_ns);
void code_source_destroy(struct code_source *source);

/* Sets the root of debug files. NULL: /usr/lib/debug. Call before starting threads. */
void code_source_set_debug_root(const char *directory);

/* The readable name of an address: its function, or else its place ("libfoo.so+0x1230": the start
 * of its function, if known), which sets *ret_place. Never NULL; valid until the next call. */
const char *code_source_name(struct code_source *source, uint64_t address, bool *ret_place);

/* The source places of an address in a file, from its debug information, as symbol_module_places().
 * Slow. */
size_t code_source_places(struct code_source *source, uint64_t address,
                          struct symbol_place places[SYMBOL_PLACES_MAX]);

/* Visits the functions of a file accepted by `is`, each as [begin, end). Names as in the file. */
void code_source_each(struct code_source *source, bool (*is)(const char *name),
                      void (*visit)(void *context, uint64_t begin, uint64_t end), void *context);

/* The unwind rows of a file: unwind_cache_table(). */
struct unwind_table;
int code_source_rows(struct code_source *source, const char *cache_directory,
                     struct unwind_table **ret_table);

/* For an image: the name of an address known so far, without reading more. May be called while
 * another thread uses the source; never waits for it. */
enum code_peek {
    CODE_NAMED = 1, /* the name was copied */
    CODE_NOTHING,   /* no name: read a moment ago */
    CODE_UNSETTLED, /* look it up */
};

enum code_peek code_source_peek(struct code_source *source, uint64_t address, char *text,
                                size_t size);

#endif
