/* SPDX-License-Identifier: MIT */
/* The text of a W3C traceparent: see trace_context.h.
 *
 * "VERSION-TRACE-SPAN-FLAGS" in lower-case hexadecimal digits of fixed width. Version 00 ends
 * there, later ones may have more behind a "-"; ff is none. */
#include "trace_context.h"

#include "proc.h"

#include <annot/annot.h>

static char *append_part(char *at, const char *end, uint64_t value)
{
    return text_append_hex(at, end, value, 16);
}

void trace_context_write(const struct trace_context *context, char *text)
{
    const char *end = text + ANNOT_TRACE_CONTEXT_SIZE;
    char *at = text_append(text, end, "00-");
    at = append_part(at, end, context->trace[0]);
    at = append_part(at, end, context->trace[1]);
    at = text_append(at, end, "-");
    at = append_part(at, end, context->span);
    text_append(at, end, "-01");
}

/* Reads exactly `count` digits. Returns what follows, or NULL. */
static const char *read_hex(const char *at, int count, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (; at && count > 0; count--, at++) {
        if (*at >= '0' && *at <= '9')
            value = value << 4 | (uint64_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            value = value << 4 | (uint64_t)(*at - 'a' + 10);
        else
            return NULL;
    }
    *ret_value = value;
    return at;
}

static const char *read_dash(const char *at)
{
    return at && *at == '-' ? at + 1 : NULL;
}

int trace_context_read(const char *text, struct trace_context *context)
{
    uint64_t version, flags;
    const char *at = read_dash(read_hex(text, 2, &version));
    at = read_hex(at, 16, &context->trace[0]);
    at = read_dash(read_hex(at, 16, &context->trace[1]));
    at = read_dash(read_hex(at, 16, &context->span));
    at = read_hex(at, 2, &flags);
    if (!at || version == 0xff || (*at != 0 && (version == 0 || *at != '-')))
        return 0;
    return (context->trace[0] | context->trace[1]) != 0 && context->span != 0;
}
