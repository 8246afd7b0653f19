/* SPDX-License-Identifier: MIT */
/* Where the functions of a file begin, by its .eh_frame: that is known of stripped files as well,
 * so that addresses of one function can be called by one name. 8 bytes a function; a part that a
 * compiler put elsewhere (".cold") counts as a function. Foreign bytes: bounded. Thread-safety:
 * immutable once built. */
#ifndef ANNOT_FUNCTION_STARTS_H
#define ANNOT_FUNCTION_STARTS_H

#include "elf_file.h"

struct function_starts;

/* 0, -ENODATA (no .eh_frame), -ENOMEM, -EFBIG (code spans more than 4 GiB). Gives back what it
 * read of the file: pointers into it are invalid then. */
int function_starts_build(struct elf_file *file, struct function_starts **ret_starts);
void function_starts_destroy(struct function_starts *starts);

/* The begin of the function around an address of the file's own. false: none is described there. */
bool function_starts_find(const struct function_starts *starts, uint64_t address,
                          uint64_t *ret_begin);

#endif
