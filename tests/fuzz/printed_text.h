/* SPDX-License-Identifier: MIT */
/* Captures the standard output of commands that a fuzzer runs. It must be text: UTF-8, with no
 * control characters except line ends and tabs. Messages are discarded, except those of sanitizers.
 * One thread. */
#ifndef ANNOT_TEST_PRINTED_TEXT_H
#define ANNOT_TEST_PRINTED_TEXT_H

/* From here on, the standard output is a file in memory, which is empty at the start of each
 * command. */
void printed_text_begin(void);

/* Checks the output of the command, and empties the file. Aborts if it is not text. */
void printed_text_check(const char *command);

/* The same for a recording of a short time: also aborts at a duration below 0, which appears as
 * 2^64 nanoseconds without a sign. */
void printed_text_check_short(const char *command);

/* Restores the standard output. */
void printed_text_end(void);

#endif
