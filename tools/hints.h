/* SPDX-License-Identifier: MIT */
/* Maps words of other profilers to annot's equivalent: the hint after "unknown option" and "unknown
 * command". Thread-safety: none needed. */
#ifndef ANNOT_HINTS_H
#define ANNOT_HINTS_H

#include <stddef.h>

/* One entry. `words` without dashes, separated by '|'. `command`: NULL: the words are commands;
 * "*": options of any command; "a|b": options of these; "COMMAND OPTION": choices of that
 * option. */
struct hint {
    const char *command, *words, *text;
};

/* The table, for a test that all commands and options in hints exist. */
extern const struct hint hint_table[];
extern const size_t hint_count;

/* The hint for an option of a command, with its dashes, or for a command (`command` NULL). NULL: no
 * hint. */
const char *hint_find(const char *command, const char *word);

/* The same for a misspelt word, with at most two wrong letters. */
const char *hint_find_near(const char *command, const char *word);

/* The hint for an unknown choice of an option, as in options.choice. NULL: no hint. */
const char *hint_find_choice(const char *command, const char *choice);

/* The hint for a word in the command's place that is a file or a process number. Written to
 * `buffer`, which is returned; NULL: no hint. */
const char *hint_for_operand(const char *word, char *buffer, size_t size);

#endif
