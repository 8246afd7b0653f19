/* SPDX-License-Identifier: MIT */
/* Tokens of JSON: see json_reader.h.
 *
 * A token is in one piece of the input, so texts without escapes, nearly all of them, are used in
 * place. Structure is checked by depth. */
#include "json_reader.h"

#include "input.h"
#include "sink.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_reader_init(struct json_reader *reader, struct import_input *input)
{
    *reader = (struct json_reader){.input = input};
}

void json_reader_fini(struct json_reader *reader)
{
    free(reader->scratch);
}

uint64_t json_offset(const struct json_reader *reader)
{
    return import_input_offset(reader->input) + (uint64_t)(reader->at - reader->base);
}

static int fail(struct json_reader *reader, const char *problem)
{
    if (!reader->problem)
        reader->problem = problem;
    return -EBADMSG;
}

static int fail_cut(struct json_reader *reader)
{
    reader->cut = !reader->problem;
    return fail(reader, "the file ends in the middle");
}

/* Extends the piece at `at` to more than `have` bytes. 1; 0 at the end; -errno. */
static int look_further(struct json_reader *reader, size_t have)
{
    const char *bytes;
    if (reader->base)
        import_input_take(reader->input, (size_t)(reader->at - reader->base));
    int64_t got = import_input_peek(reader->input, have + 1, &bytes);
    if (got < 0)
        return (int)got;
    reader->base = reader->at = bytes;
    reader->end = bytes + got;
    return (size_t)got > have;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The number after "\u"; -1 if it is malformed. */
static int32_t hex_number(const char *at, const char *end)
{
    int32_t number = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        number = number << 4 | digit;
    }
    return number;
}

/* `*at` is after "\u"; unpaired halves of a pair become U+FFFD. NULL: malformed. */
static char *put_escaped_number(char *out, const char **at, const char *end)
{
    int32_t number = hex_number(*at, end);
    if (number < 0)
        return NULL;
    *at += 4;
    bool high = number >= 0xd800 && number < 0xdc00;
    if (high && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        int32_t low = hex_number(*at + 2, end);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += 6;
            return utf8_put(out, 0x10000u + ((uint32_t)(number - 0xd800) << 10) +
                                     (uint32_t)(low - 0xdc00));
        }
    }
    bool half = number >= 0xd800 && number < 0xe000;
    return utf8_put(out, half ? 0xfffd : (uint32_t)number);
}

