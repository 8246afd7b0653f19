/* SPDX-License-Identifier: MIT */
/* Numbers, strings and messages of base/json_writer and base/proto_writer. */
#include "json_writer.h"
#include "test.h"
#include "varint.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *text_of(const uint8_t *begin, const uint8_t *end)
{
    static char text[64];
    CHECK(end - begin < (ptrdiff_t)sizeof(text));
    memcpy(text, begin, (size_t)(end - begin));
    text[end - begin] = 0;
    return text;
}

TEST(integers_are_those_of_printf)
{
    uint8_t bytes[64];
    char expected[64];
    uint64_t value = 1;
    for (int i = 0; i < 20000; i++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        uint64_t number = i < 300 ? (uint64_t)i : value >> (value & 63);
        snprintf(expected, sizeof(expected), "%" PRIu64, number);
        CHECK_STR(text_of(bytes, json_put_uint(bytes, number)), expected);
        snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)number);
        CHECK_STR(text_of(bytes, json_put_int(bytes, (int64_t)number)), expected);
    }
    for (uint64_t power = 10;; power *= 10) {
        for (uint64_t number = power - 1; number <= power; number++) {
            snprintf(expected, sizeof(expected), "%" PRIu64, number);
            CHECK_STR(text_of(bytes, json_put_uint(bytes, number)), expected);
        }
        if (power > UINT64_MAX / 10)
            break;
    }
    CHECK_STR(text_of(bytes, json_put_int(bytes, INT64_MIN)), "-9223372036854775808");
    CHECK_STR(text_of(bytes, json_put_uint(bytes, UINT64_MAX)), "18446744073709551615");
}

TEST(microseconds_keep_each_nanosecond)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0.000"},
                 {1, "0.001"},
                 {10, "0.010"},
                 {999, "0.999"},
                 {1000, "1.000"},
                 {1234567, "1234.567"},
                 {-1, "-0.001"},
                 {-1999, "-1.999"},
                 {INT64_MAX, "9223372036854775.807"},
                 {INT64_MIN, "-9223372036854775.808"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint8_t bytes[JSON_MICROS_MAX];
        CHECK_STR(text_of(bytes, json_put_micros(bytes, cases[i].ns)), cases[i].text);
    }
}

TEST(doubles_read_back_as_the_same_value)
{
    double values[] = {0.1,          -0.0, 1.0 / 3, DBL_MAX,  DBL_MIN,
                       DBL_TRUE_MIN, 1e15, 1e22,    -123.456, 5e17};
    uint8_t bytes[JSON_DOUBLE_MAX];
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        double back = strtod(text_of(bytes, json_put_double(bytes, values[i])), NULL);
        CHECK(back == values[i] && signbit(back) == signbit(values[i]));
    }
    CHECK_STR(text_of(bytes, json_put_double(bytes, 3.0)), "3");
    CHECK_STR(text_of(bytes, json_put_double(bytes, 0.1)), "0.1");
    CHECK_STR(text_of(bytes, json_put_double(bytes, NAN)), "\"NaN\"");
    CHECK_STR(text_of(bytes, json_put_double(bytes, -INFINITY)), "\"-Infinity\"");
}

TEST(strings_of_any_length_are_escaped)
{
    enum { LENGTH = 200000 }; /* more than a stream reserves at once */
    struct out_stream *out = out_stream_memory();
    char *text = malloc(LENGTH);
    size_t size;
    CHECK(out && text);
    memset(text, 'x', LENGTH);
    memcpy(text, "a\"b\\c\n\x01\x1f\x7f\xc3\xa4/", 12);
    json_string(out, text, LENGTH);
    const char *expected = "\"a\\\"b\\\\c\\n\\u0001\\u001f\\u007f\xc3\xa4/xx";
    const char *bytes = (const char *)out_stream_memory_bytes(out, &size);
    CHECK(memcmp(bytes, expected, strlen(expected)) == 0);
    CHECK_INT(size, LENGTH + 2 + 1 + 1 + 1 + 3 * 5);
    CHECK(bytes[size - 1] == '"');
    CHECK(!json_is_plain(text, LENGTH) && json_is_plain(text + 12, LENGTH - 12));
    free(text);
    out_stream_abandon(out);
}

