/* SPDX-License-Identifier: MIT */
/* The stubs by which a module calls others, as "printf@plt": they have no symbols, but relocations
 * tell whom the pointer that each jumps through belongs to. x86-64. Sources: System V ABI, AMD64
 * supplement, 5.2; gABI chapter 4, "Relocation". Foreign bytes: bounded. Thread-safety: none. */
#ifndef ANNOT_SYMBOL_PLT_H
#define ANNOT_SYMBOL_PLT_H

#include "symbol_table.h"

/* Reads sections of `file`; the caller trims it. */
void symbol_plt_add(struct symbol_table *table, struct elf_file *file);

#endif
