/* SPDX-License-Identifier: MIT */
/* The name of a recording whose user gave none. Thread-safety: none needed. */
#ifndef ANNOT_OUTPUT_NAME_H
#define ANNOT_OUTPUT_NAME_H

#include <stddef.h>

/* NAME-YYYYmmdd-HHMMSS.annot in the present directory, with a number if that exists; `name` is
 * what was recorded, of which the last part of a path counts. */
void output_name(const char *name, char *buffer, size_t size);

#endif
