/* SPDX-License-Identifier: MIT */
/* Formats by integers and snprintf, independent of the locale. */
#include "number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

struct unit {
    uint64_t size;
    const char *name;
};

static const struct unit time_units[] = {
    {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};

/* The unit in which the value has an integer part after rounding to four digits. */
static const struct unit *time_unit(uint64_t ns)
{
    const struct unit *unit = time_units;
    while (unit->size > 1 && (double)ns < (double)unit->size * 0.99995)
        unit++;
    return unit;
}

static int time_digits(uint64_t ns, const struct unit *unit, char *buffer)
{
    double value = (double)ns / (double)unit->size;
    int decimals = unit->size == 1 || value >= 999.95 ? 0
                   : value >= 99.995                  ? 1
                   : value >= 9.9995                  ? 2
                                                      : 3;
    return snprintf(buffer, NUMBER_TEXT_SIZE - 4, "%.*f", decimals, value);
}

const char *number_time(uint64_t ns, char *buffer)
{
    const struct unit *unit = time_unit(ns);
    int length = time_digits(ns, unit, buffer);
    snprintf(buffer + length, (size_t)(NUMBER_TEXT_SIZE - length), " %-2s", unit->name);
    return buffer;
}

const char *number_time_plain(uint64_t ns, char *buffer)
{
    const struct unit *unit = time_unit(ns);
    int length = time_digits(ns, unit, buffer);
    snprintf(buffer + length, (size_t)(NUMBER_TEXT_SIZE - length), " %s", unit->name);
    return buffer;
}

const char *number_time_short(uint64_t ns, char *buffer)
{
    const struct unit *unit = time_units;
    while (unit->size > 1 && (double)ns < (double)unit->size * 0.9995)
        unit++;
    double value = (double)ns / (double)unit->size;
    int decimals = unit->size == 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    if (ns == 0)
        snprintf(buffer, NUMBER_TEXT_SIZE, "0");
    else
        snprintf(buffer, NUMBER_TEXT_SIZE, "%.*f %s", decimals, value, unit->name);
    return buffer;
}

const char *number_share(uint64_t part, uint64_t whole, char *buffer)
{
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;
    if (!whole)
        snprintf(buffer, NUMBER_TEXT_SIZE, "-");
    else if (part > 0 && percent < 0.1)
        snprintf(buffer, NUMBER_TEXT_SIZE, "<0.1 %%");
    else
        snprintf(buffer, NUMBER_TEXT_SIZE, percent < 9.95 && part > 0 ? "%.1f %%" : "%.0f %%",
                 percent);
    return buffer;
}

const char *number_count(uint64_t count, char *buffer)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    char *to = buffer;
    for (int i = 0; i < length; i++) {
        *to++ = digits[i];
        if (i + 1 < length && (length - i - 1) % 3 == 0)
            *to++ = ',';
    }
    *to = '\0';
    return buffer;
}

const char *number_size(uint64_t bytes, char *buffer)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    for (; value >= 1023.95 && unit + 1 < sizeof(names) / sizeof(*names); unit++)
        value /= 1024;
    snprintf(buffer, NUMBER_TEXT_SIZE, unit ? "%.1f %s" : "%.0f %s", value, names[unit]);
    return buffer;
}

const char *number_percent(uint64_t part, uint64_t whole, char *buffer)
{
    if (!whole) {
        snprintf(buffer, NUMBER_TEXT_SIZE, "-");
        return buffer;
    }
    double percent = 100.0 * (double)part / (double)whole;
    snprintf(buffer, NUMBER_TEXT_SIZE, percent < 999.95 ? "%.1f%%" : "%.0f%%", percent);
    return buffer;
}

const char *number_value(double value, char *buffer)
{
    bool whole = fabs(value) < 1e15 && (fabs(value) >= 1e5 || value == floor(value));
    snprintf(buffer, NUMBER_TEXT_SIZE, whole ? "%.0f" : "%.6g", value);
    return buffer;
}
