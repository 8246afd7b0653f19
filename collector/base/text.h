/* SPDX-License-Identifier: MIT */
/* Text of bounded size, built piece by piece; what does not fit is cut at a character. The buffer
 * always ends with NUL. Thread-safety: none. */
#ifndef ANNOT_TEXT_H
#define ANNOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *buffer;
    size_t size, length;
};

/* `size` >= 1. */
struct text text_init(char *buffer, size_t size);
void text_add(struct text *text, const char *bytes, size_t length);
__attribute__((format(printf, 2, 3))) void text_format(struct text *text, const char *format, ...);

/* What a path ends with: behind its last slash; all of it, if that is its last character. */
const char *text_base_name(const char *path);

/* Is it the text itself, or a pattern for it, with *, ? and [] as in a shell? */
bool text_matches(const char *pattern, const char *text);

/* Two hexadecimal digits for each byte, and NUL: 2 * size + 1 bytes at `at`. Returns the NUL. */
char *text_hex(char *at, const uint8_t *bytes, size_t size);

#endif
