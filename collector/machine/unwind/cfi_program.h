/* SPDX-License-Identifier: MIT */
/* Runs call frame instructions, and reports a state per range of code. DWARF 5, sections 6.4.2 and
 * 6.4.3. Thread-safety: stateless. */
#ifndef ANNOT_CFI_PROGRAM_H
#define ANNOT_CFI_PROGRAM_H

#include "cfi_index.h"

#include <stdbool.h>
#include <stdint.h>

struct cfi_run {
    struct cfi_reader program;
    uint64_t program_address; /* of its first byte, for DW_CFA_set_loc */
    uint64_t begin, end;      /* of the code */
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding;
    const struct cfi_state *initial; /* NULL: the program of a CIE itself */
    /* The state is valid from `address` on; addresses rise. */
    void (*row)(void *context, uint64_t address, const struct cfi_state *state);
    void *context;
};

/* Changes *state step by step. false: an unknown or truncated instruction; the rows so far are
 * valid, the code from *ret_address on is unknown. */
bool cfi_run(struct cfi_run *run, struct cfi_state *state, uint64_t *ret_address);

#endif
