/* SPDX-License-Identifier: MIT */
/* Texts for people: the terminal, its width, whether colour is wanted, and how wide a text is on
 * it; grids of texts and numbers.
 *
 * Thread-safety: functions of the environment and of descriptors; no state but that of grids. */
#ifndef ANNOT_TERM_H
#define ANNOT_TERM_H

#include "number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Columns of the terminal behind `fd`; 0 if it is none. COLUMNS in the environment wins. */
unsigned term_width(int fd);

/* Is colour wanted on `fd`: "always", "never", or if it is a terminal, not TERM=dumb, and NO_COLOR
 * is not set ("auto", NULL). */
bool term_color(int fd, const char *when);

/* Names and command lines are foreign. The functions below show control characters as shells write
 * them (\n, \e, \x01), broken bytes and what would turn the writing direction as '?'. */

/* Columns that UTF-8 text takes: wide characters 2, combining ones 0, broken bytes 1. */
size_t term_text_width(const char *text);

/* Copies `text`, cut in its middle with an ellipsis to `width` columns. Returns the columns used.
 * buffer_size >= 4 * width + 4. */
size_t term_shorten(const char *text, size_t width, char *buffer, size_t buffer_size);

/* How many bytes of `text` make a line of at most `width` columns: up to the last blank that fits,
 * but for those between a number and its unit; all of it, if it fits. A word that is longer is
 * broken. At least 1 unless the text is empty; blanks behind it are the caller's. */
size_t term_line(const char *text, size_t width);

/* The same to a stream: lines of `width` columns, those behind the first indented; `used` columns
 * of the first are taken. Ends with a newline. */
void term_wrap(FILE *stream, const char *text, size_t width, size_t used, size_t indent);

/* As term_shorten(), cut at its end. */
size_t term_cut(const char *text, size_t width, char *buffer, size_t buffer_size);

enum { TERM_GLYPH_SIZE = 8 };

/* The bytes that show the next character of `text`, which moves behind it, and their number. */
size_t term_take(const char **text, char bytes[TERM_GLYPH_SIZE]);

/* Prints `text` to standard output. */
void term_print(const char *text);

/* Its first `size` bytes, to any stream; NUL ends it as well. The character that the size cuts is
 * written whole. */
void term_write(FILE *stream, const char *text, size_t size);

/* ---- Grids ----------------------------------------------------------------------------------- */

/* A grid of texts that fits a width. Its first column is left-aligned and shrinks (an ellipsis in
 * the middle); of the others, the least wanted disappear when there is no room. A column that fills
 * is cut at its end, once those that are less wanted have gone, before the first one shrinks.
 * Without a width the grid is as wide as it needs. Thread-safety: none. */

struct grid_column {
    const char *title;
    unsigned rank; /* with too little room the highest rank goes first; 0 stays */
    bool left;     /* text; numbers stand right */
};

struct grid;

/* `columns` outlives the grid. NULL: out of memory. destroy accepts NULL. */
struct grid *grid_create(const struct grid_column *columns, size_t count);
void grid_destroy(struct grid *table);

/* The next cell, row by row. Out of memory is remembered and given by grid_print. */
void grid_add(struct grid *table, const char *text);
/* With the parameters of a terminal's colour, "1;38;5;208": constant text. */
void grid_add_styled(struct grid *table, const char *text, const char *style);

/* A cell with a time, a count, a part of a whole in percent. */
void grid_add_time(struct grid *table, uint64_t ns);
void grid_add_count(struct grid *table, uint64_t count);
void grid_add_percent(struct grid *table, uint64_t part, uint64_t whole);
/* The column that fills: it stands behind the first. */
void grid_let_fill(struct grid *table, size_t column);
/* Times and parts with two or three digits. */
void grid_be_brief(struct grid *table);

/* The first column is no wider than that, whatever room there is. */
void grid_limit_first(struct grid *table, size_t width);

/* To standard output. width 0: no limit. 0 or -ENOMEM; *ret_hidden: columns left out. */
int grid_print(struct grid *table, size_t width, bool color, size_t *ret_hidden);

#endif
