/* SPDX-License-Identifier: MIT */
/* Mapped code of a process, for unwinding and naming one stack after another.
 *
 * Files are opened and their tables built when an address first falls into them. Foreign bytes:
 * bounded. Thread-safety: one thread per object. */
#ifndef ANNOT_LOOK_SPACE_H
#define ANNOT_LOOK_SPACE_H

#include "elf_file.h"
#include "symbol_module.h"
#include "symbol_other.h"
#include "unwind_stack.h"
#include "unwind_table.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct look_module {
    uint64_t begin, end, offset, inode;
    uint32_t major, minor;
    char *path;
    bool opened;
    struct elf_file *file; /* NULL: without a file, or unreadable */
    bool missing;          /* file or table unreadable: walks end there */
    struct unwind_table *table;
    struct symbol_module *symbols;
    struct function_starts
        *starts; /* built for the first address without a name; NULL: unavailable */
    bool starts_tried;
    uint64_t bias;
};

struct look_space {
    int32_t pid;
    VEC(struct look_module) modules; /* executable mappings, by address */
    struct symbol_jit *jit;
};

/* 0 or -errno of reading its mappings. */
int look_space_open(struct look_space *space, int32_t pid, int32_t ns_pid);
void look_space_close(struct look_space *space);

/* The module mapped there, with its file opened; NULL: not executable. Valid until close. */
struct look_module *look_space_find(struct look_space *space, uint64_t address);

enum { LOOK_DEPTH = 1024 };

struct look_walk {
    struct unwind_frame frames[LOOK_DEPTH]; /* leaf first */
    uint32_t count;
    enum stack_end end;
};

/* Walks from the registers of a waiting thread. */
void look_space_unwind(struct look_space *space, const struct unwind_registers *registers,
                       struct look_walk *ret_walk);

struct look_name {
    char function[256];
    const char *module; /* valid until close; "" = unknown */
    uint64_t address;   /* in the module */
    bool jit;
};

/* The readable name of an address; `caller`: it is a return address. */
void look_space_name(struct look_space *space, uint64_t address, bool caller,
                     struct look_name *ret_name);

#endif
