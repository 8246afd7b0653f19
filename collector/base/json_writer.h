/* SPDX-License-Identifier: MIT */
/* JSON: its pieces, for hot paths, and documents of them. */
#ifndef ANNOT_JSON_WRITER_H
#define ANNOT_JSON_WRITER_H

#include "out_stream.h"

#include <string.h>

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* JSON, written piece by piece into a stream: strings escaped, numbers fast.
 *
 * The put functions write at a cursor and return the position after the last byte; the caller has
 * reserved the room that each states. Thread-safety: no state. */

enum {
    JSON_INTEGER_MAX = 20, /* bytes of any 64-bit integer */
    JSON_MICROS_MAX = 24,  /* bytes of json_put_micros */
    JSON_DOUBLE_MAX = 32,  /* bytes of json_put_double */
};

uint8_t *json_put_uint(uint8_t *at, uint64_t value);
uint8_t *json_put_int(uint8_t *at, int64_t value);

/* Nanoseconds as microseconds with three decimals: 1234567 gives 1234.567. Exact. */
uint8_t *json_put_micros(uint8_t *at, int64_t time_ns);

/* The shortest of 15 to 17 digits that reads back as the same value. JSON has no numbers for
 * infinities and NaN: they become the strings "Infinity", "-Infinity" and "NaN". */
uint8_t *json_put_double(uint8_t *at, double value);

/* Constant text of any length. */
#define json_put_literal(at, text) ((uint8_t *)mempcpy((at), (text), sizeof(text) - 1))

/* True if the text needs no escapes. */
bool json_is_plain(const char *bytes, size_t length);

/* A string with its quotes. `bytes` is UTF-8 of any length. */
void json_string(struct out_stream *out, const char *bytes, size_t length);

/* The same without the quotes. */
void json_escaped(struct out_stream *out, const char *bytes, size_t length);

/* ---- Documents ------------------------------------------------------------------------------- */

/* A JSON document, value after value, with commas and brackets.
 *
 *     json_doc_object(&doc, NULL);          {
 *     json_doc_text(&doc, "name", "load");  "name":"load"
 *     json_doc_array(&doc, "stack");        ,"stack":[
 *     json_doc_close(&doc);                 ]
 *     json_doc_close(&doc);                 }
 *
 * Keys are trusted constants, NULL inside arrays. Texts are made valid UTF-8. Integers beyond 2^53
 * are strings, since not all readers hold them. At most JSON_DOC_DEPTH levels. Errors stick in the
 * stream. Thread-safety: none. */

enum { JSON_DOC_DEPTH = 8 };

#define JSON_EXACT_MAX (INT64_C(1) << 53)

struct json_doc {
    struct out_stream *out;
    uint8_t *begin; /* of the value being written, with its key */
    unsigned depth;
    bool any[JSON_DOC_DEPTH + 1]; /* this level has a value */
    bool is_array[JSON_DOC_DEPTH + 1];
};

void json_doc_object(struct json_doc *doc, const char *key);
void json_doc_array(struct json_doc *doc, const char *key);
void json_doc_close(struct json_doc *doc);

void json_doc_int(struct json_doc *doc, const char *key, int64_t value);
void json_doc_uint(struct json_doc *doc, const char *key, uint64_t value);
void json_doc_double(struct json_doc *doc, const char *key, double value);
void json_doc_bool(struct json_doc *doc, const char *key, bool value);
void json_doc_null(struct json_doc *doc, const char *key);
void json_doc_text(struct json_doc *doc, const char *key, const char *text);
/* "31", as text */
void json_doc_digits(struct json_doc *doc, const char *key, int64_t value);
/* Adds values of another document to an array, separated by commas. */
void json_doc_made(struct json_doc *doc, const void *bytes, size_t size);

/* "001f": two digits a byte, at most JSON_BYTES_MAX of them. */
enum { JSON_BYTES_MAX = 16 };

void json_doc_bytes(struct json_doc *doc, const char *key, const void *bytes, size_t size);
/* "0x1f" */
void json_doc_hex(struct json_doc *doc, const char *key, uint64_t value);

/* Writes a foreign key, followed by `suffix`, which is ASCII. The value is next, with key NULL. */
void json_doc_key(struct json_doc *doc, const char *key, size_t length, const char *suffix);

#endif
