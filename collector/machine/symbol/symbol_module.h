/* SPDX-License-Identifier: MIT */
/* Names of the functions of one ELF file: .symtab, .dynsym, stubs ("printf@plt"), those of its
 * separate debug file (build-id path, debuglink) and of .gnu_debugdata, demangled (C++, Rust).
 * Without any, "module+0x1234". Loaded at the first question: about 50 ms for a library of half a
 * million symbols, then 16 bytes each. Foreign bytes: bounded. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_SYMBOL_MODULE_H
#define ANNOT_SYMBOL_MODULE_H

#include "elf_file.h"
#include "vec.h"

struct symbol_module;

/* Takes an object of its own for `file` (elf_file_reopen), which may be trimmed or closed at any
 * time. `path` is what people call it and where its debug file and its lines are looked for. NULL:
 * out of memory or descriptors. destroy accepts NULL. */
struct symbol_module *symbol_module_create(struct elf_file *file, const char *path);
void symbol_module_destroy(struct symbol_module *module);

/* Where debug files are installed. NULL: /usr/lib/debug. Before threads. */
void symbol_debug_set_root(const char *directory);

struct symbol {
    const char *name;    /* demangled, at most 1 KiB of UTF-8; valid until destroy */
    uint64_t begin, end; /* addresses of the module's own; end 0 = unknown */
    bool guessed;        /* the nearest symbol before it, which is not known to reach that far:
                            show symbol_path_text() instead, and this as a remark at most */
};

/* false: nothing is known. */
bool symbol_module_find(struct symbol_module *module, uint64_t address, struct symbol *ret_symbol);

/* The symbols whose names, as they stand in the file, `is` accepts: each as [begin, end). */
void symbol_module_each(struct symbol_module *module, bool (*is)(const char *name),
                        void (*visit)(void *context, uint64_t begin, uint64_t end), void *context);

/* What to show where no name is known: "libfoo.so+0x1234", "[vdso]+0x80"; `size` >= 1. The length.
 */
size_t symbol_path_text(const char *path, uint64_t address, char *buffer, size_t size);

/* Source file and line by libdw, if the file has debug information and libdw is built in; slow,
 * for display only. The file is opened by its path again, and must be the same by its build-id.
 * false: not known. `ret_file` valid until destroy. */
bool symbol_module_line(struct symbol_module *module, uint64_t address, const char **ret_file,
                        int *ret_line);

/* Where in the source an address is. Code may have been inlined there: then the innermost function
 * comes first, each with the line that ran or that calls the one before, and last the function that
 * has the code. As symbol_module_line. Returns how many; 0: not known. */
enum { SYMBOL_PLACES_MAX = 16 };

struct symbol_place {
    const char *name;     /* demangled; of the last NULL: its symbol says it */
    const char *file;     /* where the function is; both valid until destroy */
    int line, first_line; /* first_line 0: not known */
};

size_t symbol_module_places(struct symbol_module *module, uint64_t address,
                            struct symbol_place places[SYMBOL_PLACES_MAX]);

/* ---- Where functions are left -----------------------------------------------------------------
 */

/* The places where a function of x86-64 code is left: what returns, and what jumps out of it. */

enum code_kind {
    CODE_OTHER = 0,
    CODE_RETURN = 1,
    CODE_JUMP = 2,          /* detail: enum code_condition */
    CODE_JUMP_REGISTER = 3, /* detail: the register's number, 0 to 15 */
    CODE_JUMP_MEMORY = 4,   /* detail: 1 if an index register takes part */
    CODE_CALL = 5,          /* of an address that the instruction has */
};

/* Those below are the processor's: the low four bits of the opcode. */
enum code_condition { CODE_ALWAYS = 16, CODE_COUNTED = 17 };

/* The first is where it begins; others are parts of it that the compiler has put elsewhere. */
enum { CODE_PIECES_MAX = 8 };

struct code_piece {
    uint64_t address;
    size_t size;
    const uint8_t *bytes;
};