static char *put_escaped(char *out, const char **at, const char *end)
{
    static const char meant[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    char letter = *(*at)++;
    if (letter == 'u')
        return put_escaped_number(out, at, end);
    *out = meant[(uint8_t)letter];
    return *out ? out + 1 : NULL;
}

/* Replaces escapes in place, since they never get longer. */
static int unescape(struct json_reader *reader, struct json_token *token)
{
    const char *at = token->text, *end = at + token->length;
    if (reader->scratch_size < token->length) {
        char *grown = realloc(reader->scratch, token->length);
        if (!grown)
            return -ENOMEM;
        reader->scratch = grown;
        reader->scratch_size = token->length;
    }
    char *out = reader->scratch;
    while (at < end) {
        const char *next = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((next ? next : end) - at);
        out = mempcpy(out, at, plain);
        at += plain;
        if (!next)
            break;
        at++;
        out = put_escaped(out, &at, end);
        if (!out)
            return fail(reader, "not JSON: an unknown escape");
    }
    token->text = reader->scratch;
    token->length = (size_t)(out - reader->scratch);
    return 0;
}

/* The bytes from `at` on without a quote or a backslash. */
static inline const char *skip_plain(const char *at, const char *end)
{
    while (end - at >= 8) {
        uint64_t word, ones = UINT64_C(0x0101010101010101), high = UINT64_C(0x8080808080808080);
        memcpy(&word, at, sizeof(word));
        uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
        uint64_t found = (((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & high;
        if (found)
            return at + (__builtin_ctzll(found) >> 3);
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* Maximum of a text that is kept, as in the file: more than a sink keeps, with any escapes. */
enum { TEXT_RAW_MAX = 8 << 20, ESCAPE_MAX = 6 };

_Static_assert(TEXT_RAW_MAX / ESCAPE_MAX > SINK_TEXT_MAX + ESCAPE_MAX,
               "the sink cuts and counts what this reader cuts");

/* Moves `at` past the quote that ends the text. */
static int pass_text(struct json_reader *reader)
{
    for (;;) {
        reader->at = skip_plain(reader->at, reader->end);
        if (reader->at < reader->end && *reader->at == '"')
            break;
        if (reader->end - reader->at >= 2) {
            reader->at += 2;
            continue;
        }
        int more = look_further(reader, (size_t)(reader->end - reader->at));
        if (more <= 0)
            return more < 0 ? more : fail_cut(reader);
    }
    reader->at++;
    return 0;
}

/* Cuts a text to `seen` bytes from the quote on; `escape` is its last escape, which is dropped if
 * it may be incomplete. */
static int cut_text(struct json_reader *reader, size_t seen, size_t escape,
                    struct json_token *token)
{
    size_t end = escape && seen - escape < ESCAPE_MAX ? escape : seen;
    *token = (struct json_token){JSON_STRING, false, reader->at + 1, end - 1};
    int error = unescape(reader, token); /* which copies it */
    reader->at += seen;
    return error ? error : pass_text(reader);
}

/* Reads a text; `at` is at its quote. */
static int read_text(struct json_reader *reader, struct json_token *token)
{
    size_t seen = 1, escape = 0;
    for (;;) {
        const char *at = skip_plain(reader->at + seen, reader->end);
        seen = (size_t)(at - reader->at);
        if (at < reader->end && *at == '"')
            break;
        bool skips = at < reader->end && reader->end - at >= 2;
        if (skips) {
            escape = seen;
            seen += 2;
            continue;
        }
        if (seen > TEXT_RAW_MAX)
            return cut_text(reader, seen, escape, token);
        int more = look_further(reader, (size_t)(reader->end - reader->at));
        if (more <= 0)
            return more < 0 ? more : fail_cut(reader);
    }
    *token = (struct json_token){JSON_STRING, false, reader->at + 1, seen - 1};
    reader->at += seen + 1;
    return escape ? unescape(reader, token) : 0;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static const bool is_word[256] = {
    ['0' ... '9'] = true, ['a' ... 'z'] = true, ['A' ... 'Z'] = true,
    ['+'] = true,         ['-'] = true,         ['.'] = true,
};

enum { WORD_MAX = 512 };

static bool text_is(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* True for numbers, also in the form of other languages; the caller checks further. */
static bool may_be_number(const char *text, size_t length)
{
    size_t sign = *text == '-' || *text == '+';
    const char *rest = text + sign;
    length -= sign;
    return length && ((*rest >= '0' && *rest <= '9') || *rest == '.' ||
                      text_is(rest, length, "NaN") || text_is(rest, length, "nan") ||
                      text_is(rest, length, "Infinity") || text_is(rest, length, "inf"));
}

static int read_word(struct json_reader *reader, struct json_token *token)
{
    size_t length = 0;
    for (;;) {
        while (reader->at + length < reader->end && is_word[(uint8_t)reader->at[length]])
            length++;
        if (reader->at + length < reader->end || length > WORD_MAX)
            break;
        int more = look_further(reader, length);
        if (more < 0)
            return more;
        if (more == 0)
            break;
    }
    const char *text = reader->at;
    *token = (struct json_token){JSON_NUMBER, false, text, length};
    reader->at += length;
    if (text_is(text, length, "true"))
        token->kind = JSON_TRUE;
    else if (text_is(text, length, "false"))
        token->kind = JSON_FALSE;
    else if (text_is(text, length, "null"))
        token->kind = JSON_NULL;
    else if (length == 0 || length > WORD_MAX || !may_be_number(text, length))
        return fail(reader, "not JSON");
    return 0;
}

/* ---- Structure ------------------------------------------------------------------------------- */

/* Skips to the next character that is not blank: 1; 0 at the end; -errno. */
static int skip_blanks(struct json_reader *reader)
{
    for (;;) {
        while (reader->at < reader->end &&
               (*reader->at == ' ' || (*reader->at >= '\t' && *reader->at <= '\r')))
            reader->at++;
        if (reader->at < reader->end)
            return 1;
        int more = look_further(reader, 0);
        if (more <= 0)
            return more;
    }
}

static bool is_in_object(const struct json_reader *reader)
{
    return reader->depth && reader->in_object[reader->depth - 1];
}

static int open_one(struct json_reader *reader, bool object, struct json_token *token)
{
    if (reader->depth == JSON_DEPTH_MAX)
        return fail(reader, "values are nested too deeply");
    reader->in_object[reader->depth++] = object;
    reader->wants_comma = false;
    reader->at++;
    *token = (struct json_token){.kind = object ? JSON_OBJECT : JSON_ARRAY};
    return 1;
}

static int close_one(struct json_reader *reader, bool object, struct json_token *token)
{
    if (!reader->depth || is_in_object(reader) != object || reader->wants_value)
        return fail(reader, "not JSON: a bracket that closes nothing");
    reader->depth--;
    reader->wants_comma = true;
    reader->at++;
    *token = (struct json_token){.kind = object ? JSON_OBJECT_END : JSON_ARRAY_END};
    return 1;
}

static int read_key(struct json_reader *reader, struct json_token *token)
{
    int error = *reader->at == '"' ? read_text(reader, token) : fail(reader, "not JSON");
    if (error)
        return error;
    /* Further bytes may move the input, and the key with it. */
    bool here = reader->at < reader->end && *reader->at == ':';
    reader->wants_value = true;
    if (here)
        reader->at++;
    else
        reader->wants_comma = true; /* a colon */
    token->key = true;
    return 1;
}

/* Skips the comma or colon before the next token. 1, 0, -errno. */
static int skip_between(struct json_reader *reader)
{
    int more = skip_blanks(reader);
    if (more <= 0 || !reader->wants_comma)
        return more;
    if (reader->wants_value && *reader->at != ':')
        return fail(reader, "not JSON: a name without a value");
    bool separates = *reader->at == (reader->wants_value ? ':' : ',') && reader->depth;
    reader->wants_comma = false;
    if (!separates)
        return *reader->at == ']' || *reader->at == '}'
                   ? 1
                   : fail(reader, reader->depth ? "not JSON: a comma is missing"
                                                : "not JSON: something follows its end");
    reader->at++;
    return skip_blanks(reader);
}

int json_next(struct json_reader *reader, struct json_token *ret_token)
{
    bool ended = !reader->depth && reader->wants_comma;
    int more = skip_between(reader);
    if (more < 0)
        return more;
    if (more == 0) {
        *ret_token = (struct json_token){.kind = JSON_END};
        return ended ? 0 : fail_cut(reader);
    }
    char next = *reader->at;
    if (next == ']' || next == '}')
        return close_one(reader, next == '}', ret_token);
    if (is_in_object(reader) && !reader->wants_value)
        return read_key(reader, ret_token);
    reader->wants_value = false;
    if (next == '{' || next == '[')
        return open_one(reader, next == '{', ret_token);
    reader->wants_comma = true;
    int error = next == '"' ? read_text(reader, ret_token) : read_word(reader, ret_token);
    return error ? error : 1;
}

int json_end(struct json_reader *reader, struct import_sink *sink, int error)
{
    if (error != -EBADMSG)
        return error;
    if (!reader->cut) {
        import_problem(sink, reader->problem, json_offset(reader));
        return error;
    }
    import_cut(sink, json_offset(reader));
    return 0;
}

int json_skip_nested(struct json_reader *reader, const struct json_token *first)
{
    unsigned until = reader->depth - 1;
    struct json_token token = *first;
    while (reader->depth > until) {
        int more = json_next(reader, &token);
        if (more < 0)
            return more;
    }
    return 0;
}

static bool is_plain(char letter)
{
    return (uint8_t)letter >= 0x20 && letter != '"' && letter != '\\';
}

static void copy_escaped(struct text *copy, char letter)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t byte = (uint8_t)letter;
    const char code[] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    const char mark[] = {'\\', letter};
    if (byte < 0x20)
        text_add(copy, code, sizeof(code));
    else
        text_add(copy, mark, sizeof(mark));
}

void json_copy_text(struct text *copy, const char *bytes, size_t length)
{
    const char *at = bytes, *end = at + length;
    text_add(copy, "\"", 1);
    while (at < end) {
        const char *plain = at;
        while (at < end && is_plain(*at))
            at++;
        text_add(copy, plain, (size_t)(at - plain));
        if (at < end)
            copy_escaped(copy, *at++);
    }
    text_add(copy, "\"", 1);
}

static void copy_token(struct text *copy, const struct json_token *token, bool *comma)
{
    static const char *const marks[] = {
        [JSON_OBJECT] = "{",  [JSON_OBJECT_END] = "}", [JSON_ARRAY] = "[",  [JSON_ARRAY_END] = "]",
        [JSON_TRUE] = "true", [JSON_FALSE] = "false",  [JSON_NULL] = "null"};
    bool opens = token->kind == JSON_OBJECT || token->kind == JSON_ARRAY;
    bool closes = token->kind == JSON_OBJECT_END || token->kind == JSON_ARRAY_END;
    if (*comma && !closes)
        text_add(copy, ",", 1);
    if (token->kind == JSON_STRING)
        json_copy_text(copy, token->text, token->length);
    else if (token->kind == JSON_NUMBER)
        text_add(copy, token->text, token->length);
    else
        text_add(copy, marks[token->kind], strlen(marks[token->kind]));
    if (token->key)
        text_add(copy, ":", 1);
    *comma = !opens && !token->key;
}

int json_copy(struct json_reader *reader, const struct json_token *first, struct text *copy)
{
    bool comma = false, nested = first->kind == JSON_OBJECT || first->kind == JSON_ARRAY;
    unsigned until = reader->depth - 1;
    struct json_token token = *first;
    copy_token(copy, &token, &comma);
    while (nested && reader->depth > until) {
        int more = json_next(reader, &token);
        if (more < 0)
            return more;
        copy_token(copy, &token, &comma);
    }
    return 0;
}

int json_member(struct json_reader *reader, char key[JSON_KEY_SIZE], struct json_token *ret_value)
{
    int more = json_next(reader, ret_value);
    if (more < 0 || ret_value->kind == JSON_OBJECT_END)
        return more < 0 ? more : 0;
    size_t length = ret_value->length < JSON_KEY_SIZE ? ret_value->length : JSON_KEY_SIZE - 1;
    if (length > 0) /* else the text may be NULL */
        memcpy(key, ret_value->text, length);
    key[length] = 0;
    return json_next(reader, ret_value);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Times have up to nineteen digits: they are read as decimals, since a double of microseconds since
 * 1970 is not an exact nanosecond. */

static bool is_numeric(const struct json_token *token)
{
    return (token->kind == JSON_NUMBER || token->kind == JSON_STRING) && token->length &&
           token->length < 64;
}

bool json_double(const struct json_token *token, double *ret_value)
{
    char text[64], *end;
    if (!is_numeric(token))
        return false;
    memcpy(text, token->text, token->length);
    text[token->length] = 0;
    *ret_value = strtod(text, &end);
    return *end == 0 && (token->kind == JSON_NUMBER || isfinite(*ret_value));
}

/* With an exponent, or more digits than the decimal parser supports. */
static bool read_as_double(const struct json_token *token, int64_t scale_ns, int64_t *ret_ns)
{
    double value;
    if (!json_double(token, &value))
        return false;
    value *= (double)scale_ns;
    if (!(value > -9.2e18 && value < 9.2e18))
        return false;
    *ret_ns = (int64_t)llround(value);
    return true;
}

/* Digits as a number; at most 18. */
static size_t read_digits(const char *at, const char *end, int64_t *ret_value)
{
    const char *begin = at;
    int64_t value = 0;
    while (at < end && *at >= '0' && *at <= '9' && at - begin < 19)
        value = at - begin < 18 ? value * 10 + (*at - '0') : value, at++;
    *ret_value = value;
    return (size_t)(at - begin);
}

bool json_time(const struct json_token *token, int64_t scale_ns, int64_t *ret_ns)
{
    const char *at = token->text, *end = at + token->length;
    int64_t whole, part = 0, part_scale = scale_ns;
    if (!is_numeric(token))
        return false;
    bool negative = *at == '-';
    at += negative;
    size_t digits = read_digits(at, end, &whole);
    at += digits;
    if (at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++) {
            bool rounds = part_scale == 1 && *at >= '5';
            part_scale /= 10;
            part += part_scale ? (*at - '0') * part_scale : rounds;
        }
    if (at != end || digits == 0 || digits > 18 ||
        __builtin_mul_overflow(whole, scale_ns, &whole) ||
        __builtin_add_overflow(whole, part, &whole))
        return read_as_double(token, scale_ns, ret_ns);
    *ret_ns = negative ? -whole : whole;
    return true;
}

static bool read_long(const struct json_token *token, int64_t *ret_value)
{
    char text[64], *end;
    memcpy(text, token->text, token->length);
    text[token->length] = 0;
    errno = 0;
    *ret_value = strtoll(text, &end, 10);
    return *end == 0 && errno == 0;
}

bool json_int(const struct json_token *token, int64_t *ret_value)
{
    const char *at = token->text, *end = at + token->length;
    if (!is_numeric(token))
        return false;
    bool negative = *at == '-';
    at += negative;
    size_t digits = read_digits(at, end, ret_value);
    if (digits == 19) /* perhaps the largest 64-bit number */
        return read_long(token, ret_value);
    if (negative)
        *ret_value = -*ret_value;
    return digits && digits < 19 && at + digits == end;
}

bool json_is(const struct json_token *token, const char *text)
{
    return token->kind == JSON_STRING && token->length == strlen(text) &&
           memcmp(token->text, text, token->length) == 0;
}
