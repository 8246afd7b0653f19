/* SPDX-License-Identifier: MIT */
/* Text widths and shortening: what a table needs to stay a table. */
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

TEST(control_characters_do_not_pass)
{
    check_short("a\033[31mb\n", 20, "a\\e[31mb\\n");
    check_short("\001\177\t", 20, "\\x01\\x7f\\t");
    check_short("abc\ndef", 5, "ab…ef");
    check_short("a\n\nb", 5, "a…b"); /* no half of an escape */
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
    CHECK(!term_color(ends[1]));
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
    CHECK(term_color(terminal));
    setenv("NO_COLOR", "1", 1);
    CHECK(!term_color(terminal));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    CHECK(!term_color(terminal));
    close(terminal);
    close(master);
}
