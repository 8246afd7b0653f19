/* SPDX-License-Identifier: MIT */
/* JSON as a stream: the same tokens for any split of the bytes, rejection of malformed input, and
 * exact times. */
#include "input.h"
#include "json_reader.h"
#include "sink.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* All tokens as one text: "{ key:a 1 }". 0, or the error. */
static int describe(struct import_input *input, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    struct json_reader reader;
    struct json_token token;
    int more;
    CHECK(input != NULL);
    json_reader_init(&reader, input);
    while ((more = json_next(&reader, &token)) == 1) {
        static const char marks[] = "?{}[]sntfz";
        text_format(&text, "%s%c", text.length ? " " : "", marks[token.kind]);
        if (token.kind == JSON_STRING || token.kind == JSON_NUMBER) {
            text_add(&text, token.key ? "=" : ":", 1);
            text_add(&text, token.text, token.length);
        }
    }
    CHECK(more >= 0 || reader.problem != NULL);
    json_reader_fini(&reader);
    import_input_close(input);
    return more;
}

static struct import_input *input_of(const char *json)
{
    return import_input_memory((const uint8_t *)json, strlen(json));
}

/* The same bytes through a pipe, one at a time. */
static struct import_input *input_of_pipe(const char *json)
{
    struct import_input *input = NULL;
    char path[32];
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        for (; *json; json++)
            if (write(ends[1], json, 1) != 1)
                break;
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
    CHECK_INT(import_input_open(path, &input), 0);
    close(ends[0]);
    return input;
}

TEST(tokens_are_the_same_however_the_bytes_come)
{
    static const char json[] =
        " {\"a\" : [1, -2.5e3 ,\"x\\\"y\\\\\\u00e9\\ud83d\\ude00\", true,false, null ] ,\n"
        "\t\"a long name of a member\":{\"\":{}},\"b\":[[],[{}],NaN,-Infinity]}\r\n";
    static const char expected[] =
        "{ s=a [ n:1 n:-2.5e3 s:x\"y\\\xc3\xa9\xf0\x9f\x98\x80 t f z ] s=a long name of a member { "
        "s= { } } s=b [ [ ] [ { } ] n:NaN n:-Infinity ] }";
    char buffer[1024];
    CHECK_INT(describe(input_of(json), buffer, sizeof(buffer)), 0);
    CHECK_STR(buffer, expected);
    CHECK_INT(describe(input_of_pipe(json), buffer, sizeof(buffer)), 0);
    CHECK_STR(buffer, expected);
}

/* A text of `count` pieces, followed by a number. */
static struct import_input *input_of_long(const char *piece, size_t count)
{
    struct import_input *input = NULL;
    char path[512];
    snprintf(path, sizeof(path), "%s/long.json", test_directory());
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs("[\"", file);
    for (size_t i = 0; i < count; i++)
        fputs(piece, file);
    fputs("\", 7]", file);
    CHECK_INT(fclose(file), 0);
    CHECK_INT(import_input_open(path, &input), 0);
    return input;
}

