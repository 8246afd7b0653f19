/* SPDX-License-Identifier: MIT */
/* The separate debug file of a module: by build-id and by .gnu_debuglink where distributions put
 * it (GDB manual, "Separate Debug Files"), and the small table that some compress into the file
 * itself (.gnu_debugdata, "MiniDebugInfo"). Files that do not belong to the module are rejected.
 * Never uses the network. Foreign bytes: bounded. Thread-safety: any thread. */
#ifndef ANNOT_SYMBOL_DEBUG_H
#define ANNOT_SYMBOL_DEBUG_H

#include "symbol_module.h"

#include <elfutils/libdw.h>
#include <stdbool.h>

struct elf_file;

/* The caller closes *ret_file and frees *ret_path. false: not found. */
bool symbol_debug_open(struct elf_file *file, const char *path, struct elf_file **ret_file,
                       char **ret_path);

/* The caller closes *ret_file. false: absent, or built without liblzma. */
bool symbol_debug_open_packed(struct elf_file *file, struct elf_file **ret_file);

/* Opens a path if it is a regular file with the build-id of `file`, if that has one. Both may be
 * the same file. A descriptor or -errno. */
int symbol_debug_open_same(const struct elf_file *file, const char *path);

/* Sets the root of debug files. NULL: /usr/lib/debug. Call before starting threads. */
void symbol_debug_set_root(const char *directory);

/* ---- Source lines ---------------------------------------------------------------------------- */

struct symbol_lines;
struct symbol_place;

/* Maps addresses to source lines, by libdw. A separate object, because the data it reads (hundreds
 * of megabytes for a large library) is rarely needed. libdw is written for corrupt files, but not
 * proven against them as the rest is. Never uses the network. Thread-safety: one thread per
 * object. */

/* Reads an open file with debug information; duplicates the descriptor. NULL: no debug information,
 * damaged, out of memory, built without libdw. destroy accepts NULL. */
struct symbol_lines *symbol_lines_create(int fd);
void symbol_lines_destroy(struct symbol_lines *lines);

/* As symbol_module_places; names as in the file, valid until destroy. */
size_t symbol_lines_places(struct symbol_lines *lines, uint64_t address,
                           struct symbol_place *places);

/* false: unknown. `ret_file` valid until destroy. */
bool symbol_lines_find(struct symbol_lines *lines, uint64_t address, const char **ret_file,
                       int *ret_line);

#ifdef HAVE_LIBDW

/* The unit with the code at an address. */
bool symbol_lines_unit(struct symbol_lines *lines, uint64_t address, Dwarf_Die *ret_unit);

#endif

#endif
