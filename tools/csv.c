/* SPDX-License-Identifier: MIT */
/* Implements csv.h. */
#include "csv.h"

#include "term.h"

#include <stdbool.h>
#include <string.h>

void csv_text(struct out_stream *out, const char *text)
{
    bool quoted = text[strcspn(text, "\",\r\n")] != '\0';
    out_write(out, "\"", quoted);
    while (*text) {
        char bytes[TERM_GLYPH_SIZE];
        size_t size = term_take(&text, bytes);
        out_write(out, "\"", bytes[0] == '"'); /* doubled */
        out_write(out, bytes, size);
    }
    out_write(out, "\"", quoted);
}
