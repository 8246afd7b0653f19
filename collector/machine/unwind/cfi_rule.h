/* SPDX-License-Identifier: MIT */
/* Converts a state of call frame information to a rule for the unwinders.
 * Thread-safety: pure function. */
#ifndef ANNOT_CFI_RULE_H
#define ANNOT_CFI_RULE_H

#include "cfi_state.h"
#include "unwind_rule.h"

#include <stdbool.h>

/* `signal`: the code is the return from a signal handler (augmentation 'S'). */
struct unwind_rule cfi_rule_of(const struct cfi_state *state, bool signal);

#endif