/* Every odd character at every position between plain ones. */
TEST(texts_of_documents_are_as_strings_alone)
{
    static const char *const odd[] = {"\"", "\\", "\x1f", "\x7f",     "\n",          "\xc3\xa4",
                                      " ",  "!",  "~",    "\xc2\x85", "\xe2\x82\xac"};
    struct out_stream *out = out_stream_memory(), *alone = out_stream_memory();
    size_t size, wanted_size;
    for (unsigned i = 0; i < 40 * sizeof(odd) / sizeof(*odd); i++) {
        char text[64] = "0123456789abcdefghijklmnopqrstuvwxyz#[]^";
        const char *part = odd[i / 40];
        memcpy(text + i % 40, part, strlen(part));
        out_stream_memory_reset(out);
        out_stream_memory_reset(alone);
        struct json_doc doc = {.out = out};
        json_doc_text(&doc, NULL, text);
        json_string(alone, text, strlen(text));
        const uint8_t *bytes = out_stream_memory_bytes(out, &size);
        const uint8_t *wanted = out_stream_memory_bytes(alone, &wanted_size);
        CHECK_INT(size, wanted_size);
        CHECK(memcmp(bytes, wanted, size) == 0);
    }
    out_stream_abandon(out);
    out_stream_abandon(alone);
}

TEST(a_byte_that_needs_an_escape_is_seen_wherever_it_is)
{
    static const char special[] = "\x01\x1f\"\\\x7f\xc2", plain[] = " !#[]~\xc3\xe2\xff\x80";
    char text[40];
    for (size_t length = 1; length < sizeof(text); length++)
        for (size_t at = 0; at < length; at++) {
            memset(text, 'x', sizeof(text));
            for (size_t i = 0; i + 1 < sizeof(special); i++) {
                text[at] = special[i];
                CHECK(!json_is_plain(text, length));
            }
            CHECK(json_is_plain(text, at));
            for (size_t i = 0; i + 1 < sizeof(plain); i++) {
                text[at] = plain[i];
                CHECK(json_is_plain(text, length));
            }
        }
    CHECK(json_is_plain("", 0));
}

TEST(varints_take_seven_bits_a_byte)
{
    uint8_t bytes[VARINT_MAX];
    CHECK_INT(varint_put(bytes, 0) - bytes, 1);
    CHECK_INT(varint_put(bytes, 127) - bytes, 1);
    CHECK_INT(varint_put(bytes, 300) - bytes, 2);
    CHECK(bytes[0] == 0xac && bytes[1] == 0x02);
    CHECK_INT(varint_put(bytes, UINT64_MAX) - bytes, VARINT_MAX);
}

/* A message of `inner` bytes of text within two messages. */
static void check_nested(struct proto_writer *writer, size_t inner, size_t length_bytes)
{
    char *text = calloc(1, inner + 1);
    CHECK(text != NULL);
    memset(text, 't', inner);
    proto_reset(writer);
    proto_begin(writer, 1);
    proto_begin(writer, 2);
    proto_text(writer, 3, text);
    proto_end(writer);
    proto_uint(writer, 4, 5);
    proto_end(writer);
    CHECK_INT(writer->error, 0);
    CHECK_INT(writer->size, inner + 3 * (1 + length_bytes) + 2);
    CHECK_INT(writer->bytes[0], 1 << 3 | 2);
    CHECK_INT(writer->bytes[1 + length_bytes], 2 << 3 | 2);
    CHECK_INT(writer->bytes[writer->size - 2], 4 << 3);
    CHECK_INT(writer->bytes[writer->size - 3], inner ? 't' : 0);
    free(text);
}

TEST(nested_messages_have_short_lengths)
{
    struct proto_writer writer = {0};
    check_nested(&writer, 0, 1);
    check_nested(&writer, 100, 1);
    check_nested(&writer, 1000, 2);
    check_nested(&writer, 100000, 3);
    check_nested(&writer, 1, 1); /* a reset discards the last message */
    proto_destroy(&writer);
}
