/* SPDX-License-Identifier: MIT */
/* Which of several symbols of one address names it best, and their order. Thread-safety: none
 * needed. */
#ifndef ANNOT_SYMBOL_SORT_H
#define ANNOT_SYMBOL_SORT_H

#include "symbol_table.h"

/* The parts of symbol_entry.key below the address. */
enum {
    SYMBOL_RANK_BITS = 16,
    SYMBOL_SOURCE_BITS = 4,
    SYMBOL_SOURCE_MASK = (1 << SYMBOL_SOURCE_BITS) - 1,
};

/* Less is better: functions before labels, those seen outside before local ones, then plain
 * names before those with underscores in front, short ones before long ones. 12 bits. */
uint64_t symbol_rank(const struct elf_symbol *symbol);

/* By address; one symbol of each stays: the best class, of these the largest, of these the best
 * rank. Labels inside of a function whose size is known go. Returns how many stay. */
size_t symbol_sort(struct symbol_entry *entries, size_t count);

#endif
