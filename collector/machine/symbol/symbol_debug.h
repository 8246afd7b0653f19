/* SPDX-License-Identifier: MIT */
/* The separate debug file of a module: by build-id and by .gnu_debuglink where distributions put
 * it (GDB manual, "Separate Debug Files"), and the small table that some compress into the file
 * itself (.gnu_debugdata, "MiniDebugInfo"). What does not belong to the module is not taken.
 * Nothing is fetched from a network. Foreign bytes: bounded. Thread-safety: none needed. */
#ifndef ANNOT_SYMBOL_DEBUG_H
#define ANNOT_SYMBOL_DEBUG_H

#include <stdbool.h>

struct elf_file;

/* The caller closes *ret_file and frees *ret_path. false: none. */
bool symbol_debug_open(struct elf_file *file, const char *path, struct elf_file **ret_file,
                       char **ret_path);

/* The caller closes *ret_file. false: none, or built without liblzma. */
bool symbol_debug_open_packed(struct elf_file *file, struct elf_file **ret_file);

/* Opens a path as the file it is to be: regular, and with the build-id of `file` if it has one.
 * Both may be the same file. A descriptor or -errno. */
int symbol_debug_open_same(const struct elf_file *file, const char *path);

/* Where debug files are installed. NULL: /usr/lib/debug. Before threads. */
void symbol_debug_set_root(const char *directory);

#endif
