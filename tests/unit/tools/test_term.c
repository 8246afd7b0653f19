/* SPDX-License-Identifier: MIT */
/* Text widths and shortening, as needed for aligned tables; numbers as texts: four digits, the
 * right unit at each limit, no locale. */
#include "term.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

TEST(width_counts_columns_not_bytes)
{
    CHECK_INT(term_text_width("load"), 4);
    CHECK_INT(term_text_width("größe"), 5);
    CHECK_INT(term_text_width("読む"), 4);
    CHECK_INT(term_text_width("e\xcc\x81"), 1);
    CHECK_INT(term_text_width("🚀"), 2);
    CHECK_INT(term_text_width("\xff\xfe"), 2);
    CHECK_INT(term_text_width("\xe8\xaa"), 2);
}

static void check_short(const char *text, size_t width, const char *expected)
{
    char buffer[256];
    size_t used = term_shorten(text, width, buffer, sizeof(buffer));
    CHECK_STR(buffer, expected);
    CHECK_INT(used, term_text_width(buffer));
    CHECK(used <= width);
}

TEST(shortening_keeps_both_ends)
{
    check_short("load/parse", 10, "load/parse");
    check_short("load/parse/tokens", 9, "load…kens");
    check_short("abc", 1, "…");
    check_short("読読読読読", 6, "読…読");
    check_short("größe größe", 5, "gr…ße");
}

TEST(lines_break_at_the_last_blank_that_fits)
{
    CHECK_INT(term_line("one two three", 20), 13);
    CHECK_INT(term_line("one two three", 7), 7);
    CHECK_INT(term_line("one two three", 6), 3);
    CHECK_INT(term_line("one     two", 9), 3);
    CHECK_INT(term_line("took 57 % of it", 8), 4);
    CHECK_INT(term_line("took 57.7 ms", 10), 4);
    CHECK_INT(term_line("took 57 more", 10), 7);
    CHECK_INT(term_line("a_word_without_any", 6), 6);
    CHECK_INT(term_line("größe über", 6), 7);
    CHECK_INT(term_line("", 6), 0);
    CHECK_INT(term_line("読む", 1), 3);
}

TEST(control_characters_do_not_pass)
{
    check_short("a\033[31mb\n", 20, "a\\e[31mb\\n");
    check_short("\001\177\t", 20, "\\x01\\x7f\\t");
    check_short("abc\ndef", 5, "ab…ef");
    check_short("a\n\nb", 5, "a…b"); /* an escape is never split */
    CHECK_INT(term_text_width("a\nb\001"), 8);
    check_short("x\xc2\x9bz", 20, "x?z");
    check_short("\xe2\x80\xaeright", 20, "?right");
    check_short("bad \xff end", 20, "bad ? end");
    check_short("a\xed\xa0\x80", 20, "a???");
}

TEST(a_pipe_has_no_width_and_no_colour)
{
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    unsetenv("COLUMNS");
    CHECK_INT(term_width(ends[1]), 0);
    CHECK(!term_color(ends[1], NULL));
    CHECK(term_color(ends[1], "always"));
    CHECK(!term_color(ends[1], "auto"));
    setenv("COLUMNS", "57", 1);
    CHECK_INT(term_width(ends[1]), 57);
    setenv("COLUMNS", "3", 1);
    CHECK_INT(term_width(ends[1]), 0);
    close(ends[0]);
    close(ends[1]);
}

TEST(no_color_is_respected_on_a_terminal)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        test_skip("no pseudo terminals here");
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    CHECK(term_color(terminal, NULL));
    CHECK(!term_color(terminal, "never"));
    setenv("NO_COLOR", "1", 1);
    CHECK(!term_color(terminal, NULL));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    CHECK(!term_color(terminal, NULL));
    close(terminal);
    close(master);
}

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
