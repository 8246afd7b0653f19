/* SPDX-License-Identifier: MIT */
/* The separate debug file of a module: by build-id and by .gnu_debuglink where distributions put
 * it (GDB manual, "Separate Debug Files"), and the small table that some compress into the file
 * itself (.gnu_debugdata, "MiniDebugInfo"). Files that do not belong to the module are rejected.
 * Never uses the network. Foreign bytes: bounded. Thread-safety: any thread. */
#ifndef ANNOT_SYMBOL_DEBUG_H
#define ANNOT_SYMBOL_DEBUG_H

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

#endif
