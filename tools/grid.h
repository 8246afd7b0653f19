/* SPDX-License-Identifier: MIT */
/* A grid of texts that fits a width.
 *
 * Its first column is left-aligned and shrinks (an ellipsis in the middle); of the others, the
 * least wanted disappear when there is no room. Without a width it is as wide as it needs.
 * Thread-safety: none. */
#ifndef ANNOT_GRID_H
#define ANNOT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grid_column {
    const char *title;
    unsigned rank; /* with too little room the highest rank goes first; 0 stays */
    bool left;     /* text; numbers stand right */
};

struct grid;

/* `columns` outlives the grid. NULL: out of memory. destroy accepts NULL. */
struct grid *grid_create(const struct grid_column *columns, size_t count);
void grid_destroy(struct grid *table);

/* The next cell, row by row. Out of memory is remembered and given by table_print. */
void grid_add(struct grid *table, const char *text);

/* A cell with a time, a count, a part of a whole in percent. */
void grid_add_time(struct grid *table, uint64_t ns);
void grid_add_count(struct grid *table, uint64_t count);
void grid_add_percent(struct grid *table, uint64_t part, uint64_t whole);

/* The first column is no wider than that, whatever room there is. */
void grid_limit_first(struct grid *table, size_t width);

/* To standard output. width 0: no limit. 0 or -ENOMEM; *ret_hidden: columns left out. */
int grid_print(struct grid *table, size_t width, bool color, size_t *ret_hidden);

#endif
