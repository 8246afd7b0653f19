/* SPDX-License-Identifier: MIT */
/* A command line as one text: the same wherever it comes from, so that equal ones are equal.
 * Thread-safety: pure functions. */
#ifndef ANNOT_COMMAND_TEXT_H
#define ANNOT_COMMAND_TEXT_H

#include <stddef.h>

enum { COMMAND_TEXT_SIZE = 8192 };

/* `arguments` as /proc/PID/cmdline has them: each ends with NUL. At most COMMAND_TEXT_SIZE - 1
 * bytes and NUL; returns the length. */
size_t command_text(const char *arguments, size_t size, char *buffer);

#endif
