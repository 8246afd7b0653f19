/* SPDX-License-Identifier: MIT */
/* Inside of symbol/: what symbol_module.c (files) and symbol_other.c (code made at run time) join.
 */
#ifndef ANNOT_SYMBOL_PARTS_H
#define ANNOT_SYMBOL_PARTS_H

#include "elf_file.h"
#include "strtab.h"
#include "symbol_module.h"
#include "symbol_name.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- symbol_table.c -----------------------------------------------------------------------------
 */

/* Addresses of functions and where their names stand in files: 16 bytes a symbol, so that a library
 * of half a million costs 8 MiB. One symbol per address, the best.
 *
 *     symbol_table_add_file* -> symbol_table_finish -> { find, name }*
 *
 * `{0}` is empty. Foreign bytes: bounded. Thread-safety: none. */

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

/* ---- symbol_table.c: stubs
 * -----------------------------------------------------------------------
 */

/* The stubs by which a module calls others, as "printf@plt": they have no symbols, but relocations
 * tell whom the pointer that each jumps through belongs to. x86-64. Sources: System V ABI, AMD64
 * supplement, 5.2; gABI chapter 4, "Relocation". Foreign bytes: bounded. Thread-safety: none. */

/* Reads sections of `file`; the caller trims it. */
void symbol_plt_add(struct symbol_table *table, struct elf_file *file);

/* ---- code_runs.c --------------------------------------------------------------------------------
 */

/* Named stretches of memory of which later ones hide earlier ones where they overlap, as code does
 * that a JIT compiler puts where older code was.
 *
 * Kept as sorted runs without overlaps, each at least twice as long as the next newer one: adding n
 * stretches costs O(n log n) in total, however they are portioned, finding O(log^2 n).
 * Thread-safety: none. */

struct code_stretch {
    uint64_t begin, end; /* begin < end */
    uint32_t name;
};

struct code_run { /* a VEC with a name */
    struct code_stretch *items;
    size_t count, capacity;
};

/* `{0}` is empty. */
struct code_runs {
    VEC(struct code_run) runs; /* oldest and longest first */
};

/* In order of age. 0 or -ENOMEM, then none of these is there. */
int code_runs_add(struct code_runs *runs, const struct code_stretch *stretches, size_t count);
bool code_runs_find(const struct code_runs *runs, uint64_t address, uint32_t *ret_name);
size_t code_runs_count(const struct code_runs *runs);
void code_runs_free(struct code_runs *runs);

/* ---- symbol_code.c ------------------------------------------------------------------------------
 */

/* One instruction of x86-64 code: how long it is, and whether it leaves or jumps. */
struct code_instruction {
    uint8_t length;
    uint8_t kind;   /* enum code_kind */
    uint8_t detail; /* see there */
    int64_t target; /* CODE_JUMP: from where the instruction begins */
};

/* false: it is none that is known, or it goes on behind `size`. */
bool code_read(const uint8_t *bytes, size_t size, struct code_instruction *ret_code);

/* ---- symbol_debug.c -----------------------------------------------------------------------------
 */

/* The separate debug file of a module: by build-id and by .gnu_debuglink where distributions put
 * it (GDB manual, "Separate Debug Files"), and the small table that some compress into the file
 * itself (.gnu_debugdata, "MiniDebugInfo"). What does not belong to the module is not taken.
 * Nothing is fetched from a network. Foreign bytes: bounded. Thread-safety: none needed. */

/* The caller closes *ret_file and frees *ret_path. false: none. */
bool symbol_debug_open(struct elf_file *file, const char *path, struct elf_file **ret_file,
                       char **ret_path);

/* The caller closes *ret_file. false: none, or built without liblzma. */
bool symbol_debug_open_packed(struct elf_file *file, struct elf_file **ret_file);

/* Opens a path as the file it is to be: regular, and with the build-id of `file` if it has one.
 * Both may be the same file. A descriptor or -errno. */
int symbol_debug_open_same(const struct elf_file *file, const char *path);

/* ---- symbol_lines.c -----------------------------------------------------------------------------
 */

/* Addresses to source lines, by libdw. Its own object, because what it reads (hundreds of megabytes
 * for a large library) is wanted rarely. libdw is made for files that lie, but not proven against
 * them as the rest is. Nothing is fetched from a network. Thread-safety: one thread per object. */

struct symbol_lines;

/* Of an open file with debug information; takes a copy of the descriptor. NULL: it has none, it is
 * damaged, out of memory, built without libdw. destroy accepts NULL. */
struct symbol_lines *symbol_lines_create(int fd);
void symbol_lines_destroy(struct symbol_lines *lines);

/* As symbol_module_places; names as they stand in the file, valid until destroy. */
struct symbol_place;
size_t symbol_lines_places(struct symbol_lines *lines, uint64_t address,
                           struct symbol_place *places);

/* As symbol_module_arguments: symbol_arguments.c. */
int symbol_lines_arguments(struct symbol_lines *lines, const struct code_entry *entry,
                           code_argument_visit *visit, void *context);

/* false: not known. `ret_file` valid until destroy. */
bool symbol_lines_find(struct symbol_lines *lines, uint64_t address, const char **ret_file,
                       int *ret_line);

#ifdef HAVE_LIBDW
#include <elfutils/libdw.h>

/* The unit whose code has an address. */
bool symbol_lines_unit(struct symbol_lines *lines, uint64_t address, Dwarf_Die *ret_unit);

/* ---- symbol_types.c: what values are ---- */

enum { SYMBOL_CHOICES_MAX = 256 };

/* The type of what has one, without qualifiers and further names. false: none is told. */
bool symbol_type_of(Dwarf_Die *die, Dwarf_Die *ret_type);
/* By a type's tag: an address. */
bool symbol_type_is_pointer(int tag);
/* Two words, none of them a floating-point number: members by their place. */
bool symbol_type_is_pair(Dwarf_Die *type, Dwarf_Die members[2]);
bool symbol_type_constant(Dwarf_Die *die, int64_t *ret_value);
/* Type and size. */
void symbol_type_describe(Dwarf_Die *type, struct code_argument *argument);
/* Of an enumeration; `choices` are then the argument's. */
void symbol_type_choices(Dwarf_Die *type, struct code_choice choices[SYMBOL_CHOICES_MAX],
                         struct code_argument *argument);

/* ---- symbol_convention.c: where they are ---- */

/* What the arguments so far have taken. */
struct symbol_convention {
    bool known;
    unsigned integers, vectors;
    int64_t stack;   /* behind the return address */
    bool stack_lost; /* something lies there whose alignment is not known */
};

void symbol_convention_begin(Dwarf_Die *function, int language, struct symbol_convention *abi);
/* The next argument, which is described. Behind one that is passed in a way not known here, none is
 * known. */
void symbol_convention_next(struct symbol_convention *abi, int language, Dwarf_Die *type,
                            struct code_argument *argument);

#endif

#endif
