/* SPDX-License-Identifier: MIT */
/* UTF-8: is it, and if not, make it so. Thread-safety: pure functions. */
#ifndef ANNOT_UTF8_H
#define ANNOT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at the start (1..4), or 0. NUL counts as a character. Follows
 * table 3-7 of the Unicode standard: no overlong forms, no surrogates, at most U+10FFFF. */
size_t utf8_character(const char *bytes, size_t size);

/* Well-formed throughout and without NUL. */
bool utf8_is_text(const char *bytes, size_t size);

/* Replaces NUL and each byte that starts no well-formed character by U+FFFD. `out` has room for
 * 3 * size bytes. Returns the bytes written. */
size_t utf8_repair(const char *bytes, size_t size, char *out);

/* The most bytes, at most `limit`, at which `bytes` may be cut without splitting a character. */
size_t utf8_cut(const char *bytes, size_t size, size_t limit);

/* The size without a character at the end that is not whole. */
size_t utf8_whole(const char *bytes, size_t size);

#endif
