/* SPDX-License-Identifier: MIT */
/* JSON as a stream of tokens in bounded memory. Accepts more than the standard: NaN, Infinity,
 * commas after the last item, bytes that are not UTF-8. Thread-safety: one thread per object. */
#ifndef ANNOT_JSON_READER_H
#define ANNOT_JSON_READER_H

#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_input;
struct import_sink;

enum json_kind {
    JSON_END = 0, /* of the document */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_STRING, /* `text` without escapes */
    JSON_NUMBER, /* `text` as in the file */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

/* A text longer than 8 MiB in the file is cut. The kept part is longer than a sink keeps, which
 * therefore counts it as cut. */
struct json_token {
    enum json_kind kind;
    bool key; /* the name of a member: its value is the next token */
    const char *text;
    size_t length;
};

enum { JSON_DEPTH_MAX = 256 };

struct json_reader {
    struct import_input *input;
    const char *at, *end, *base; /* the current piece; base: position of the input */
    char *scratch;               /* for texts with escapes */
    size_t scratch_size;
    unsigned depth;
    uint8_t in_object[JSON_DEPTH_MAX]; /* by depth */
    bool wants_value;                  /* after a key */
    bool wants_comma;
    const char *problem; /* constant text; of the first error */
    bool cut;            /* the error is the end of the file */
};

void json_reader_init(struct json_reader *reader, struct import_input *input);
void json_reader_fini(struct json_reader *reader);

/* 1; 0: JSON_END; -EBADMSG: not JSON, or cut: `problem`; -errno. The text is valid until the next
 * call. */
int json_next(struct json_reader *reader, struct json_token *ret_token);

/* Skips the rest of the value that begins with the token: 0 or as json_next. */
int json_skip_nested(struct json_reader *reader, const struct json_token *first);

static inline int json_skip(struct json_reader *reader, const struct json_token *first)
{
    bool nested = first->kind == JSON_OBJECT || first->kind == JSON_ARRAY;
    return nested ? json_skip_nested(reader, first) : 0;
}

/* The same, with a copy as compact JSON, cut to `size` - 1 bytes, with NUL. */
int json_copy(struct json_reader *reader, const struct json_token *first, struct text *copy);

/* Appends a text, with quotes. */
void json_copy_text(struct text *copy, const char *bytes, size_t length);

/* In an object after its '{': the next name, cut, and the first token of its value: 1; 0: at its
 * end; as json_next. */
enum { JSON_KEY_SIZE = 32 };

int json_member(struct json_reader *reader, char key[JSON_KEY_SIZE], struct json_token *ret_value);

/* Ends a document: a file that is cut is not an error, but noted in the sink. */
int json_end(struct json_reader *reader, struct import_sink *sink, int error);

/* Where the next token begins. */
uint64_t json_offset(const struct json_reader *reader);

/* Numbers. False: not a number, or too large. `scale`: nanoseconds of 1, a power of ten. */
bool json_time(const struct json_token *token, int64_t scale_ns, int64_t *ret_ns);
bool json_int(const struct json_token *token, int64_t *ret_value);
bool json_double(const struct json_token *token, double *ret_value);
bool json_is(const struct json_token *token, const char *text);

#endif
