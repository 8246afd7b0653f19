/* SPDX-License-Identifier: MIT */
/* Addresses of functions and where their names stand in files: 16 bytes a symbol, so that a library
 * of half a million costs 8 MiB. One symbol per address, the best.
 *
 *     symbol_table_add_file* -> symbol_table_finish -> { find, name }*
 *
 * `{0}` is empty. Foreign bytes: bounded. Thread-safety: none.
 *
 * The stubs by which a module calls others, as "printf@plt": they have no symbols, but relocations
 * tell whom the pointer that each jumps through belongs to. x86-64. Sources: System V ABI, AMD64
 * supplement, 5.2; gABI chapter 4, "Relocation". Foreign bytes: bounded. Thread-safety: none. */
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
    uint64_t key;  /* address << 16 | how good it is while building (less is better), then source */
    uint32_t size; /* 0 = not told */
    uint32_t name; /* place in its source */
};

/* A string table of a file, or `texts`. */
struct symbol_source {
    struct elf_file *file;
    uint64_t base; /* entries count places from here */
};

struct symbol_table {
    VEC(struct symbol_entry) entries;
    struct symbol_source sources[SYMBOL_SOURCES];
    size_t source_count;
    struct elf_file *files[SYMBOL_SOURCES]; /* own objects, closed by free */
    size_t file_count;

    struct {
        uint64_t begin, end;
    } code[SYMBOL_RANGES]; /* where functions can lie */

    size_t code_count;
    struct strtab texts; /* names that stand in no file: of PLT entries */
    bool complete;       /* a file had all symbols, not only those for the dynamic linker */
    bool failed;         /* out of memory: what is there is good, more is missing */
};

/* Functions lie in the executable segments of this file. Before all others. */
void symbol_table_add_code(struct symbol_table *table, const struct elf_file *file);

/* Takes `file` over, also if nothing is in it. */
void symbol_table_add_file(struct symbol_table *table, struct elf_file *file);

/* A function whose name is told here. */
void symbol_table_add_text(struct symbol_table *table, uint64_t address, uint32_t size,
                           const char *name);

/* Sorts, keeps the best of each address, gives back memory that only building needed. */
void symbol_table_finish(struct symbol_table *table);
void symbol_table_free(struct symbol_table *table);

struct symbol_hit {
    size_t index;
    uint64_t begin, end; /* end 0 = not told */
    bool guessed;        /* nothing says that the function reaches that far */
};

bool symbol_table_find(const struct symbol_table *table, uint64_t address,
                       struct symbol_hit *ret_hit);

/* The name as it stands in the file, cut to the buffer; its length, 0 = it cannot be read. */
size_t symbol_table_name(const struct symbol_table *table, size_t index, char *buffer, size_t size);

/* Reads sections of `file`; the caller trims it. */
void symbol_plt_add(struct symbol_table *table, struct elf_file *file);

#endif
