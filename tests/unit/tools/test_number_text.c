/* SPDX-License-Identifier: MIT */
/* Numbers as texts: four digits, the right unit at each border, no locale. */
#include "number_text.h"
#include "test.h"

static char text[NUMBER_TEXT_SIZE];

TEST(times_have_four_digits_and_the_unit_that_fits)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {1, "1 ns"},
        {999, "999 ns"},
        {1000, "1.000 us"},
        {9999, "9.999 us"},
        {10000, "10.00 us"},
        {99994, "99.99 us"},
        {99996, "100.0 us"},
        {999940, "999.9 us"},
        {999949, "999.9 us"},
        {999950, "1.000 ms"},
        {1000000, "1.000 ms"},
        {348123456, "348.1 ms"},
        {999999999, "1.000 s"},
        {12480000000, "12.48 s"},
        {1234567000000000, "1234567 s"},
        {UINT64_MAX, "18446744074 s"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_STR(number_time_plain(cases[i].ns, text), cases[i].text);
    CHECK_STR(number_time(12480000000, text), "12.48 s ");
    CHECK_STR(number_time(1500, text), "1.500 us");
}

TEST(counts_sizes_and_parts)
{
    CHECK_STR(number_count(0, text), "0");
    CHECK_STR(number_count(999, text), "999");
    CHECK_STR(number_count(1000, text), "1,000");
    CHECK_STR(number_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
    CHECK_STR(number_size(1023, text), "1023 B");
    CHECK_STR(number_size(1024, text), "1.0 KiB");
    CHECK_STR(number_size((1 << 20) - 1, text), "1.0 MiB");
    CHECK_STR(number_size(UINT64_MAX, text), "16.0 EiB");
    CHECK_STR(number_percent(1, 3, text), "33.3%");
    CHECK_STR(number_percent(117, 10, text), "1170%");
    CHECK_STR(number_percent(1, 0, text), "-");
}

TEST(values_are_whole_where_they_can_be)
{
    CHECK_STR(number_value(12, text), "12");
    CHECK_STR(number_value(-0.25, text), "-0.25");
    CHECK_STR(number_value(10377123.5, text), "10377124");
    CHECK_STR(number_value(1e300, text), "1e+300");
    CHECK_STR(number_value(0, text), "0");
}
