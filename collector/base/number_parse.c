/* SPDX-License-Identifier: MIT */
/* Numbers with units as people type them: times, sizes, counts.
 *
 * Own code because strtod follows the locale and accepts hexadecimal, "inf" and signs. Exact:
 * integers throughout, fractions cut below the unit's resolution. */
#include "options.h"

#include <math.h>
#include <stdlib.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct unit {
    const char *suffix;
    uint64_t factor;
};

static const struct unit time_units[] = {
    {"", 1000000000},   {"s", 1000000000},    {"ms", 1000000},      {"us", 1000}, {"ns", 1},
    {"m", 60000000000}, {"min", 60000000000}, {"h", 3600000000000}, {NULL, 0},
};

static const struct unit size_units[] = {
    {"", 1},           {"B", 1},
    {"K", 1ull << 10}, {"KiB", 1ull << 10},
    {"M", 1ull << 20}, {"MiB", 1ull << 20},
    {"G", 1ull << 30}, {"GiB", 1ull << 30},
    {"T", 1ull << 40}, {"TiB", 1ull << 40},
    {NULL, 0},
};

static const struct unit count_units[] = {{"", 1}, {NULL, 0}};

static int parse(const char *text, const struct unit *units, uint64_t limit, uint64_t *ret_value)
{
    const char *at = text;
    unsigned __int128 whole = 0, fraction = 0, fraction_scale = 1;
    for (; isdigit((unsigned char)*at); at++) {
        whole = whole * 10 + (unsigned)(*at - '0');
        if (whole > limit)
            return -ERANGE;
    }
    size_t digits = (size_t)(at - text);
    if (*at == '.') {
        for (at++; isdigit((unsigned char)*at); at++, digits++) {
            if (fraction_scale >= 1000000000000000000ull)
                continue;
            fraction = fraction * 10 + (unsigned)(*at - '0');
            fraction_scale *= 10;
        }
    }
    const struct unit *unit = units;
    while (unit->suffix && strcmp(unit->suffix, at) != 0)
        unit++;
    if (digits == 0 || !unit->suffix)
        return -EINVAL;
    if (unit->factor == 1 && strchr(text, '.'))
        return -EINVAL;
    unsigned __int128 value = whole * unit->factor + fraction * unit->factor / fraction_scale;
    if (value > limit)
        return -ERANGE;
    *ret_value = (uint64_t)value;
    return 0;
}

int options_parse_time(const char *text, int64_t *ret_ns)
{
    uint64_t value = 0;
    int rc = parse(text, time_units, INT64_MAX, &value);
    if (rc == 0)
        *ret_ns = (int64_t)value;
    return rc;
}

int options_parse_size(const char *text, uint64_t *ret_bytes)
{
    return parse(text, size_units, UINT64_MAX, ret_bytes);
}

int options_parse_count(const char *text, uint64_t *ret_count)
{
    return parse(text, count_units, UINT64_MAX, ret_count);
}

int options_parse_number(const char *text, double *ret_number)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || number <= 0)
        return -EINVAL;
    *ret_number = number;
    return 0;
}
