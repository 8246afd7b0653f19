/* SPDX-License-Identifier: MIT */
/* Symbols and static probes (USDT) of an ELF file.
 *
 * Source: System V ABI, chapter 4 and 5; the notes of SystemTap's <sys/sdt.h>. Foreign bytes:
 * bounded, never trusted. Thread-safety: as elf_file.h. */
#ifndef ANNOT_ELF_SYMBOLS_H
#define ANNOT_ELF_SYMBOLS_H

#include "elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
    const char *name;    /* NUL-terminated; valid until close */
    uint64_t name_place; /* its offset in the file, for elf_file_read; 0 = compressed there */
    uint64_t address, size;
    uint8_t type, binding; /* STT_*, STB_* */
    bool dynamic;          /* from .dynsym */
};

/* Visits every defined, named symbol of .symtab and .dynsym (without section headers: of the
 * dynamic segment's table); stops when `visit` returns false. `visit` may not use the file. */
void elf_file_symbols(struct elf_file *file,
                      bool (*visit)(void *context, const struct elf_symbol *), void *context);

/* Finds a symbol by name; the symbol's `name` is then the argument; false: not found. An exported
 * one is found by its hash, in microseconds; others by reading all, which takes 30 ms for a library
 * of a million. */
bool elf_file_find_symbol(struct elf_file *file, const char *name, struct elf_symbol *ret_symbol);
bool elf_file_find_exported(struct elf_file *file, const char *name, struct elf_symbol *ret_symbol);

/* Of .symtab, computed from the section's size. */
size_t elf_file_symbol_count(const struct elf_file *file);

/* A static probe (USDT), named in the program's source. Texts are valid until close. */
struct elf_probe {
    const char *provider, *name;
    const char *arguments; /* their locations: "-4@%edi 8@-16(%rbp)" */
    uint64_t address;      /* of the instruction, in the module's address space */
    uint64_t semaphore;    /* of a 16-bit count of watchers; 0: without one */
};

/* Visits all probes, in the file's order; several may have the same name. Stops when `visit`
 * returns false. */
void elf_file_probes(struct elf_file *file, bool (*visit)(void *context, const struct elf_probe *),
                     void *context);

#endif
