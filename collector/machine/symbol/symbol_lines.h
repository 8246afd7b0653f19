/* SPDX-License-Identifier: MIT */
/* Addresses to source lines, by libdw. Its own object, because what it reads (hundreds of megabytes
 * for a large library) is wanted rarely. libdw is made for files that lie, but not proven against
 * them as the rest is. Nothing is fetched from a network. Thread-safety: one thread per object. */
#ifndef ANNOT_SYMBOL_LINES_H
#define ANNOT_SYMBOL_LINES_H

#include "symbol_module.h"

struct symbol_lines;

/* Of an open file with debug information; takes a copy of the descriptor. NULL: it has none, it is
 * damaged, out of memory, built without libdw. destroy accepts NULL. */
struct symbol_lines *symbol_lines_create(int fd);
void symbol_lines_destroy(struct symbol_lines *lines);

/* As symbol_module_places; names as they stand in the file, valid until destroy. */
struct symbol_place;
size_t symbol_lines_places(struct symbol_lines *lines, uint64_t address,
                           struct symbol_place *places);

/* false: not known. `ret_file` valid until destroy. */
bool symbol_lines_find(struct symbol_lines *lines, uint64_t address, const char **ret_file,
                       int *ret_line);

#ifdef HAVE_LIBDW
#include <elfutils/libdw.h>

/* The unit whose code has an address. */
bool symbol_lines_unit(struct symbol_lines *lines, uint64_t address, Dwarf_Die *ret_unit);

#endif

#endif
