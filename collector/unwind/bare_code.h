/* SPDX-License-Identifier: MIT */
/* Rules for code that nothing describes, where it is simple enough to be followed instruction by
 * instruction: stubs of procedure linkage tables, the functions that compilers add to begin and end
 * a module, plain assembly. Thread-safety: pure function. */
#ifndef ANNOT_BARE_CODE_H
#define ANNOT_BARE_CODE_H

#include "unwind_rule.h"

#include <stddef.h>

enum { BARE_ROWS_MAX = 256 };

struct bare_row {
    uint32_t offset; /* from the first byte; holds until the next row */
    struct unwind_rule rule;
};

/* `bytes`, at `address`, is all code between two described functions: it begins with a function, or
 * with padding.
 * The rows of those that were understood, unknown ones between and behind them; nothing is said of
 * code behind one that was not. Returns their number. */
size_t bare_code_rows(const uint8_t *bytes, size_t size, uint64_t address,
                      struct bare_row rows[BARE_ROWS_MAX]);

/* How often functions that keep a frame pointer begin in these bytes. */
size_t bare_code_frames(const uint8_t *bytes, size_t size);

#endif
