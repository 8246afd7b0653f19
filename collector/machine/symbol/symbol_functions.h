/* SPDX-License-Identifier: MIT */
/* Finds functions of a file by patterns of their names, and the exits of each.
 *
 * Foreign bytes: bounded. Thread-safety: stateless; one thread per file. */
#ifndef ANNOT_SYMBOL_FUNCTIONS_H
#define ANNOT_SYMBOL_FUNCTIONS_H

#include "symbol_code.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

/* The functions of a file with names that match a pattern of fnmatch(3): the name as in the file,
 * demangled, or demangled without arguments. */
struct code_function {
    char *name; /* demangled */
    uint64_t begin, end;
    struct code_exits exits;
};

struct code_functions {
    VEC(struct code_function) items;
    uint32_t refused; /* of the matching ones: unreadable code */
    uint32_t unsized; /* unknown end */
    uint32_t
        chosen; /* chosen at run time among several (IFUNC): their address is not in the file */
    uint32_t beyond; /* more than CODE_FUNCTIONS_MAX */
    bool partial;    /* the file has only symbols for the dynamic linker */
    bool go;         /* compiled from Go */
    bool plain;      /* a program only of C: no exception passes through its frames */
};

enum { CODE_FUNCTIONS_MAX = 1000 };

/* Includes symbols of a separate debug file, which is searched for by `path`. 0 or -ENOMEM. fini
 * accepts a zeroed object. Reads all symbols: 50 ms for half a million. */
int code_functions_find(struct elf_file *file, const char *path, const char *pattern,
                        struct code_functions *ret_functions);
void code_functions_fini(struct code_functions *functions);

/* Names of functions spelt similarly to one that the file does not have, the nearest first. Empty
 * for a pattern. */
enum { CODE_NEAR_MAX = 3, CODE_NEAR_SIZE = 64 };

struct code_near {
    char names[CODE_NEAR_MAX][CODE_NEAR_SIZE];
    uint32_t count;
};

void code_functions_near(struct elf_file *file, const char *path, const char *wanted,
                         struct code_near *ret_near);

#endif
