/* SPDX-License-Identifier: MIT */
/* Numbers of a comparison as texts. A change is computed from the two numbers as printed, so that
 * it matches them; they have as many digits as the change needs. */

#include "compare_text.h"

#include "compare.h"
#include "compare_state.h"
#include "number.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Values ---------------------------------------------------------------------------------- */

/* The format of a value: divided by `size`, with `decimals` decimals. */
struct scale {
    double size;
    int decimals;
    const char *unit;
};

static int decimals_of(double size, int digits)
{
    if (!isfinite(size)) /* a change from zero */
        return 0;
    int before = size < 1 ? 1 : (int)floor(log10(size)) + 1;
    return before < digits ? digits - before : 0;
}

static struct scale scale_of(double value, uint8_t unit, int digits)
{
    static const struct scale times[] = {{1e9, 0, " s"}, {1e6, 0, " ms"}, {1e3, 0, " us"}};
    static const struct scale bytes[] = {
        {0x1p30, 0, " GiB"}, {0x1p20, 0, " MiB"}, {0x1p10, 0, " KiB"}};

    const struct scale *scales = unit == COLUMN_TIME ? times : bytes;
    double least = unit == COLUMN_TIME ? 0.9995 : 0.9999;
    struct scale scale = {1, 0, unit == COLUMN_TIME ? " ns" : " B"};
    if (unit != COLUMN_TIME && unit != COLUMN_BYTES)
        return (struct scale){1, unit == COLUMN_COUNT ? 0 : decimals_of(fabs(value), digits), ""};
    for (int i = 0; i < 3; i++) {
        if (fabs(value) < least * scales[i].size)
            continue;
        scale = scales[i];
        scale.decimals = decimals_of(fabs(value) / scale.size * 1.0000001, digits);
        return scale;
    }
    return scale;
}

double compare_rounded(double value, uint8_t unit, int digits)
{
    const struct scale scale = scale_of(value, unit, digits);
    double factor = pow(10, scale.decimals);
    return round(value / scale.size * factor) / factor * scale.size;
}

const char *compare_value_text(double value, uint8_t unit, int digits, char *buffer)
{
    const struct scale scale = scale_of(value, unit, digits);
    if (isnan(value))
        return "-";
    if (unit == COLUMN_COUNT && fabs(value) >= 1000) {
        char count[NUMBER_TEXT_SIZE];
        snprintf(buffer, COMPARE_TEXT_SIZE, "%s%s", value < 0 ? "-" : "",
                 number_count((uint64_t)llround(fabs(value)), count));
    } else if (fabs(value) < 0.5 && (unit == COLUMN_TIME || unit == COLUMN_BYTES)) {
        snprintf(buffer, COMPARE_TEXT_SIZE, "0");
    } else {
        snprintf(buffer, COMPARE_TEXT_SIZE, "%.*f%s", scale.decimals, value / scale.size,
                 scale.unit);
    }
    return buffer;
}

int compare_digits(double a, double b)
{
    double part = a != 0 ? fabs((b - a) / a) : 1;
    return !(part < 0.1) || part < 1e-5 ? 3 : part < 0.01 ? 5 : 4;
}

