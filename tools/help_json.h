/* SPDX-License-Identifier: MIT */
/* `annot help --json`: commands and their options for programs. Man pages and the completions of
 * shells are made of it. Thread-safety: none needed, no globals. */
#ifndef ANNOT_HELP_JSON_H
#define ANNOT_HELP_JSON_H

#include "cmd.h"

/* Prints `count` commands of the table. Returns the exit status. */
int help_print_json(const struct cmd *const *commands, size_t count);

#endif
