/* SPDX-License-Identifier: MIT */
/* Prints a comparison (compare/compare.h) for `annot diff` and `annot stat`: its tables, limits and
 * their judgements. Main thread only. */
#ifndef ANNOT_COMPARE_PRINT_H
#define ANNOT_COMPARE_PRINT_H

#include "compare.h"
#include "compare_limit.h"
#include "compare_variants.h"
#include "options.h"

struct compare_values {
    struct option_list limits;
    uint64_t limit;
    const char *color;
    bool json, csv, all, wide, undecided;
};

/* Entries of an option table; `at` is the offset of the struct compare_values, `letter` that of
 * --limit, or 0. */
#define COMPARE_OPTIONS(at, letter)                                                                \
    {"fail-if",   0,                                                                               \
     OPTION_LIST, (at) + offsetof(struct compare_values, limits),                                  \
     "LIMIT",     "exit with 1 if this is surely so: 'load > +5%', 'function:parse self > 3ms'",   \
     NULL},                                                                                        \
        {"undecided", 0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct compare_values, undecided),                           \
         NULL,        "exit with 3 if a --fail-if may be so, but not surely",                      \
         NULL},                                                                                    \
        {"limit",      (letter),                                                                   \
         OPTION_COUNT, (at) + offsetof(struct compare_values, limit),                              \
         "N",          "rows per table (default: as many as one screen has; with --all, all)",     \
         NULL},                                                                                    \
        COMPARE_OUTPUT_OPTIONS(at)

#define COMPARE_OUTPUT_OPTIONS(at)                                                                 \
    {"all",       'a',                                                                             \
     OPTION_FLAG, (at) + offsetof(struct compare_values, all),                                     \
     NULL,        "all tables, with intervals and verdicts, after the first screen",               \
     NULL},                                                                                        \
        {"json",      'j',                                                                         \
         OPTION_FLAG, (at) + offsetof(struct compare_values, json),                                \
         NULL,        "one JSON object with all rows, times in nanoseconds",                       \
         NULL},                                                                                    \
        {"csv",       0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct compare_values, csv),                                 \
         NULL,        "all rows of all tables as comma-separated values",                          \
         NULL},                                                                                    \
        {"color",                                                                                  \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         (at) + offsetof(struct compare_values, color),                                            \
         "auto|always|never",                                                                      \
         "colours (default: auto, on a terminal unless NO_COLOR is set)",                          \
         NULL},                                                                                    \
    {                                                                                              \
        "wide", 'w', OPTION_FLAG, (at) + offsetof(struct compare_values, wide), NULL,              \
            "all columns and whole names, whatever the terminal's width", NULL                     \
    }

enum compare_status { COMPARE_STATUS_UNDECIDED = 3 };

struct compare_limits {
    struct compare_limit items[OPTION_LIST_MAX];
    uint32_t count;
};

/* Checks the syntax of the limits before anything runs. CMD_OK, or the exit status after a printed
 * message. */
int compare_check(const struct compare_values *values, struct compare_limits *ret_limits);

/* Further output of `annot stat`. */
struct compare_extra {
    const char *head;       /* lines that replace the comparison if there is no side B; or "" */
    const char *notes;      /* lines at the end */
    struct table *sides;    /* compare_side_table of each variant */
    unsigned side_count;    /* 1: without a side B */
    struct table *variants; /* NULL: two recordings, or one variant */
    const struct compare_variant *rows; /* the rows of `variants` */
};

/* Call after compare_finish of each pair (the first variant with one of the others); `extra` NULL:
 * a single pair. Returns the exit status. */
int compare_print(struct compare **pairs, size_t count, const struct compare_values *values,
                  const struct compare_limits *limits, const struct compare_extra *extra);

/* ---- Words, by compare_print_words.c ---- */

/* Prints the result of a pair in words to standard output: the sides, the change of the whole, its
 * certainty; compare_print_notes prints the lines below the `tables` tables of the first screen. */
void compare_print_result(const struct compare *compare, unsigned width, bool color);
void compare_print_notes(const struct compare *compare, unsigned width, size_t tables);

/* For several variants: prints the fastest; the notes below their table. */
void compare_print_fastest(const struct compare_variant *variants, size_t count, unsigned width,
                           bool color);
void compare_print_variant_notes(const struct compare_variant *variants, size_t count,
                                 unsigned width);

/* Prints outliers among the runs. */
void compare_print_outliers(const struct compare *compare, unsigned width);

#endif
