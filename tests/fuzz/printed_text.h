/* SPDX-License-Identifier: MIT */
/* What commands print to the standard output while a fuzzer runs them. It must be text: UTF-8, and
 * no control characters but line ends and tabs. Messages go nowhere, those of sanitizers do not.
 * One thread. */
#ifndef ANNOT_TEST_PRINTED_TEXT_H
#define ANNOT_TEST_PRINTED_TEXT_H

/* From here on, the standard output is a file in memory, which is empty at the begin of each
 * command. */
void printed_text_begin(void);

/* Looks at what the command printed, and empties it. Aborts if it is no text. */
void printed_text_check(const char *command);

/* The same of a recording that lasts for a moment: aborts as well at a duration below 0, which is
 * 2^64 nanoseconds without a sign. */
void printed_text_check_short(const char *command);

/* The standard output is as before. */
void printed_text_end(void);

#endif
