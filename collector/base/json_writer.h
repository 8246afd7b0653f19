/* SPDX-License-Identifier: MIT */
/* JSON, written piece by piece into a stream: strings escaped, numbers fast.
 *
 * The put functions write at a cursor and return the byte behind; the caller has reserved the
 * room that each states. Thread-safety: no state. */
#ifndef ANNOT_JSON_WRITER_H
#define ANNOT_JSON_WRITER_H

#include "out_stream.h"

#include <string.h>

enum {
    JSON_INTEGER_MAX = 20, /* bytes of any 64-bit integer */
    JSON_MICROS_MAX = 24,  /* bytes of json_put_micros    */
    JSON_DOUBLE_MAX = 32,  /* bytes of json_put_double    */
};

uint8_t *json_put_uint(uint8_t *at, uint64_t value);
uint8_t *json_put_int(uint8_t *at, int64_t value);

/* Nanoseconds as microseconds with three decimals: 1234567 gives 1234.567. Exact. */
uint8_t *json_put_micros(uint8_t *at, int64_t time_ns);

/* The shortest of 15 to 17 digits that reads back as the same value. JSON has no numbers for
 * infinities and NaN: they become the strings "Infinity", "-Infinity" and "NaN". */
uint8_t *json_put_double(uint8_t *at, double value);

/* Constant text without a length limit of its own. */
#define json_put_literal(at, text) ((uint8_t *)mempcpy((at), (text), sizeof(text) - 1))

/* Does the text need no escapes? */
bool json_is_plain(const char *bytes, size_t length);

/* A string with its quotes. `bytes` is UTF-8 of any length. */
void json_string(struct out_stream *out, const char *bytes, size_t length);

/* What json_string writes between the quotes. */
void json_escaped(struct out_stream *out, const char *bytes, size_t length);

#endif
