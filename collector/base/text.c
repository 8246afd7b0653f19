/* SPDX-License-Identifier: MIT */
/* The builder of text.h. Thread-safety: none. */
#include "text.h"

#include "utf8.h"

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
