/* SPDX-License-Identifier: MIT */
/* Arguments of functions, from debug information: names, types, and their places at the function's
 * entry. Source: DWARF 5, sections 2.5, 2.6 and 4.1. Thread-safety: one thread per object. */
#ifndef ANNOT_SYMBOL_ARGUMENTS_H
#define ANNOT_SYMBOL_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* The interpretation of a value. */
enum code_type {
    CODE_OTHER_TYPE = 0,
    CODE_SIGNED = 1,
    CODE_UNSIGNED = 2, /* addresses, too */
    CODE_FLOAT = 3,
    CODE_BOOL = 4,
    CODE_TEXT = 5,         /* the address of a text that ends with NUL */
    CODE_COUNTED_TEXT = 6, /* an address and the number of bytes there */
};

/* The place at the function's entry. */
enum code_where {
    CODE_IN_REGISTER = 0,
    CODE_ON_STACK = 1,
    CODE_CONSTANT = 2, /* no place: always the same value */
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
    const char *name;      /* NULL: unnamed */
    uint8_t where, type;   /* enum code_where, enum code_type */
    uint8_t size;          /* bytes; 0: many */
    uint8_t reg, second;   /* the processor's numbers; a counted text has both */
    bool length_first;     /* of a counted text: the first is the length */
    int64_t offset;        /* ON_STACK: from the stack pointer; CONSTANT: the value */
    uint32_t choice_count; /* of an enumeration: its first 256 names */
    const struct code_choice *choices;
};

/* The start of a function, and the address of its probe: the start, or after its "endbr64". */
struct code_entry {
    uint64_t begin, entry;
};

/* The argument is valid until it returns. A nonzero result ends the visit. */
typedef int code_argument_visit(void *context, const struct code_argument *argument);

/* As symbol_module_arguments. */
struct symbol_lines;

int symbol_lines_arguments(struct symbol_lines *lines, const struct code_entry *entry,
                           code_argument_visit *visit, void *context);

#endif
