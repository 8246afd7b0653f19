/* SPDX-License-Identifier: MIT */
/* --policy of the commands that record. Thread-safety: none needed. */
#ifndef ANNOT_POLICY_OPTION_H
#define ANNOT_POLICY_OPTION_H

#include "collector.h"

/* What the word on the command line means; NULL is the default. */
enum collector_policy policy_of(const char *word);

/* A row of an option table; `offset` is that of a const char *. */
#define POLICY_OPTION(offset)                                                                      \
    {                                                                                              \
        "policy", 0, OPTION_CHOICE, (offset), "drop|overwrite|wait",                               \
            "when a program's buffer is full: drop new records, overwrite the oldest (a flight "   \
            "recorder: annot snapshot), or let the program wait",                                  \
            "drop"                                                                                 \
    }

#endif
