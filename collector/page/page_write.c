/* SPDX-License-Identifier: MIT */
/* The file: head, data, script, and the limit of its size. */
#include "page_parts.h"

#include "headline.h"
#include "page_web.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    GZIP_WINDOW = 15 + 16,
    GZIP_MEMORY = 9,
    GZIP_LEVEL = 6,
    PIECE = 16 * 1024,
    ENCODE_SIZE = 3 * 4096, /* bytes at once: a multiple of three */
    TRIES = 10,
    HEAD_SIZE = 8192, /* what is in the file beside data, script and style, at most */
};

/* ---- Compressed ------------------------------------------------------------------------------ */

struct bytes {
    VEC(uint8_t) items;
};

static int deflate_all(z_stream *z, struct bytes *into)
{
    int status;
    do {
        if (vec_reserve(&into->items, PIECE) != 0)
            return -ENOMEM;
        z->next_out = into->items.items + into->items.count;
        z->avail_out = PIECE;
        status = deflate(z, Z_FINISH);
        into->items.count += PIECE - z->avail_out;
    } while (status == Z_OK);
    return status == Z_STREAM_END ? 0 : -ENOMEM;
}

static int compress_bytes(const uint8_t *bytes, size_t size, struct bytes *into)
{
    z_stream z = {.next_in = (uint8_t *)bytes, .avail_in = (uInt)size};
    into->items.count = 0;
    if (size > UINT32_MAX)
        return -EFBIG;
    if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return -ENOMEM;
    int error = deflate_all(&z, into);
    deflateEnd(&z);
    return error;
}

/* The data, compressed. 0 or -errno. */
static int make_data(struct page *page, struct bytes *into)
{
    struct out_stream *json = out_stream_memory();
    size_t size = 0;
    int error = json ? page_write_data(page, json) : -ENOMEM;
    if (!error)
        error = out_error(json);
    const uint8_t *bytes = error ? NULL : out_stream_memory_bytes(json, &size);
    if (!error)
        error = compress_bytes(bytes, size, into);
    out_stream_abandon(json);
    return error;
}

/* ---- Not too long ---------------------------------------------------------------------------- */

static bool is_too_long(const struct bytes *data)
{
    return data->items.count / 3 * 4 + sizeof(page_script) + sizeof(page_style) + HEAD_SIZE >
           PAGE_BYTES_MAX;
}

/* Names first: long ones say no more than their beginnings. Then what is drawn, and tables; sums of
 * time in the end. */
static int make_shorter(struct page *page, unsigned attempt)
{
    static const uint32_t text_limits[] = {300, 120, 80};
    struct page_spans *spans = &page->spans;
    unsigned last = sizeof(text_limits) / sizeof(*text_limits) - 1;
    page->text_limit = text_limits[attempt < last ? attempt : last];
    if (attempt == 0)
        return 0;
    page->row_limit = page->row_limit / 2 + 1;
    int error = page_spans_limit(spans, spans->drawn.items.count / 2);
    if (!error)
        error = page_longest_limit(&spans->tasks, spans->tasks.items.count / 2);
    if (!error)
        error = page_longest_limit(&spans->requests, spans->requests.items.count / 2);
    if (!error)
        error = page_pools_limit(&page->pools, page->pools.items.count / 2);
    if (!error && attempt > 1 && !page->ranges.cells.none) {
        error = page_cells_shrink(&page->ranges.cells);
        page_cells_sort(&page->ranges.cells);
    }
    if (error || attempt == 1)
        return error;
    return page_sums_limit(&page->nodes.sums, page->nodes.sums.items.count / 2);
}

static int make_short_data(struct page *page, struct bytes *into)
{
    int error = make_data(page, into);
    for (unsigned i = 0; i < TRIES && !error && is_too_long(into); i++) {
        error = make_shorter(page, i);
        if (!error)
            error = make_data(page, into);
    }
    return error;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Returns the end. */
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

static void write_base64(struct out_stream *out, const uint8_t *bytes, size_t size)
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

static void write_head(const struct page *page, struct out_stream *out)
{
    char headline[HEADLINE_SIZE], title[PAGE_TEXT_MAX];
    size_t length =
        headline_wall(page->trace, report_facts(page->report), headline, sizeof(headline));
    page_title(page, title, sizeof(title));
    out_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src '" page_style_hash "'; script-src '" page_script_hash
                  "'; base-uri 'none'; form-action 'none'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    out_xml(out, title, strlen(title));
    out_text(out, "</title>\n<style>");
    out_write(out, page_style, sizeof(page_style));
    out_text(out, "</style>\n</head>\n<body>\n<h1>");
    out_xml(out, headline, length);
    out_text(out, "</h1>\n");
}

int page_write(struct page *page, struct out_stream *out)
{
    struct bytes data = {0};
    int error = make_short_data(page, &data);
    if (!error) {
        write_head(page, out);
        out_text(out, "<script type=\"application/json\" id=\"data\">");
        write_base64(out, data.items.items, data.items.count);
        out_text(out, "</script>\n<script>");
        out_write(out, page_script, sizeof(page_script));
        out_text(out, "</script>\n</body>\n</html>\n");
    }
    vec_free(&data.items);
    return error;
}
