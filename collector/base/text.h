/* SPDX-License-Identifier: MIT */
/* Text of bounded size, built piece by piece; what does not fit is cut at a character. The buffer
 * always ends with NUL. Thread-safety: none. */
#ifndef ANNOT_TEXT_H
#define ANNOT_TEXT_H

#include <stddef.h>

struct text {
    char *buffer;
    size_t size, length;
};

/* `size` >= 1. */
struct text text_init(char *buffer, size_t size);
void text_add(struct text *text, const char *bytes, size_t length);
__attribute__((format(printf, 2, 3))) void text_format(struct text *text, const char *format, ...);

#endif