/* Of 80 MiB; the kept part consists of whole characters, and the input after the text is read. */
TEST(of_long_texts_a_part_is_kept)
{
    static const struct {
        const char *piece, *meant;
    } cases[] = {{"a", "a"},
                 {"\\n", "\n"},
                 {"\\u00e9", "\xc3\xa9"},
                 {"xy\\ud83d\\ude00", "xy\xf0\x9f\x98\x80"},
                 {"\\\\", "\\"},
                 {"0\\\"1", "0\"1"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *piece = cases[i].piece, *meant = cases[i].meant;
        struct import_input *input = input_of_long(piece, ((size_t)80 << 20) / strlen(piece));
        struct json_reader reader;
        struct json_token token;
        json_reader_init(&reader, input);
        CHECK_INT(json_next(&reader, &token), 1);
        CHECK_INT(json_next(&reader, &token), 1);
        CHECK_INT(token.kind, JSON_STRING);
        CHECK(token.length > SINK_TEXT_MAX && token.length < 16 << 20);
        size_t wrong = 0, size = strlen(meant);
        for (size_t at = 0; at + 4 < token.length; at++)
            wrong += token.text[at] != meant[at % size];
        CHECK_INT(wrong, 0);
        CHECK_INT(json_next(&reader, &token), 1);
        CHECK_INT(token.kind, JSON_NUMBER);
        CHECK_INT(json_next(&reader, &token), 1);
        CHECK_INT(json_next(&reader, &token), 0);
        json_reader_fini(&reader);
        import_input_close(input);
    }
}

TEST(what_is_cut_or_no_json_is_an_error)
{
    static const char *const wrong[] = {
        "",
        "{",
        "[",
        "[1",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "[1 2]",
        "{1:2}",
        "[1}",
        "{\"a\"]",
        "{\"a\":}",
        "]",
        "[\"abc",
        "[\"a\\",
        "[\"\\x\"]",
        "[\"\\u12g4\"]",
        "[tru]",
        "[nothing]",
        "[1] [2]",
        "[1],",
        "{\"a\" 1}",
        "{,}",
        "[,]",
        "[--1x]",
        "[#]",
        "{\"a\":1 \"b\":2}",
    };
    char buffer[256];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (describe(input_of(wrong[i]), buffer, sizeof(buffer)) != -EBADMSG)
            test_fail(__FILE__, __LINE__, "taken: %s", wrong[i]);
}

TEST(values_are_copied_as_compact_json)
{
    static const char json[] = "[ { \"a\" : [ 1 , \"q\\\"\\n\" , { } ] , \"b\" : null } , 7 ]";
    struct import_input *input = input_of(json);
    struct json_reader reader;
    struct json_token token;
    char buffer[128];
    struct text text = text_init(buffer, sizeof(buffer));
    json_reader_init(&reader, input);
    CHECK_INT(json_next(&reader, &token), 1);
    CHECK_INT(json_next(&reader, &token), 1);
    CHECK_INT(json_copy(&reader, &token, &text), 0);
    CHECK_STR(buffer, "{\"a\":[1,\"q\\\"\\u000a\",{}],\"b\":null}");
    CHECK_INT(json_next(&reader, &token), 1);
    CHECK(token.kind == JSON_NUMBER && token.length == 1 && token.text[0] == '7');
    json_reader_fini(&reader);
    import_input_close(input);
}

TEST(times_are_exact)
{
    static const struct {
        const char *text;
        int64_t scale, ns;
    } times[] = {
        {"0", 1000, 0},
        {"1700000000123456.789", 1000, 1700000000123456789},
        {"82625757322.28", 1000, 82625757322280},
        {"1.0005", 1000, 1001},
        {"1.00049", 1000, 1000},
        {"-2.5", 1000, -2500},
        {"7", 1, 7},
        {"7.6", 1, 8},
        {"1.5e3", 1000, 1500000},
        {"1e-3", 1000, 1},
    };

    static const char *const wrong[] = {"",    "-",    "abc", "1e300", "99999999999999999999",
                                        "NaN", "1.2.3"};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        const struct json_token token = {JSON_NUMBER, false, times[i].text, strlen(times[i].text)};
        int64_t ns = 0;
        CHECK(json_time(&token, times[i].scale, &ns));
        CHECK_INT(ns, times[i].ns);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        const struct json_token token = {JSON_NUMBER, false, wrong[i], strlen(wrong[i])};
        int64_t ns;
        if (json_time(&token, 1000, &ns))
            test_fail(__FILE__, __LINE__, "taken: %s", wrong[i]);
    }
}

TEST(numbers_have_limits)
{
    static const char *const good[] = {"9223372036854775807", "-9223372036854775808", "0", "-7"};
    static const int64_t values[] = {INT64_MAX, INT64_MIN, 0, -7};
    static const char *const wrong[] = {"9223372036854775808", "1.5", "", "-", "12x"};
    int64_t value;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        const struct json_token token = {JSON_NUMBER, false, good[i], strlen(good[i])};
        CHECK(json_int(&token, &value));
        CHECK_INT(value, values[i]);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        const struct json_token token = {JSON_NUMBER, false, wrong[i], strlen(wrong[i])};
        CHECK(!json_int(&token, &value));
    }
}

TEST(lines_come_whole)
{
    static const char text[] = "one\r\ntwo\n\nlast";
    static const char *const expected[] = {"one", "two", "", "last"};
    struct import_input *inputs[] = {input_of(text), input_of_pipe(text)};
    for (int which = 0; which < 2; which++) {
        const char *line;
        size_t length;
        for (int i = 0; i < 4; i++) {
            CHECK_INT(import_input_line(inputs[which], &line, &length), 1);
            CHECK_INT(length, strlen(expected[i]));
            CHECK(memcmp(line, expected[i], length) == 0);
        }
        CHECK_INT(import_input_line(inputs[which], &line, &length), 0);
        import_input_close(inputs[which]);
    }
}
