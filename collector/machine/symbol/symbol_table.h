/* SPDX-License-Identifier: MIT */
/* Addresses of functions and places of their names in files: 16 bytes a symbol, so that a library
 * of half a million costs 8 MiB. One symbol per address, the best.
 *
 *     symbol_table_add_file* -> symbol_table_finish -> { find, name }*
 *
 * `{0}` is empty. Foreign bytes: bounded. Thread-safety: none.
 *
 * Stubs by which a module calls others are named "printf@plt": they have no symbols, but
 * relocations name the function of the pointer that each jumps through. x86-64. Sources: System V
 * ABI, AMD64 supplement, 5.2; gABI chapter 4, "Relocation". Foreign bytes: bounded. Thread-safety:
 * none. */
#ifndef ANNOT_SYMBOL_TABLE_H
#define ANNOT_SYMBOL_TABLE_H

#include "strtab.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

enum { SYMBOL_SOURCES = 8, SYMBOL_RANGES = 32 };

struct symbol_entry {
    uint64_t key;  /* address << 16 | rank while building (less is better), then source */
    uint32_t size; /* 0 = unknown */
    uint32_t name; /* offset in its source */
};

/* A string table of a file, or `texts`. */
struct symbol_source {
    struct elf_file *file;
    uint64_t base; /* base of the entries' offsets */
};

struct symbol_table {
    VEC(struct symbol_entry) entries;
    struct symbol_source sources[SYMBOL_SOURCES];
    size_t source_count;
    struct elf_file *files[SYMBOL_SOURCES]; /* own objects, closed by free */
    size_t file_count;

    struct {
        uint64_t begin, end;
    } code[SYMBOL_RANGES]; /* ranges of functions */

    size_t code_count;
    struct strtab texts; /* names outside of files: of PLT entries */
    bool complete;       /* a file had all symbols, not only those for the dynamic linker */
    bool failed;         /* out of memory: the table is valid but incomplete */
};

/* Adds the executable segments of this file as code ranges. Call first. */
void symbol_table_add_code(struct symbol_table *table, const struct elf_file *file);

/* Takes over `file`, even if it has no symbols. */
void symbol_table_add_file(struct symbol_table *table, struct elf_file *file);

/* Adds a function with the given name. */
void symbol_table_add_text(struct symbol_table *table, uint64_t address, uint32_t size,
                           const char *name);

/* Sorts, keeps the best of each address, frees memory used only for building. */
void symbol_table_finish(struct symbol_table *table);
void symbol_table_free(struct symbol_table *table);

struct symbol_hit {
    size_t index;
    uint64_t begin, end; /* end 0 = unknown */
    bool guessed;        /* the function's end is unknown */
};

bool symbol_table_find(const struct symbol_table *table, uint64_t address,
                       struct symbol_hit *ret_hit);

/* The name as in the file, truncated to the buffer; its length, 0 = unreadable. */
size_t symbol_table_name(const struct symbol_table *table, size_t index, char *buffer, size_t size);

/* Reads sections of `file`; the caller trims it. */
void symbol_plt_add(struct symbol_table *table, struct elf_file *file);

#endif
