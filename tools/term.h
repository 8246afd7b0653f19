/* SPDX-License-Identifier: MIT */
/* Text output: the terminal, its width, the use of colour, and the width of texts on it; grids of
 * texts and numbers.
 *
 * Thread-safety: functions of the environment and of descriptors; grids are the only state. */
#ifndef ANNOT_TERM_H
#define ANNOT_TERM_H

#include "number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Width of the terminal `fd`; 0 for other files. COLUMNS in the environment overrides it. */
unsigned term_width(int fd);

/* Returns true if colour is used on `fd`: "always", "never", or ("auto", NULL) if it is a terminal,
 * not TERM=dumb, and NO_COLOR is not set. */
bool term_color(int fd, const char *when);

/* Names and command lines are untrusted. The functions below print control characters as shells
 * write them (\n, \e, \x01), and invalid bytes and bidirectional controls as '?'. */

/* Width of UTF-8 text in columns: wide characters 2, combining ones 0, invalid bytes 1. */
size_t term_text_width(const char *text);

/* Copies `text`, cut in its middle with an ellipsis to `width` columns. Returns the columns used.
 * buffer_size >= 4 * width + 4. */
size_t term_shorten(const char *text, size_t width, char *buffer, size_t buffer_size);

/* Number of bytes of `text` that form a line of at most `width` columns: up to the last blank that
 * fits, except one between a number and its unit; all of the text, if it fits. A longer word is
 * broken. At least 1 unless the text is empty; the caller skips following blanks. */
size_t term_line(const char *text, size_t width);

/* Prints the text in lines of `width` columns, those after the first indented; `used` columns of
 * the first line are taken. Ends with a newline. */
void term_wrap(FILE *stream, const char *text, size_t width, size_t used, size_t indent);

/* Like term_shorten(), but cut at the end. */
size_t term_cut(const char *text, size_t width, char *buffer, size_t buffer_size);

enum { TERM_GLYPH_SIZE = 8 };

/* Returns the bytes that print the next character of `text`, and their number; moves *text past the
 * character. */
size_t term_take(const char **text, char bytes[TERM_GLYPH_SIZE]);

/* Prints `text` to standard output. */
void term_print(const char *text);

/* Prints the first `size` bytes to a stream; ends early at a NUL. A character cut by `size` is
 * printed whole. */
void term_write(FILE *stream, const char *text, size_t size);

/* ---- Grids ----------------------------------------------------------------------------------- */

/* A grid of texts that fits a width. Its first column is left-aligned and shrinks (an ellipsis in
 * the middle); of the others, those of the highest rank are hidden if there is no room. A filling
 * column is cut at its end, after columns of higher rank were hidden and before the first one
 * shrinks. Without a width, the grid is as wide as needed. Thread-safety: none. */

struct grid_column {
    const char *title;
    unsigned rank; /* with too little room the highest rank is hidden first; 0 is never hidden */
    bool left;     /* text, aligned left; numbers are aligned right */
};

struct grid;

/* `columns` must outlive the grid. NULL: out of memory. destroy accepts NULL. */
struct grid *grid_create(const struct grid_column *columns, size_t count);
void grid_destroy(struct grid *table);

/* Adds the next cell, row by row. An allocation failure is reported by grid_print. */
void grid_add(struct grid *table, const char *text);
/* `style`: parameters of a terminal's colour, "1;38;5;208", as constant text. */
void grid_add_styled(struct grid *table, const char *text, const char *style);

/* Adds a cell with a time, a count, or a percentage. */
void grid_add_time(struct grid *table, uint64_t ns);
void grid_add_count(struct grid *table, uint64_t count);
void grid_add_percent(struct grid *table, uint64_t part, uint64_t whole);
/* Makes a column other than the first the filling one. */
void grid_let_fill(struct grid *table, size_t column);
/* Prints times and percentages with two or three digits. */
void grid_be_brief(struct grid *table);

/* Limits the width of the first column, regardless of the room. */
void grid_limit_first(struct grid *table, size_t width);

/* Prints to standard output. width 0: no limit. 0 or -ENOMEM; *ret_hidden: number of hidden
 * columns. */
int grid_print(struct grid *table, size_t width, bool color, size_t *ret_hidden);

#endif