const char *compare_number_text(const struct compare_result *result, double value, char *buffer)
{
    return compare_value_text(value, result->unit, compare_digits(result->a, result->b), buffer);
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* Writes "+3.1", without the unit; large ones with fewer digits. */
static void put_percent(double part, char *buffer, size_t size)
{
    double percent = 100 * part;
    int decimals = fabs(percent) >= 9.95 ? 0 : fabs(percent) >= 0.995 ? 1 : 2;
    if (percent > -100 && percent < -99)
        decimals = percent < -99.95 ? 2 : 1;
    if (percent == 0)
        snprintf(buffer, size, "0");
    else if (percent > -100 && percent < -99.99)
        snprintf(buffer, size, "<-99.99");
    else if (percent >= 9999)
        snprintf(buffer, size, ">+9999");
    else
        snprintf(buffer, size, "%+.*f", decimals, percent);
}

const char *compare_percent_text(double a, double b, uint8_t unit, char *buffer)
{
    int digits = compare_digits(a, b);
    double before = compare_rounded(a, unit, digits), after = compare_rounded(b, unit, digits);
    char text[COMPARE_TEXT_SIZE / 2];
    if (isnan(a) || isnan(b) || (before == 0 && after == 0))
        return "";
    if (before == 0)
        return "new";
    if (after >= 10 * before && before > 0) {
        snprintf(buffer, COMPARE_TEXT_SIZE, "%.*f x", after >= 100 * before ? 0 : 1,
                 after / before);
        return buffer;
    }
    put_percent((after - before) / fabs(before), text, sizeof(text));
    snprintf(buffer, COMPARE_TEXT_SIZE, "%s %%", text);
    return buffer;
}

double compare_ratio(double a, double b, uint8_t unit)
{
    int digits = compare_digits(a, b);
    double before = compare_rounded(a, unit, digits);
    return before > 0 ? compare_rounded(b, unit, digits) / before : NAN;
}

double compare_shown_difference(double a, double b, uint8_t unit)
{
    int digits = compare_digits(a, b);
    return (isnan(b) ? 0 : compare_rounded(b, unit, digits)) -
           (isnan(a) ? 0 : compare_rounded(a, unit, digits));
}

const char *compare_difference_text(double a, double b, uint8_t unit, char *buffer)
{
    double difference = compare_shown_difference(a, b, unit);
    const struct scale scale = scale_of(difference, unit, 3);
    if (fabs(difference) * pow(10, scale.decimals) < 0.5 * scale.size)
        return "0";
    buffer[0] = '+';
    compare_value_text(difference, unit, 3, buffer + (difference > 0));
    return buffer;
}

const char *compare_change_text(const struct compare_result *result, char *buffer)
{
    return compare_percent_text(result->a, result->b, result->unit, buffer);
}

/* An interval from less than half to more than twice is not informative. */
static bool is_wide(const struct compare_result *result)
{
    double whole = fabs(result->a);
    return isinf(result->low) || isinf(result->high) ||
           (result->low < -0.5 * whole && result->high > whole);
}

const char *compare_interval_text(const struct compare_result *result, char *buffer)
{
    char low[COMPARE_TEXT_SIZE / 3], high[COMPARE_TEXT_SIZE / 3];
    if (isnan(result->low) || isnan(result->a) || !(fabs(result->a) > 0))
        return "";
    if (is_wide(result))
        return result->measured == COMPARE_OF_SAMPLES     ? "not enough samples"
               : result->measured == COMPARE_OF_DURATIONS ? "not enough of them"
                                                          : "not enough runs";
    put_percent(result->low / fabs(result->a), low, sizeof(low));
    put_percent(result->high / fabs(result->a), high, sizeof(high));
    snprintf(buffer, COMPARE_TEXT_SIZE, "%s to %s %%", low, high);
    return buffer;
}

const char *compare_verdict_text(const struct compare_result *result)
{
    bool time = result->unit == COLUMN_TIME;
    switch ((enum compare_verdict)result->verdict) {
    case COMPARE_MORE:
        return time ? "slower" : "more";
    case COMPARE_LESS:
        return time ? "faster" : "less";
    case COMPARE_SAME:
        return "same";
    case COMPARE_ONE_RUN:
        return "one run";
    case COMPARE_UNTESTED:
        return "small";
    case COMPARE_NEW:
        return "new";
    case COMPARE_GONE:
        return "gone";
    default:
        return "unsure";
    }
}

const char *compare_unit_name(uint8_t unit)
{
    return unit == COLUMN_TIME    ? "ns"
           : unit == COLUMN_BYTES ? "bytes"
           : unit == COLUMN_COUNT ? "count"
                                  : "value";
}
