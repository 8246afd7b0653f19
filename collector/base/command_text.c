/* SPDX-License-Identifier: MIT */
/* Arguments joined by blanks, quoted where a shell would need it. Thread-safety: pure functions. */
#include "command_text.h"

#include "text.h"

#include <string.h>

/* One argument as a shell would take it. */
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
