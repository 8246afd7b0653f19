/* SPDX-License-Identifier: MIT */
/* See page_data.h. */
#include "page_data.h"

#include "json_writer.h"
#include "out_stream.h"
#include "page_model.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t page_slot(const struct page_span *span, uint32_t slots, int64_t time_ns)
{
    if (time_ns <= span->begin_ns)
        return 0;
    uint64_t after_ns = (uint64_t)time_ns - (uint64_t)span->begin_ns;
    if (after_ns >= span->length_ns)
        return slots - 1;
    if (after_ns < UINT64_MAX / slots) /* true except for extreme imported times */
        return (uint32_t)(after_ns * slots / span->length_ns);
    return (uint32_t)((unsigned __int128)after_ns * slots / span->length_ns);
}

int64_t page_slot_begin(const struct page_span *span, uint32_t slots, uint32_t slot)
{
    unsigned __int128 product = (unsigned __int128)span->length_ns * slot;
    return span->begin_ns + (int64_t)((product + slots - 1) / slots);
}

int64_t page_since_begin(const struct page *page, int64_t time_ns)
{
    uint64_t after_ns = (uint64_t)time_ns - (uint64_t)page->span.begin_ns;
    if (time_ns <= page->span.begin_ns)
        return 0;
    return (int64_t)(after_ns < page->span.length_ns ? after_ns : page->span.length_ns);
}

void page_put_text(const struct page *page, struct json_doc *doc, const char *key, const char *text)
{
    char cut[PAGE_TEXT_MAX + sizeof("…")];
    size_t length = strnlen(text, page->text_limit + 1);
    if (length <= page->text_limit) {
        json_doc_text(doc, key, text);
        return;
    }
    length = utf8_cut(text, page->text_limit, page->text_limit - 1);
    memcpy(cut, text, length);
    memcpy(cut + length, "…", sizeof("…"));
    json_doc_text(doc, key, cut);
}

enum { ENCODE_SIZE = 3 * 4096 }; /* bytes per step, a multiple of three */

/* Returns the end of the output. */
static uint8_t *encode(const uint8_t *bytes, size_t size, uint8_t *at)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        *at++ = (uint8_t)digits[three >> 18];
        *at++ = (uint8_t)digits[three >> 12 & 63];
        *at++ = (uint8_t)(left > 1 ? digits[three >> 6 & 63] : '=');
        *at++ = (uint8_t)(left > 2 ? digits[three & 63] : '=');
    }
    return at;
}

void page_write_base64(struct out_stream *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += ENCODE_SIZE) {
        size_t some = size - i < ENCODE_SIZE ? size - i : ENCODE_SIZE;
        uint8_t *at = out_reserve(out, (some + 2) / 3 * 4);
        out_advance(out, (size_t)(encode(bytes + i, some, at) - at));
    }
}

int page_put_bytes(struct json_doc *doc, const char *key, const uint8_t *bytes, size_t size)
{
    uint8_t *text = malloc((size + 2) / 3 * 4 + 1);
    if (!text)
        return -ENOMEM;
    *encode(bytes, size, text) = '\0';
    json_doc_text(doc, key, (const char *)text);
    free(text);
    return 0;
}
