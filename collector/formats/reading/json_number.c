/* SPDX-License-Identifier: MIT */
/* Numbers of JSON. Times have up to nineteen digits: they are read as decimals, since a double of
 * microseconds since 1970 is no exact nanosecond. */
#include "import_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* With an exponent, or more digits than it can have. */
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
    if (digits == 19) /* perhaps the largest there are */
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
