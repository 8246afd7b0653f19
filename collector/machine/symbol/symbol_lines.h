/* SPDX-License-Identifier: MIT */
/* Maps addresses to source lines, by libdw. A separate object, because the data it reads (hundreds
 * of megabytes for a large library) is rarely needed. libdw is written for corrupt files, but not
 * proven against them as the rest is. Never uses the network. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_SYMBOL_LINES_H
#define ANNOT_SYMBOL_LINES_H

#include "symbol_module.h"

struct symbol_lines;

/* Reads an open file with debug information; duplicates the descriptor. NULL: no debug information,
 * damaged, out of memory, built without libdw. destroy accepts NULL. */
struct symbol_lines *symbol_lines_create(int fd);
void symbol_lines_destroy(struct symbol_lines *lines);

/* As symbol_module_places; names as in the file, valid until destroy. */
struct symbol_place;
size_t symbol_lines_places(struct symbol_lines *lines, uint64_t address,
                           struct symbol_place *places);

/* false: unknown. `ret_file` valid until destroy. */
bool symbol_lines_find(struct symbol_lines *lines, uint64_t address, const char **ret_file,
                       int *ret_line);

#ifdef HAVE_LIBDW
#include <elfutils/libdw.h>

/* The unit with the code at an address. */
bool symbol_lines_unit(struct symbol_lines *lines, uint64_t address, Dwarf_Die *ret_unit);

#endif

#endif
