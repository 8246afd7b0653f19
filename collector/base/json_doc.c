/* SPDX-License-Identifier: MIT */
/* See json_doc.h. Thread-safety: none. */
#include "json_doc.h"

#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The text as it is, or repaired. */
static void put_text(struct json_doc *doc, const char *bytes, size_t size)
{
    if (utf8_is_text(bytes, size)) {
        json_escaped(doc->out, bytes, size);
        return;
    }
    char *repaired = malloc(3 * size + 1);
    if (repaired)
        json_escaped(doc->out, repaired, utf8_repair(bytes, size, repaired));
    free(repaired);
}

static void put_comma(struct json_doc *doc)
{
    if (doc->any[doc->depth])
        out_write(doc->out, ",", 1);
    doc->any[doc->depth] = true;
}

void json_doc_key(struct json_doc *doc, const char *key, size_t length, const char *suffix)
{
    put_comma(doc);
    out_write(doc->out, "\"", 1);
    put_text(doc, key, length);
    out_text(doc->out, suffix);
    out_write(doc->out, "\":", 2);
    doc->any[doc->depth] = false; /* its value needs no comma */
}

static void put_key(struct json_doc *doc, const char *key)
{
    put_comma(doc);
    if (!key)
        return;
    out_write(doc->out, "\"", 1);
    out_text(doc->out, key);
    out_write(doc->out, "\":", 2);
}

static void open_level(struct json_doc *doc, const char *key, bool is_array)
{
    put_key(doc, key);
    assert(doc->depth < JSON_DOC_DEPTH);
    doc->depth++;
    doc->any[doc->depth] = false;
    doc->is_array[doc->depth] = is_array;
    out_write(doc->out, is_array ? "[" : "{", 1);
}

void json_doc_object(struct json_doc *doc, const char *key)
{
    open_level(doc, key, false);
}

void json_doc_array(struct json_doc *doc, const char *key)
{
    open_level(doc, key, true);
}

void json_doc_close(struct json_doc *doc)
{
    out_write(doc->out, doc->is_array[doc->depth] ? "]" : "}", 1);
    doc->depth--;
}

void json_doc_int(struct json_doc *doc, const char *key, int64_t value)
{
    bool exact = value >= -JSON_EXACT_MAX && value <= JSON_EXACT_MAX;
    put_key(doc, key);
    uint8_t *begin = out_reserve(doc->out, JSON_INTEGER_MAX + 2), *at = begin;
    if (!exact)
        *at++ = '"';
    at = json_put_int(at, value);
    if (!exact)
        *at++ = '"';
    out_advance(doc->out, (size_t)(at - begin));
}

void json_doc_uint(struct json_doc *doc, const char *key, uint64_t value)
{
    if (value <= INT64_MAX) {
        json_doc_int(doc, key, (int64_t)value);
        return;
    }
    char text[JSON_INTEGER_MAX + 1];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    json_doc_text(doc, key, text);
}

void json_doc_double(struct json_doc *doc, const char *key, double value)
{
    put_key(doc, key);
    uint8_t *begin = out_reserve(doc->out, JSON_DOUBLE_MAX);
    out_advance(doc->out, (size_t)(json_put_double(begin, value) - begin));
}

void json_doc_bool(struct json_doc *doc, const char *key, bool value)
{
    put_key(doc, key);
    out_text(doc->out, value ? "true" : "false");
}

void json_doc_text(struct json_doc *doc, const char *key, const char *text)
{
    put_key(doc, key);
    out_write(doc->out, "\"", 1);
    put_text(doc, text, strlen(text));
    out_write(doc->out, "\"", 1);
}

void json_doc_hex(struct json_doc *doc, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    json_doc_text(doc, key, text);
}
