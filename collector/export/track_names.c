/* SPDX-License-Identifier: MIT */
/* See track_names.h. */
#include "track_names.h"

#include "text.h"

#include <stdbool.h>

enum { HEX_MIN = 4 };

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_hex(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

/* The length of the hexadecimal word at `text`, 0 if there is none. */
static size_t hex_word(const char *text, size_t length)
{
    bool prefix = length > 2 && text[0] == '0' && text[1] == 'x';
    bool digit = false;
    size_t end = prefix ? 2 : 0;
    for (; end < length && is_hex(text[end]); end++)
        digit = digit || is_digit(text[end]);
    bool whole = end == length || !is_letter(text[end]);
    return whole && (prefix || digit) && end >= HEX_MIN ? end : 0;
}

static size_t number(const char *text, size_t length)
{
    size_t end = 0;
    while (end < length && is_digit(text[end]))
        end++;
    return end;
}

size_t track_family(const char *name, size_t length, char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t at = 0; at < length && used + 1 < size;) {
        bool inside = at > 0 && (is_letter(name[at - 1]) || is_digit(name[at - 1]));
        size_t replaced = inside ? 0 : hex_word(name + at, length - at);
        if (!replaced)
            replaced = number(name + at, length - at);
        buffer[used++] = name[at];
        if (replaced)
            buffer[used - 1] = '#';
        at += replaced ? replaced : 1;
    }
    used = utf8_whole(buffer, used);
    buffer[used] = 0;
    return used;
}
