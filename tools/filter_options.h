/* SPDX-License-Identifier: MIT */
/* The options --enable, --disable and --functions of `record`, `attach` and `set`: from the command
 * line to the rules that a session has (docs/wire-format.md, "Filters"). Thread-safety: none
 * needed, no globals. */
#ifndef ANNOT_FILTER_OPTIONS_H
#define ANNOT_FILTER_OPTIONS_H

#include "options.h"

enum { FILTER_TEXT_SIZE = 241 };

/* Lines of an option table; `at` is the offset of the struct option_list. */
#define FILTER_OPTIONS(at)                                                                         \
    {"enable",                                                                                     \
     0,                                                                                            \
     OPTION_LIST,                                                                                  \
     (at),                                                                                         \
     "NAME[:LEVEL],...",                                                                           \
     "record only events of these domains or domain/categories",                                   \
     NULL},                                                                                        \
        {"disable", 0, OPTION_LIST, (at), "NAME,...", "exclude events of these", NULL},            \
    {                                                                                              \
        "functions", 0, OPTION_LIST, (at), "NAME,-NAME,...",                                       \
            "record calls of these instrumented functions, not of -NAME", NULL                     \
    }

/* Adds what was given, in its order, to the rules in `text`; a rule about the same pattern replaces
 * the one that was there. 0, or a message was printed: returns `status`. */
int filter_options_add(const struct option_list *list, int status, char text[FILTER_TEXT_SIZE]);

/* Adds one rule, "+io:2" or "-io/disk". Events are judged as if it stood behind the others. 0 or
 * -E2BIG, then nothing has changed. */
int filter_text_add(char text[FILTER_TEXT_SIZE], const char *rule, size_t length);

#endif
