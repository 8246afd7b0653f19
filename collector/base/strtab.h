/* SPDX-License-Identifier: MIT */
/* A string table: text to ordinal and back.
 *
 * Neither bytes nor entries ever move: their addresses stay valid until strtab_free. `{0}` is
 * empty; the first string gets ordinal 0. Thread-safety: none. */
#ifndef ANNOT_STRTAB_H
#define ANNOT_STRTAB_H

#include "vec.h"

#include <stddef.h>
#include <stdint.h>

struct strtab_entry {
    const char *bytes; /* NUL-terminated */
    uint32_t length;
};

enum { STRTAB_BLOCK = 4096 }; /* entries of one block */

struct strtab {
    VEC(struct strtab_entry *) blocks;
    size_t count;
    VEC(char *) pages;
    size_t page_used, page_size;
    uint32_t *slots; /* ordinal + 1; 0 = free */
    size_t slot_count;
};

/* The ordinal of a text, added if new; -ENOMEM. */
int64_t strtab_add(struct strtab *table, const char *bytes, size_t length);

/* Always a new ordinal, even for a known text; -ENOMEM. */
int64_t strtab_append(struct strtab *table, const char *bytes, size_t length);

/* `ordinal` < count. */
static inline const struct strtab_entry *strtab_get(const struct strtab *table, size_t ordinal)
{
    return &table->blocks.items[ordinal / STRTAB_BLOCK][ordinal % STRTAB_BLOCK];
}

void strtab_free(struct strtab *table);

#endif
