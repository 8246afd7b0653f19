/* SPDX-License-Identifier: MIT */
/* A JSON document, value after value: commas and brackets come by themselves.
 *
 *     json_doc_object(&doc, NULL);          {
 *     json_doc_text(&doc, "name", "load");  "name":"load"
 *     json_doc_array(&doc, "stack");        ,"stack":[
 *     json_doc_close(&doc);                 ]
 *     json_doc_close(&doc);                 }
 *
 * Keys are constants of ours, NULL inside arrays. Texts are made valid UTF-8. Integers beyond 2^53
 * are strings, since not all readers hold them. At most JSON_DOC_DEPTH levels. Errors stick in the
 * stream. Thread-safety: none. */
#ifndef ANNOT_JSON_DOC_H
#define ANNOT_JSON_DOC_H

#include "json_writer.h"

enum { JSON_DOC_DEPTH = 8 };

#define JSON_EXACT_MAX (INT64_C(1) << 53)

struct json_doc {
    struct out_stream *out;
    unsigned depth;
    bool any[JSON_DOC_DEPTH + 1]; /* a value stands on this level */
    bool is_array[JSON_DOC_DEPTH + 1];
};

void json_doc_object(struct json_doc *doc, const char *key);
void json_doc_array(struct json_doc *doc, const char *key);
void json_doc_close(struct json_doc *doc);

void json_doc_int(struct json_doc *doc, const char *key, int64_t value);
void json_doc_uint(struct json_doc *doc, const char *key, uint64_t value);
void json_doc_double(struct json_doc *doc, const char *key, double value);
void json_doc_bool(struct json_doc *doc, const char *key, bool value);
void json_doc_text(struct json_doc *doc, const char *key, const char *text);
/* "0x1f" */
void json_doc_hex(struct json_doc *doc, const char *key, uint64_t value);

/* A key that is none of ours; `suffix` is ASCII and stands behind it. The value is next, with key
 * NULL. */
void json_doc_key(struct json_doc *doc, const char *key, size_t length, const char *suffix);

#endif
