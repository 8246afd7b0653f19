/* SPDX-License-Identifier: MIT */
/* Names of the functions of one ELF file: .symtab, .dynsym, stubs ("printf@plt"), those of its
 * separate debug file (build-id path, debuglink) and of .gnu_debugdata, demangled (C++, Rust).
 * Without any, "module+0x1234". Loaded at the first question: about 50 ms for a library of half a
 * million symbols, then 16 bytes each. Foreign bytes: bounded. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_SYMBOL_MODULE_H
#define ANNOT_SYMBOL_MODULE_H

#include "elf_file.h"
#include "symbol_arguments.h"

struct symbol_module;

/* Takes an object of its own for `file` (elf_file_reopen), which may be trimmed or closed at any
 * time. `path` is what people call it and where its debug file and its lines are looked for. NULL:
 * out of memory or descriptors. destroy accepts NULL. */
struct symbol_module *symbol_module_create(struct elf_file *file, const char *path);
void symbol_module_destroy(struct symbol_module *module);

struct symbol {
    const char *name;    /* demangled, at most 1 KiB of UTF-8; valid until destroy */
    uint64_t begin, end; /* addresses of the module's own; end 0 = unknown */
    bool guessed;        /* the nearest symbol before it, which is not known to reach that far:
                            show symbol_path_text() instead, and this as a remark at most */
};

/* false: nothing is known. */
bool symbol_module_find(struct symbol_module *module, uint64_t address, struct symbol *ret_symbol);

/* The symbols whose names, as they stand in the file, `is` accepts: each as [begin, end). */
void symbol_module_each(struct symbol_module *module, bool (*is)(const char *name),
                        void (*visit)(void *context, uint64_t begin, uint64_t end), void *context);

/* What to show where no name is known: "libfoo.so+0x1234", "[vdso]+0x80"; `size` >= 1. The length.
 */
size_t symbol_path_text(const char *path, uint64_t address, char *buffer, size_t size);

/* Source file and line by libdw, if the file has debug information and libdw is built in; slow,
 * for display only. The file is opened by its path again, and must be the same by its build-id.
 * false: not known. `ret_file` valid until destroy. */
bool symbol_module_line(struct symbol_module *module, uint64_t address, const char **ret_file,
                        int *ret_line);

/* Where in the source an address is. Code may have been inlined there: then the innermost function
 * comes first, each with the line that ran or that calls the one before, and last the function that
 * has the code. As symbol_module_line. Returns how many; 0: not known. */
enum { SYMBOL_PLACES_MAX = 16 };

struct symbol_place {
    const char *name;     /* demangled; of the last NULL: its symbol says it */
    const char *file;     /* where the function is; both valid until destroy */
    int line, first_line; /* first_line 0: not known */
};

size_t symbol_module_places(struct symbol_module *module, uint64_t address,
                            struct symbol_place places[SYMBOL_PLACES_MAX]);

/* By the debug information of the file or of its separate debug file, each argument in its order.
 * 0, what `visit` returned, or -ENOENT: there is none, or none of this function. Opens files by
 * their paths again, as symbol_module_line. */
int symbol_module_arguments(struct symbol_module *module, const struct code_entry *entry,
                            code_argument_visit *visit, void *context);

#endif
