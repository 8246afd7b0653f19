/* SPDX-License-Identifier: MIT */
/* The builder of text.h. Thread-safety: none. */
#include "text.h"

#include "utf8.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct text text_init(char *buffer, size_t size)
{
    buffer[0] = '\0';
    return (struct text){buffer, size, 0};
}

void text_add(struct text *text, const char *bytes, size_t length)
{
    length = utf8_cut(bytes, length, text->size - 1 - text->length);
    memcpy(text->buffer + text->length, bytes, length);
    text->length += length;
    text->buffer[text->length] = '\0';
}

void text_format(struct text *text, const char *format, ...)
{
    char piece[8192];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    bool whole = (size_t)length < sizeof(piece);
    text_add(text, piece, whole ? (size_t)length : utf8_whole(piece, sizeof(piece) - 1));
}

const char *text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool text_matches(const char *pattern, const char *text)
{
    return strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

char *text_hex(char *at, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at = '\0';
    return at;
}
