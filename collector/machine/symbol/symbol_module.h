/* SPDX-License-Identifier: MIT */
/* Names of the functions of one ELF file: .symtab, .dynsym, stubs ("printf@plt"), those of its
 * separate debug file (build-id path, debuglink) and of .gnu_debugdata, demangled (C++, Rust). If
 * all are missing, "module+0x1234". Loaded at the first look-up: about 50 ms for a library of half
 * a million symbols, then 16 bytes each. Foreign bytes: bounded. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_SYMBOL_MODULE_H
#define ANNOT_SYMBOL_MODULE_H

#include "elf_file.h"
#include "symbol_arguments.h"

struct symbol_module;

/* Opens a separate object for `file` (elf_file_reopen), which may be trimmed or closed at any time.
 * `path` is its displayed name and the base of the search for its debug file and lines. NULL: out
 * of memory or descriptors. destroy accepts NULL. */
struct symbol_module *symbol_module_create(struct elf_file *file, const char *path);
void symbol_module_destroy(struct symbol_module *module);

struct symbol {
    const char *name;    /* demangled, at most 1 KiB of UTF-8; valid until destroy */
    uint64_t begin, end; /* module addresses; end 0 = unknown */
    bool guessed;        /* the nearest symbol before it, of unknown extent: show symbol_path_text()
                            instead, and this as a remark at most */
};

/* false: unknown. */
bool symbol_module_find(struct symbol_module *module, uint64_t address, struct symbol *ret_symbol);

/* Visits the symbols accepted by `is`, with their names as in the file: each as [begin, end). */
void symbol_module_each(struct symbol_module *module, bool (*is)(const char *name),
                        void (*visit)(void *context, uint64_t begin, uint64_t end), void *context);

/* The text for an address without a name: "libfoo.so+0x1234", "[vdso]+0x80"; `size` >= 1. Returns
 * the length. */
size_t symbol_path_text(const char *path, uint64_t address, char *buffer, size_t size);

/* Source file and line by libdw, if the file has debug information and libdw is built in; slow,
 * for display only. The file is reopened by its path, and must have the same build-id. false:
 * unknown. `ret_file` valid until destroy. */
bool symbol_module_line(struct symbol_module *module, uint64_t address, const char **ret_file,
                        int *ret_line);

/* The source places of an address. With inlined code the innermost function comes first, each with
 * the line that ran or that calls the previous one, and last the function with the code. As
 * symbol_module_line. Returns their number; 0: unknown. */
enum { SYMBOL_PLACES_MAX = 16 };

struct symbol_place {
    const char *name;     /* demangled; NULL for the last: use its symbol */
    const char *file;     /* source file of the function; both valid until destroy */
    int line, first_line; /* first_line 0: unknown */
};

size_t symbol_module_places(struct symbol_module *module, uint64_t address,
                            struct symbol_place places[SYMBOL_PLACES_MAX]);

/* Visits the arguments in order, from the debug information of the file or of its separate debug
 * file. 0, the result of `visit`, or -ENOENT: no debug information, or not for this function.
 * Reopens files by their paths, as symbol_module_line. */
int symbol_module_arguments(struct symbol_module *module, const struct code_entry *entry,
                            code_argument_visit *visit, void *context);

#endif
