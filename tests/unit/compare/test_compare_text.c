/* SPDX-License-Identifier: MIT */
/* Printed changes are consistent with the printed numbers. */

#include "compare.h"
#include "compare_text.h"
#include "table.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *change(double a, double b, uint8_t unit)
{
    static char text[COMPARE_TEXT_SIZE];
    return compare_percent_text(a, b, unit, text);
}

static const char *number(double a, double b, double value)
{
    static char text[COMPARE_TEXT_SIZE];
    const struct compare_result result = {.a = a, .b = b, .unit = COLUMN_TIME};
    return compare_number_text(&result, value, text);
}

TEST(a_change_is_that_of_the_numbers_as_they_are_printed)
{
    CHECK_STR(number(1.104e6, 1.166e6, 1.104e6), "1.104 ms");
    CHECK_STR(number(1.104e6, 1.166e6, 1.166e6), "1.166 ms");
    CHECK_STR(change(1.104e6, 1.166e6, COLUMN_TIME), "+5.6 %");
    CHECK_STR(change(40.2e9, 3.1e9, COLUMN_TIME), "-92 %");
    CHECK_STR(change(1.004e6, 1.296e6, COLUMN_TIME), "+30 %"); /* 1.00 and 1.30 */
}

TEST(close_numbers_have_the_digits_that_tell_them_apart)
{
    CHECK_STR(number(1.13126e9, 1.13461e9, 1.13126e9), "1.1313 s");
    CHECK_STR(change(1.13126e9, 1.13461e9, COLUMN_TIME), "+0.29 %");
    CHECK_STR(number(999.96e6, 2e9, 999.96e6), "1.00 s");
}

TEST(nothing_has_no_percentage)
{
    char text[COMPARE_TEXT_SIZE];
    CHECK_STR(change(0, 0, COLUMN_TIME), "");
    CHECK_STR(change(0, 5e6, COLUMN_TIME), "new");
    CHECK_STR(change(5e6, 0, COLUMN_TIME), "-100 %");
    CHECK_STR(change(512e6, 2.2e6, COLUMN_TIME), "-99.6 %");
    CHECK_STR(compare_difference_text(0, 0, COLUMN_TIME, text), "0");
}

TEST(a_change_beyond_ten_times_is_a_factor)
{
    CHECK_STR(change(1e6, 24.4e6, COLUMN_TIME), "24.4 x");
    CHECK_STR(change(1e6, 2.01e6, COLUMN_TIME), "+101 %");
}

TEST(an_interval_that_says_nothing_is_not_printed)
{
    char text[COMPARE_TEXT_SIZE];
    struct compare_result result = {.a = 100, .b = 90, .low = -859, .high = 719};
    CHECK_STR(compare_interval_text(&result, text), "not enough runs");
    result.measured = COMPARE_OF_SAMPLES;
    CHECK_STR(compare_interval_text(&result, text), "not enough samples");
    result.low = -12;
    result.high = -8;
    CHECK_STR(compare_interval_text(&result, text), "-12 to -8.0 %");
    result.high = INFINITY;
    result.measured = COMPARE_OF_RUNS;
    CHECK_STR(compare_interval_text(&result, text), "not enough runs");
}

/* For any numbers, a change computed from the printed numbers equals the printed one. */
TEST(every_change_follows_from_what_is_printed)
{
    uint64_t seed = 7;
    for (int i = 0; i < 20000; i++) {
        double of[2];
        for (int k = 0; k < 2; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            of[k] = exp((double)(seed >> 40) / 0x1p24 * 23) + 1;
        }
        if (i % 2)
            of[1] = of[0] * (1 + ((double)(seed >> 40) / 0x1p24 - 0.5) / 5);
        int digits = compare_digits(of[0], of[1]);
        char a[COMPARE_TEXT_SIZE], b[COMPARE_TEXT_SIZE];
        const char *told = change(of[0], of[1], COLUMN_TIME);
        double read[2] = {0};
        const char *texts[2] = {compare_value_text(of[0], COLUMN_TIME, digits, a),
                                compare_value_text(of[1], COLUMN_TIME, digits, b)};
        for (int k = 0; k < 2; k++) {
            char *unit;
            read[k] = strtod(texts[k], &unit);
            read[k] *= strcmp(unit, " s") == 0    ? 1e9
                       : strcmp(unit, " ms") == 0 ? 1e6
                       : strcmp(unit, " us") == 0 ? 1e3
                                                  : 1;
        }
        if (!strchr(told, '%') || strchr(told, '<') || read[0] == 0)
            continue;
        double percent = 100 * (read[1] - read[0]) / read[0], shown = strtod(told, NULL);
        CHECK(fabs(percent - shown) <= 0.5 + 0.001 * fabs(percent));
    }
}
