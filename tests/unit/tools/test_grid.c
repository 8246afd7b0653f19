/* SPDX-License-Identifier: MIT */
/* The grid as seen on a terminal. Its output is captured through a pipe. */
#include "term.h"
#include "test.h"

#include <stdio.h>
#include <unistd.h>

static const struct grid_column columns[] = {
    {"path", 0, true}, {"count", 0, false}, {"mean", 2, false}, {"note", 1, true}};

static struct grid *table;
static char printed[4096];
static size_t hidden;

static void fill(void)
{
    static const char *const cells[] = {
        "load", "1", "2 ms", "x", "a/very/long/path/of/many/names", "20", "300 ms", ""};
    table = grid_create(columns, 4);
    CHECK(table);
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
        grid_add(table, cells[i]);
}

static void print(size_t width)
{
    int ends[2], saved = dup(STDOUT_FILENO);
    fflush(stdout);
    CHECK_INT(pipe(ends), 0);
    CHECK(saved >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0);
    close(ends[1]);
    int rc = grid_print(table, width, false, &hidden);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    ssize_t length = read(ends[0], printed, sizeof(printed) - 1);
    close(ends[0]);
    CHECK_INT(rc, 0);
    CHECK(length > 0);
    printed[length] = '\0';
    grid_destroy(table);
}

TEST(without_a_width_nothing_is_cut)
{
    fill();
    print(0);
    CHECK_STR(printed, "path                            count    mean  note\n"
                       "load                                1    2 ms  x\n"
                       "a/very/long/path/of/many/names     20  300 ms\n");
    CHECK_INT(hidden, 0);
}

TEST(a_column_that_fills_is_cut_before_the_first_one_and_after_what_is_less_wanted)
{
    static const struct grid_column sources[] = {
        {"line", 0, true}, {"time", 0, false}, {"hits", 3, false}, {"source", 1, true}};

    static const char *const cells[] = {"a/path/longer/than/that.py:7", "2 ms", "1",
                                        "return [one for one in many]"};
    table = grid_create(sources, 4);
    CHECK(table);
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
        grid_add(table, cells[i]);
    grid_let_fill(table, 3);
    print(56);
    CHECK_STR(printed, "line                          time  source\n"
                       "a/path/longer/than/that.py:7  2 ms  return [one for one\xe2\x80\xa6\n");
    CHECK_INT(hidden, 1);
}

TEST(the_first_column_shrinks_before_others_go)
{
    fill();
    print(45);
    CHECK_STR(printed, "path                      count    mean  note\n"
                       "load                          1    2 ms  x\n"
                       "a/very/long…f/many/names     20  300 ms\n");
    CHECK_INT(hidden, 0);
}

TEST(the_least_wanted_columns_go_first)
{
    fill();
    print(44);
    CHECK_STR(printed, "path                            count  note\n"
                       "load                                1  x\n"
                       "a/very/long/path/of/many/names     20\n");
    CHECK_INT(hidden, 1);
    fill();
    print(32);
    CHECK_STR(printed, "path                       count\n"
                       "load                           1\n"
                       "a/very/long/…f/many/names     20\n");
}

TEST(every_line_fits_every_width)
{
    for (size_t width = 31; width < 70; width++) {
        fill();
        print(width);
        for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n")) {
            CHECK(term_text_width(line) <= width);
            CHECK(line[strlen(line) - 1] != ' ');
        }
    }
}

TEST(the_first_column_keeps_its_limit_where_there_is_room)
{
    fill();
    grid_limit_first(table, 13);
    print(0);
    CHECK_STR(printed, "path           count    mean  note\n"
                       "load               1    2 ms  x\n"
                       "a/very…/names     20  300 ms\n");
}

TEST(an_empty_table_is_its_titles)
{
    table = grid_create(columns, 4);
    print(0);
    CHECK_STR(printed, "path  count  mean  note\n");
}
