/* SPDX-License-Identifier: MIT */
/* Data from the .eh_frame of one ELF file: its unwind rows, with their cache on disk, and the
 * starts of its functions.
 *
 * Source: DWARF 5 section 6.4, LSB core 5.0 chapter 10.6. Foreign bytes: bounded, never trusted.
 * Thread-safety: immutable once built. */
#ifndef ANNOT_UNWIND_TABLE_H
#define ANNOT_UNWIND_TABLE_H

#include "elf_file.h"
#include "unwind_rule.h"

/* ---- Rows ------------------------------------------------------------------------------------ */

struct unwind_table {
    uint64_t base; /* of row addresses */
    uint64_t end;  /* end of the last described code */
    struct unwind_row *rows;
    uint32_t row_count;
    struct unwind_rule *rules;
    uint32_t rule_count;
    uint32_t skipped_count; /* descriptions that are unsupported */
};

/* 0, -ENODATA (no .eh_frame), -EBADMSG, -ENOMEM, -EFBIG (code spans more than 4 GiB). */
int unwind_table_build(struct elf_file *file, struct unwind_table **ret_table);
void unwind_table_destroy(struct unwind_table *table);

struct cfi_section;

/* As unwind_table_build, from an open section of the file. */
int unwind_table_build_section(struct elf_file *file, const struct cfi_section *section,
                               struct unwind_table **ret_table);

/* The rule for a module address. NULL: not covered. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address);

/* ---- Starts of functions --------------------------------------------------------------------- */

/* Available for stripped files as well, so that addresses of one function get one name.
 * 8 bytes a function; a part that a compiler moved elsewhere (".cold") counts as a function. */

struct function_starts;

/* 0, -ENODATA (no .eh_frame), -ENOMEM, -EFBIG (code spans more than 4 GiB). Frees the cached parts
 * of the file: invalidates pointers into it. */
int function_starts_build(struct elf_file *file, struct function_starts **ret_starts);
void function_starts_destroy(struct function_starts *starts);

/* The start of the function around a file address. false: not described. */
bool function_starts_find(const struct function_starts *starts, uint64_t address,
                          uint64_t *ret_begin);

#endif
