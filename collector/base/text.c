/* SPDX-License-Identifier: MIT */
/* Texts: UTF-8, of bounded size, command lines. */
#include "text.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* UTF-8 after table 3-7 of the Unicode standard. Thread-safety: pure functions. */

static bool in(uint8_t byte, uint8_t low, uint8_t high)
{
    return byte >= low && byte <= high;
}

static bool is_tail(uint8_t byte)
{
    return in(byte, 0x80, 0xbf);
}

static size_t multibyte_length(uint8_t lead)
{
    return in(lead, 0xc2, 0xdf) ? 2 : in(lead, 0xe0, 0xef) ? 3 : in(lead, 0xf0, 0xf4) ? 4 : 0;
}

/* Lead bytes that narrow their second byte: no overlong forms, no surrogates, no more than
 * U+10FFFF. */
static bool second_fits(uint8_t lead, uint8_t second)
{
    switch (lead) {
    case 0xe0:
        return in(second, 0xa0, 0xbf);
    case 0xed:
        return in(second, 0x80, 0x9f);
    case 0xf0:
        return in(second, 0x90, 0xbf);
    case 0xf4:
        return in(second, 0x80, 0x8f);
    default:
        return is_tail(second);
    }
}

size_t utf8_character(const char *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    if (size == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    size_t length = multibyte_length(at[0]);
    if (length == 0 || length > size || !second_fits(at[0], at[1]))
        return 0;
    for (size_t i = 2; i < length; i++)
        if (!is_tail(at[i]))
            return 0;
    return length;
}

size_t utf8_control(const char *text)
{
    unsigned char first = (unsigned char)text[0];
    if (first == 0xc2 && in((unsigned char)text[1], 0x80, 0x9f))
        return 2;
    return (first > 0 && first < 0x20) || first == 0x7f;
}

bool utf8_is_text(const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = utf8_character(bytes + at, size - at);
        if (length == 0 || bytes[at] == '\0')
            return false;
        at += length;
    }
    return true;
}

size_t utf8_repair(const char *bytes, size_t size, char *out)
{
    static const char replacement[3] = {'\xef', '\xbf', '\xbd'};
    size_t written = 0;
    for (size_t at = 0; at < size;) {
        size_t length = utf8_character(bytes + at, size - at);
        bool whole = length != 0 && bytes[at] != '\0';
        size_t put = whole ? length : sizeof(replacement);
        memcpy(out + written, whole ? bytes + at : replacement, put);
        written += put;
        at += whole ? length : 1;
    }
    return written;
}

size_t utf8_cut(const char *bytes, size_t size, size_t limit)
{
    if (size <= limit)
        return size;
    while (limit > 0 && is_tail((uint8_t)bytes[limit]))
        limit--;
    return limit;
}

size_t utf8_whole(const char *bytes, size_t size)
{
    size_t lead = size;
    while (lead > 0 && size - lead < 4 && is_tail((uint8_t)bytes[lead - 1]))
        lead--;
    if (lead == 0 || (uint8_t)bytes[lead - 1] < 0x80)
        return size;
    return utf8_character(bytes + lead - 1, size - lead + 1) ? size : lead - 1;
}

char *utf8_put(char *at, uint32_t character)
{
    if (character < 0x80) {
        *at++ = (char)character;
    } else if (character < 0x800) {
        *at++ = (char)(0xc0 | character >> 6);
        *at++ = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        *at++ = (char)(0xe0 | character >> 12);
        *at++ = (char)(0x80 | (character >> 6 & 0x3f));
        *at++ = (char)(0x80 | (character & 0x3f));
    } else {
        *at++ = (char)(0xf0 | character >> 18);
        *at++ = (char)(0x80 | (character >> 12 & 0x3f));
        *at++ = (char)(0x80 | (character >> 6 & 0x3f));
        *at++ = (char)(0x80 | (character & 0x3f));
    }
    return at;
}

/* ---- Of bounded size ------------------------------------------------------------------------- */

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

bool text_ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

bool text_matches(const char *pattern, const char *text)
{
    return strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

/* Eight digits of the four bytes of a number, the highest byte's first in memory. */
static uint64_t eight_digits(uint32_t value)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t spread = value;
    spread = (spread << 16 | spread) & UINT64_C(0x0000ffff0000ffff);
    spread = (spread << 8 | spread) & UINT64_C(0x00ff00ff00ff00ff);
    spread = (spread << 4 | spread) & ones * 15;
    uint64_t letters = (spread + ones * 6) >> 4 & ones;
    return __builtin_bswap64(spread + ones * '0' + letters * ('a' - '0' - 10));
}

char *text_hex(char *at, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t i = 0;
    for (uint32_t four; i + sizeof(four) <= size; i += sizeof(four)) {
        memcpy(&four, bytes + i, sizeof(four));
        const uint64_t eight = eight_digits(__builtin_bswap32(four));
        at = mempcpy(at, &eight, sizeof(eight));
    }
    for (; i < size; i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at = '\0';
    return at;
}

/* ---- Command lines --------------------------------------------------------------------------- */

/* Arguments joined by blanks, quoted where a shell would need it. */

/* Adds one argument, quoted for a shell. */
static void add_argument(struct text *text, const char *word, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,@%^~";
    size_t span = 0;
    while (span < length && strchr(plain, word[span]))
        span++;
    if (span == length && length > 0) {
        text_add(text, word, length);
        return;
    }
    text_add(text, "'", 1);
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\'')
            text_add(text, "'\\''", 4);
        else
            text_add(text, word + i, 1);
    }
    text_add(text, "'", 1);
}

size_t command_text(const char *arguments, size_t size, char *buffer)
{
    struct text text = text_init(buffer, COMMAND_TEXT_SIZE);
    const char *at = arguments, *end = arguments + size;
    while (at < end) {
        size_t length = strnlen(at, (size_t)(end - at));
        if (text.length > 0)
            text_add(&text, " ", 1);
        add_argument(&text, at, length);
        at += length + 1;
    }
    return text.length;
}
