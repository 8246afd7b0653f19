/* SPDX-License-Identifier: MIT */
/* The names of outputs. Thread-safety: none needed. */
#ifndef ANNOT_OUTPUT_NAME_H
#define ANNOT_OUTPUT_NAME_H

#include <stddef.h>

/* NAME-YYYYmmdd-HHMMSS.annot in the present directory, with a number if that exists; `name` is
 * what was recorded, of which the last part of a path counts. */
void output_name(const char *name, char *buffer, size_t size);

/* Before anything is done: does the name of an output end as a file of another format does? `mine`:
 * the extension of this command's ("svg"). 0; otherwise the message is out, with what writes or
 * wants that one, and `status` is returned. */
int output_check(const char *output, const char *mine, int status);

#endif
