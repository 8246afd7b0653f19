/* SPDX-License-Identifier: MIT */
/* The terminal: its width, whether colour is wanted, and how wide a text is on it.
 *
 * Thread-safety: functions of the environment and of descriptors; no state. */
#ifndef ANNOT_TERM_H
#define ANNOT_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal behind `fd`; 0 if it is none. COLUMNS in the environment wins. */
unsigned term_width(int fd);

/* Is colour wanted on `fd`: a terminal, not TERM=dumb, and NO_COLOR is not set. */
bool term_color(int fd);

/* Names and command lines are foreign. The functions below show control characters as shells write
 * them (\n, \e, \x01), broken bytes and what would turn the writing direction as '?'. */

/* Columns that UTF-8 text takes: wide characters 2, combining ones 0, broken bytes 1. */
size_t term_text_width(const char *text);

/* Copies `text`, cut in its middle with an ellipsis to `width` columns. Returns the columns used.
 * buffer_size >= 4 * width + 4. */
size_t term_shorten(const char *text, size_t width, char *buffer, size_t buffer_size);

enum { TERM_GLYPH_SIZE = 8 };

/* The bytes that show the next character of `text`, which moves behind it, and their number. */
size_t term_take(const char **text, char bytes[TERM_GLYPH_SIZE]);

/* Prints `text` to standard output. */
void term_print(const char *text);

/* Its first `size` bytes, to any stream; NUL ends it as well. The character that the size cuts is
 * written whole. */
void term_write(FILE *stream, const char *text, size_t size);

#endif
