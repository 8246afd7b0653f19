/* SPDX-License-Identifier: MIT */
/* What names of tracks have in common: numbers made one.
 *
 * Programs call their tracks "request 4711" or by a UUID; a line for each makes a viewer useless
 * (100,000 lines: minutes to open). Thread-safety: no state. */
#ifndef ANNOT_TRACK_NAMES_H
#define ANNOT_TRACK_NAMES_H

#include <stddef.h>

enum { TRACK_FAMILY_SIZE = 256 };

/* "request 4711" gives "request #": each number becomes "#", and each word of four or more
 * hexadecimal digits with a decimal one among them. Cut at size - 1 bytes, at a character. Returns
 * the length. */
size_t track_family(const char *name, size_t length, char *buffer, size_t size);

#endif
