/* SPDX-License-Identifier: MIT */
/* JSON: its pieces, and documents of them. */
#include "json_writer.h"

#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* JSON pieces. Integers go out two digits at a time; a string is copied in runs that need no
 * escapes. */

static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233"
    "34353637383940414243444546474849505152535455565758596061626364656667"
    "6869707172737475767778798081828384858687888990919293949596979899";

/* Without leading zeros, at most eight digits. */
static uint8_t *put_first(uint8_t *at, uint32_t value)
{
    uint8_t text[8];
    unsigned begin = sizeof(text);
    while (value >= 100) {
        begin -= 2;
        memcpy(text + begin, digit_pairs + 2ul * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        begin -= 2;
        memcpy(text + begin, digit_pairs + 2ul * value, 2);
    } else {
        text[--begin] = (uint8_t)('0' + value);
    }
    return mempcpy(at, text + begin, sizeof(text) - begin);
}

/* Eight digits; independent pairs, for parallel execution. */
static uint8_t *put_eight(uint8_t *at, uint32_t value)
{
    uint32_t halves[] = {value / 10000, value % 10000};
    for (size_t i = 0; i < 2; i++) {
        memcpy(at + 4 * i, digit_pairs + 2ul * (halves[i] / 100), 2);
        memcpy(at + 4 * i + 2, digit_pairs + 2ul * (halves[i] % 100), 2);
    }
    return at + 8;
}

uint8_t *json_put_uint(uint8_t *at, uint64_t value)
{
    const uint64_t eight = 100000000;
    if (value < eight)
        return put_first(at, (uint32_t)value);
    uint64_t above = value / eight;
    if (above < eight) {
        at = put_first(at, (uint32_t)above);
    } else {
        at = put_first(at, (uint32_t)(above / eight));
        at = put_eight(at, (uint32_t)(above % eight));
    }
    return put_eight(at, (uint32_t)(value % eight));
}

uint8_t *json_put_int(uint8_t *at, int64_t value)
{
    uint64_t magnitude = (uint64_t)value;
    if (value < 0) {
        *at++ = '-';
        magnitude = 0 - magnitude;
    }
    return json_put_uint(at, magnitude);
}

uint8_t *json_put_micros(uint8_t *at, int64_t time_ns)
{
    uint64_t magnitude = (uint64_t)time_ns;
    if (time_ns < 0) {
        *at++ = '-';
        magnitude = 0 - magnitude;
    }
    uint64_t micros = magnitude / 1000;
    unsigned rest = (unsigned)(magnitude - micros * 1000);
    at = json_put_uint(at, micros);
    *at++ = '.';
    *at++ = (uint8_t)('0' + rest / 100);
    return mempcpy(at, digit_pairs + 2ul * (rest % 100), 2);
}

uint8_t *json_put_double(uint8_t *at, double value)
{
    if (isnan(value))
        return json_put_literal(at, "\"NaN\"");
    if (isinf(value))
        return value > 0 ? json_put_literal(at, "\"Infinity\"")
                         : json_put_literal(at, "\"-Infinity\"");
    /* Whole numbers, the usual counters: exact, and not -0. */
    if (fabs(value) < 1e15 && value == (double)(int64_t)value && (value != 0 || !signbit(value)))
        return json_put_int(at, (int64_t)value);
    char text[JSON_DOUBLE_MAX];
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return mempcpy(at, text, (size_t)length);
}

static bool needs_escape(uint8_t byte)
{
    return byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f || byte == 0xc2;
}

/* U+0080 to U+009F, control characters of terminals, begin with this byte; so does other text. */
static bool is_control(const char *bytes, size_t size)
{
    return (uint8_t)bytes[0] == 0xc2 && size > 1 && (uint8_t)bytes[1] >= 0x80 &&
           (uint8_t)bytes[1] < 0xa0;
}

/* Marks bytes that may need an escape. */
static inline uint64_t need_escape(uint64_t word)
{
    return byte_word_less(word, 0x20) | byte_word_has(word, '"') | byte_word_has(word, '\\') |
           byte_word_has(word, 0x7f) | byte_word_has(word, 0xc2);
}

bool json_is_plain(const char *bytes, size_t length)
{
    return !byte_words_any(bytes, length, need_escape);
}

/* Marks those and bytes of multibyte characters, which may be malformed. */
static inline uint64_t need_care(uint64_t word)
{
    return need_escape(word) | (word & BYTE_WORDS_ONES << 7);
}

/* Copies a text without such bytes; false if it may have some. */
static bool copy_plain(uint8_t *to, const char *bytes, size_t length)
{
    if (byte_words_any(bytes, length, need_care))
        return false;
    memcpy(to, bytes, length);
    return true;
}

static void escape(struct out_stream *out, uint8_t byte)
{
    static const char hex[] = "0123456789abcdef";
    static const char shorts[][3] = {['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f",
                                     ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\"};
    if (byte < sizeof(shorts) / sizeof(*shorts) && shorts[byte][0]) {
        out_write(out, shorts[byte], 2);
        return;
    }
    char text[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    out_write(out, text, sizeof(text));
}

void json_escaped(struct out_stream *out, const char *bytes, size_t length)
{
    size_t run = 0;
    for (size_t i = 0; i < length; i++) {
        if (!needs_escape((uint8_t)bytes[i]))
            continue;
        bool control = is_control(bytes + i, length - i);
        if ((uint8_t)bytes[i] == 0xc2 && !control)
            continue;
        out_write(out, bytes + run, i - run);
        i += control;
        escape(out, (uint8_t)bytes[i]);
        run = i + 1;
    }
    out_write(out, bytes + run, length - run);
}

void json_string(struct out_stream *out, const char *bytes, size_t length)
{
    out_write(out, "\"", 1);
    json_escaped(out, bytes, length);
    out_write(out, "\"", 1);
}

/* ---- Documents ------------------------------------------------------------------------------- */

/* Writes the text, repaired if needed. */
static void put_text(struct json_doc *doc, const char *bytes, size_t size)
{
    if (!byte_words_any(bytes, size, need_care)) {
        out_write(doc->out, bytes, size);
        return;
    }
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

/* Texts up to this size are written at once. */
enum { SHORT_TEXT = 1024 };

/* Writes the comma and the key before a value. Returns the place of the value, with `room` bytes
 * reserved. */
static uint8_t *begin_value(struct json_doc *doc, const char *key, size_t room)
{
    size_t length = key ? strlen(key) : 0;
    uint8_t *at = out_reserve(doc->out, length + strlen(",\"\":") + room);
    doc->begin = at;
    if (doc->any[doc->depth])
        *at++ = ',';
    doc->any[doc->depth] = true;
    if (key) {
        *at++ = '"';
        at = mempcpy(at, key, length);
        at = json_put_literal(at, "\":");
    }
    return at;
}

/* Ends the value at `at`. */
static void end_value(const struct json_doc *doc, const uint8_t *at)
{
    out_advance(doc->out, (size_t)(at - doc->begin));
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

static void open_level(struct json_doc *doc, const char *key, bool is_array)
{
    uint8_t *at = begin_value(doc, key, 1);
    *at = is_array ? '[' : '{';
    end_value(doc, at + 1);
    assert(doc->depth < JSON_DOC_DEPTH);
    doc->depth++;
    doc->any[doc->depth] = false;
    doc->is_array[doc->depth] = is_array;
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
    *out_reserve(doc->out, 1) = doc->is_array[doc->depth] ? ']' : '}';
    out_advance(doc->out, 1);
    doc->depth--;
}

void json_doc_int(struct json_doc *doc, const char *key, int64_t value)
{
    bool exact = value >= -JSON_EXACT_MAX && value <= JSON_EXACT_MAX;
    uint8_t *at = begin_value(doc, key, JSON_INTEGER_MAX + 2);
    if (!exact)
        *at++ = '"';
    at = json_put_int(at, value);
    if (!exact)
        *at++ = '"';
    end_value(doc, at);
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
    end_value(doc, json_put_double(begin_value(doc, key, JSON_DOUBLE_MAX), value));
}

void json_doc_bool(struct json_doc *doc, const char *key, bool value)
{
    end_value(doc, begin_value(doc, key, 0));
    out_text(doc->out, value ? "true" : "false");
}

void json_doc_null(struct json_doc *doc, const char *key)
{
    end_value(doc, begin_value(doc, key, 0));
    out_text(doc->out, "null");
}

static void put_quoted(struct json_doc *doc, const char *key, const char *text, size_t length)
{
    bool brief = length <= SHORT_TEXT;
    uint8_t *at = begin_value(doc, key, brief ? length + 2 : 0);
    if (brief && copy_plain(at + 1, text, length)) {
        at[0] = at[length + 1] = '"';
        end_value(doc, at + length + 2);
        return;
    }
    end_value(doc, at);
    out_write(doc->out, "\"", 1);
    put_text(doc, text, length);
    out_write(doc->out, "\"", 1);
}

void json_doc_text(struct json_doc *doc, const char *key, const char *text)
{
    put_quoted(doc, key, text, strlen(text));
}

void json_doc_digits(struct json_doc *doc, const char *key, int64_t value)
{
    uint8_t *at = begin_value(doc, key, JSON_INTEGER_MAX + 2);
    *at++ = '"';
    at = json_put_int(at, value);
    *at++ = '"';
    end_value(doc, at);
}

void json_doc_made(struct json_doc *doc, const void *bytes, size_t size)
{
    if (!size)
        return;
    put_comma(doc);
    out_write(doc->out, bytes, size);
}

void json_doc_bytes(struct json_doc *doc, const char *key, const void *bytes, size_t size)
{
    assert(size <= JSON_BYTES_MAX);
    uint8_t *at = begin_value(doc, key, 2ul * JSON_BYTES_MAX + 2);
    *at++ = '"';
    at = (uint8_t *)text_hex((char *)at, bytes, size);
    *at++ = '"';
    end_value(doc, at);
}

void json_doc_hex(struct json_doc *doc, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    json_doc_text(doc, key, text);
}
