/* SPDX-License-Identifier: MIT */
/* One character at a time, as the five of markup are short and the others rare. */
#include "xml_text.h"

#include "text.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* NULL: the character stands for itself. `size` 0: no character of UTF-8. */
static const char *escape_of(const char *at, size_t size)
{
    if (size == 0)
        return REPLACEMENT;
    if (size == 3 && (memcmp(at, "\xef\xbf\xbe", 3) == 0 || memcmp(at, "\xef\xbf\xbf", 3) == 0))
        return REPLACEMENT; /* U+FFFE, U+FFFF */
    if (size == 2 && at[0] == '\xc2' && (unsigned char)at[1] < 0xa0)
        return REPLACEMENT; /* U+0080 to U+009F */
    switch (*at) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
    case '\n':
        return NULL;
    default:
        return (unsigned char)*at < 0x20 || *at == 0x7f ? REPLACEMENT : NULL;
    }
}

void xml_text(struct out_stream *out, const char *bytes, size_t length)
{
    const char *plain = bytes, *end = bytes + length;
    while (bytes < end) {
        size_t size = utf8_character(bytes, (size_t)(end - bytes));
        const char *escape = escape_of(bytes, size);
        const char *next = bytes + (size ? size : 1);
        if (escape) {
            out_write(out, plain, (size_t)(bytes - plain));
            out_text(out, escape);
            plain = next;
        }
        bytes = next;
    }
    out_write(out, plain, (size_t)(end - plain));
}
