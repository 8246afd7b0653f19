/* SPDX-License-Identifier: MIT */
/* Words of other profilers, and what does the same here: the hint behind "unknown option" and
 * "unknown command". Thread-safety: none needed. */
#ifndef ANNOT_HINTS_H
#define ANNOT_HINTS_H

#include <stddef.h>

/* One entry. `words` without dashes, parted by '|'; `command` NULL: they are commands themselves,
 * "*": options of any command, else options of these, parted by '|'. "COMMAND OPTION": they are
 * given as that option's choice. */
struct hint {
    const char *command, *words, *text;
};

/* The table, for the test that each hint names commands and options that exist. */
extern const struct hint hint_table[];
extern const size_t hint_count;

/* For an option of a command with its dashes; or for a command (`command` NULL). NULL: no hint. */
const char *hint_find(const char *command, const char *word);

/* The same for a word that is misspelt, by two letters at most. */
const char *hint_find_near(const char *command, const char *word);

/* For a word that is no choice of an option, as options.choice has it. NULL: no hint. */
const char *hint_find_choice(const char *command, const char *choice);

/* For something that is not a command but says what is wanted: a file, a process number. Into
 * `buffer`, which is returned; NULL: no hint. */
const char *hint_for_operand(const char *word, char *buffer, size_t size);

#endif