struct code_exit {
    uint64_t address;
    uint8_t kind, detail; /* enum code_kind */
};

struct code_exits {
    uint64_t entry; /* where it is met once for each call */
    bool restarts;  /* it also jumps there itself */
    bool recurses;  /* it calls itself */
    VEC(struct code_exit) items;
};

/* 0; -EBADMSG: there are bytes between its instructions that are none, or it jumps into the middle
 * of one; -ENOMEM. fini accepts a zeroed object. */
int code_exits_find(const struct code_piece *pieces, size_t count, struct code_exits *ret_exits);
void code_exits_fini(struct code_exits *exits);

/* The functions of a file whose names match a pattern, as fnmatch(3) has it: the name as it stands
 * in the file, demangled, or demangled without arguments. */
struct code_function {
    char *name; /* demangled */
    uint64_t begin, end;
    struct code_exits exits;
};

struct code_functions {
    VEC(struct code_function) items;
    uint32_t refused; /* of those that match: their code cannot be read */
    uint32_t unsized; /* nothing says where they end */
    uint32_t chosen;  /* at run time, among others (IFUNC): their address is not in the file */
    uint32_t beyond;  /* more than CODE_FUNCTIONS_MAX */
    bool partial;     /* the file has no symbols but those for the dynamic linker */
    bool go;          /* compiled from Go */
    bool plain;       /* a program of C alone: no exception passes through its frames */
};

enum { CODE_FUNCTIONS_MAX = 1000 };

/* Symbols of a separate debug file count too. `path`: where that is looked for. 0 or -ENOMEM. fini
 * accepts a zeroed object. Reads all symbols: 50 ms for half a million. */
int code_functions_find(struct elf_file *file, const char *path, const char *pattern,
                        struct code_functions *ret_functions);
void code_functions_fini(struct code_functions *functions);

/* ---- Arguments: symbol_arguments.c ---- */

/* How a value is to be understood. */
enum code_type {
    CODE_OTHER_TYPE = 0,
    CODE_SIGNED = 1,
    CODE_UNSIGNED = 2, /* addresses, too */
    CODE_FLOAT = 3,
    CODE_BOOL = 4,
    CODE_TEXT = 5,         /* the address of one that ends with NUL */
    CODE_COUNTED_TEXT = 6, /* an address and how many bytes are there */
};

/* Where it is when the function begins. */
enum code_where {
    CODE_IN_REGISTER = 0,
    CODE_ON_STACK = 1,
    CODE_CONSTANT = 2, /* nowhere: it is always the same */
    CODE_IN_VECTOR = 3,
    CODE_IN_PARTS = 4,
    CODE_OPTIMISED_OUT = 5,
    CODE_NOT_KNOWN = 6,
};

struct code_choice {
    int64_t value;
    const char *name;
};

struct code_argument {
    const char *name;      /* NULL: it has none */
    uint8_t where, type;   /* enum code_where, enum code_type */
    uint8_t size;          /* bytes; 0: many */
    uint8_t reg, second;   /* the processor's numbers; of a counted text both */
    bool length_first;     /* of one: the first is how many */
    int64_t offset;        /* ON_STACK: from the stack pointer on; CONSTANT: the value */
    uint32_t choice_count; /* of an enumeration: its first 256 names */
    const struct code_choice *choices;
};

/* Where the function begins, and where it is met: there, or behind its "endbr64". */
struct code_entry {
    uint64_t begin, entry;
};

/* What is told is valid until it returns. Other than 0 ends it. */
typedef int code_argument_visit(void *context, const struct code_argument *argument);

/* By the debug information of the file or of its separate debug file, each argument in its order.
 * 0, what `visit` returned, or -ENOENT: there is none, or none of this function. Opens files by
 * their paths again, as symbol_module_line. */
int symbol_module_arguments(struct symbol_module *module, const struct code_entry *entry,
                            code_argument_visit *visit, void *context);

#endif
