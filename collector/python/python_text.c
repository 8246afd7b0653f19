/* SPDX-License-Identifier: MIT */
/* Unicode objects of CPython (PEP 393) into UTF-8. Foreign bytes: bounded.
 * Thread-safety: none needed. */
#include "python_stack.h"

#include <string.h>

enum { COMPACT = 1u << 3, ASCII = 1u << 4, KIND = 7 };

/* Kind, compact and ascii, wherever this build has them: they moved when `interned` got a byte of
 * its own in builds without a GIL, and would be 0 in the wrong place. */
static uint32_t text_flags(uint32_t state)
{
    static const uint8_t shifts[] = {2, 8, 16};
    for (size_t i = 0; i < sizeof(shifts); i++)
        if (state >> shifts[i] & 0x3f)
            return state >> shifts[i];
    return 0;
}

static uint32_t character(const uint8_t *at, size_t kind)
{
    uint32_t value = 0;
    memcpy(&value, at, kind);
    return value;
}

/* Bytes written; surrogates and what is no character become U+FFFD. */
static size_t encode(uint32_t value, char *text)
{
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000) || value == 0)
        value = 0xfffd;
    if (value < 0x80) {
        text[0] = (char)value;
        return 1;
    }
    if (value < 0x800) {
        text[0] = (char)(0xc0 | value >> 6);
        text[1] = (char)(0x80 | (value & 0x3f));
        return 2;
    }
    if (value < 0x10000) {
        text[0] = (char)(0xe0 | value >> 12);
        text[1] = (char)(0x80 | (value >> 6 & 0x3f));
        text[2] = (char)(0x80 | (value & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | value >> 18);
    text[1] = (char)(0x80 | (value >> 12 & 0x3f));
    text[2] = (char)(0x80 | (value >> 6 & 0x3f));
    text[3] = (char)(0x80 | (value & 0x3f));
    return 4;
}

enum { ELLIPSIS_SIZE = 3, CHARACTER_MAX = 4 };

/* The characters that are there; `cut`: the text has more. */
struct characters {
    const uint8_t *data;
    size_t kind, count;
    bool cut;
};

static size_t encode_all(struct characters from, char *text, size_t size)
{
    size_t used = 0, keep = 0; /* how much may stay if the rest does not fit */
    char one[CHARACTER_MAX];
    for (size_t i = 0; i < from.count; i++) {
        size_t width = encode(character(from.data + i * from.kind, from.kind), one);
        if (used + width >= size) {
            from.cut = true;
            break;
        }
        memcpy(text + used, one, width);
        used += width;
        if (used + ELLIPSIS_SIZE < size)
            keep = used;
    }
    if (from.cut && keep + ELLIPSIS_SIZE < size) {
        memcpy(text + keep, "\xe2\x80\xa6", ELLIPSIS_SIZE);
        used = keep + ELLIPSIS_SIZE;
    }
    text[used] = 0;
    return used;
}

size_t python_text(const struct python_offsets *offsets, const uint8_t *object, size_t object_size,
                   char *text, size_t size)
{
    uint64_t length;
    uint32_t state;
    if (!size)
        return 0;
    text[0] = 0;
    if (object_size < (size_t)offsets->unicode_length + sizeof(length) ||
        object_size < (size_t)offsets->unicode_state + sizeof(state))
        return 0;
    memcpy(&length, object + offsets->unicode_length, sizeof(length));
    memcpy(&state, object + offsets->unicode_state, sizeof(state));
    uint32_t flags = text_flags(state);
    size_t kind = flags & KIND;
    size_t data = flags & ASCII ? offsets->unicode_ascii_data : offsets->unicode_compact_data;
    if (!(flags & COMPACT) || (kind != 1 && kind != 2 && kind != 4) || object_size < data)
        return 0;
    size_t there = (object_size - data) / kind;
    struct characters from = {object + data, kind, length < there ? (size_t)length : there,
                              length > there};
    return encode_all(from, text, size);
}
