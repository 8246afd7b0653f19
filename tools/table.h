/* SPDX-License-Identifier: MIT */
/* A table of texts that fits a width.
 *
 * Its first column is left-aligned and shrinks (an ellipsis in the middle); of the others, the
 * least wanted disappear when there is no room. Without a width it is as wide as it needs.
 * Thread-safety: none. */
#ifndef ANNOT_TABLE_H
#define ANNOT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_column {
    const char *title;
    unsigned rank; /* with too little room the highest rank goes first; 0 stays */
    bool left;     /* text; numbers stand right */
};

struct table;

/* `columns` outlives the table. NULL: out of memory. destroy accepts NULL. */
struct table *table_create(const struct table_column *columns, size_t count);
void table_destroy(struct table *table);

/* The next cell, row by row. Out of memory is remembered and given by table_print. */
void table_add(struct table *table, const char *text);

/* A cell with a time, a count, a part of a whole in percent. */
void table_add_time(struct table *table, uint64_t ns);
void table_add_count(struct table *table, uint64_t count);
void table_add_percent(struct table *table, uint64_t part, uint64_t whole);

/* The first column is no wider than that, whatever room there is. */
void table_limit_first(struct table *table, size_t width);

/* To standard output. width 0: no limit. 0 or -ENOMEM; *ret_hidden: columns left out. */
int table_print(struct table *table, size_t width, bool color, size_t *ret_hidden);

#endif
