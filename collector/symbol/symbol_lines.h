/* SPDX-License-Identifier: MIT */
/* Addresses to source lines, by libdw. Its own object, because what it reads (hundreds of megabytes
 * for a large library) is wanted rarely. libdw is made for files that lie, but not proven against
 * them as the rest is. Nothing is fetched from a network. Thread-safety: one thread per object. */
#ifndef ANNOT_SYMBOL_LINES_H
#define ANNOT_SYMBOL_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct symbol_lines;

/* Of an open file with debug information; takes a copy of the descriptor. NULL: it has none, it is
 * damaged, out of memory, built without libdw. destroy accepts NULL. */
struct symbol_lines *symbol_lines_create(int fd);
void symbol_lines_destroy(struct symbol_lines *lines);

/* false: not known. `ret_file` valid until destroy. */
bool symbol_lines_find(struct symbol_lines *lines, uint64_t address, const char **ret_file,
                       int *ret_line);

#endif
