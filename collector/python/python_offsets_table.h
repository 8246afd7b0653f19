/* SPDX-License-Identifier: MIT */
/* Layouts of interpreters: those written down here, and those that 3.13 and later tell of
 * themselves. Thread-safety: none needed. */
#ifndef ANNOT_PYTHON_OFFSETS_TABLE_H
#define ANNOT_PYTHON_OFFSETS_TABLE_H

#include "python_offsets.h"

#include <stddef.h>

/* Of a release build with a GIL. `version`: PY_VERSION_HEX >> 16. NULL: not in the table. */
const struct python_offsets *python_offsets_table(uint32_t version);

enum { PYTHON_DEBUG_OFFSETS_SIZE = 96 * 8 }; /* of the largest that is known */

/* From the bytes at _PyRuntime, foreign. 0, -EBADMSG (no such structure, or it contradicts itself),
 * -ENOTSUP (of a version whose structure is not known; then *ret_version tells which). */
int python_offsets_debug(const uint8_t *bytes, size_t size, struct python_offsets *ret_offsets,
                         uint32_t *ret_version);

/* Whether no offset is beyond what such structures can have. */
int python_offsets_check(const struct python_offsets *offsets);

#endif
