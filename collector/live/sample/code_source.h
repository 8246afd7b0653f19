/* SPDX-License-Identifier: MIT */
/* What names addresses of code: an ELF file with its debug file, the kernel, or an image whose code
 * was made at run time.
 *
 * Opened where its owner is known, asked elsewhere: names load symbol tables and debug files and
 * demangle, which takes up to seconds for a large library. Thread-safety: one thread at a time
 * per source, but code_source_peek. */
#ifndef ANNOT_CODE_SOURCE_H
#define ANNOT_CODE_SOURCE_H

#include "elf_file.h"
#include "symbol_module.h"

struct code_source;

/* A file, as an object of its own: `file` may be closed. `path`: what people call it. Of an image,
 * begin_ns is when its program began, CLOCK_MONOTONIC. NULL: out of memory or descriptors. destroy
 * accepts NULL. */
struct code_source *code_source_of_file(const struct elf_file *file, const char *path);
struct code_source *code_source_of_kernel(void);
struct code_source *code_source_of_image(int32_t pid, int32_t ns_pid, int64_t begin_ns);
void code_source_destroy(struct code_source *source);

/* Where debug files are installed. NULL: /usr/lib/debug. Before threads. */
void code_source_set_debug_root(const char *directory);

/* What people call an address: a function, or else where it lies ("libfoo.so+0x1230": the begin of
 * its function, as far as that is known), which *ret_place tells. Never NULL; valid until the next
 * call. */
const char *code_source_name(struct code_source *source, uint64_t address, bool *ret_place);

/* Where in the source the address of a file is, by its debug information, as
 * symbol_module_places(). Slow. */
size_t code_source_places(struct code_source *source, uint64_t address,
                          struct symbol_place places[SYMBOL_PLACES_MAX]);

/* The functions of a file whose names `is` accepts, each as [begin, end). Names as they stand in
 * the file. */
void code_source_each(struct code_source *source, bool (*is)(const char *name),
                      void (*visit)(void *context, uint64_t begin, uint64_t end), void *context);

/* The unwind rows of a file: unwind_cache_table(). */
struct unwind_table;
int code_source_rows(struct code_source *source, const char *cache_directory,
                     struct unwind_table **ret_table);

/* Of an image: what is known of an address by now, without looking. May be called while another
 * thread asks; never waits for it. */
enum code_peek {
    CODE_NAMED = 1, /* the name was copied */
    CODE_NOTHING,   /* it has none: looked a moment ago */
    CODE_UNSETTLED, /* ask for it */
};

enum code_peek code_source_peek(struct code_source *source, uint64_t address, char *text,
                                size_t size);

#endif
