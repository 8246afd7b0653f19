/* SPDX-License-Identifier: MIT */
/* Call frame instructions: run a program and hand out a state per stretch of code. DWARF 5,
 * sections 6.4.1 to 6.4.3. Of the registers only RBX, RBP and the return address are followed.
 * Thread-safety: none needed, no state of its own. */
#ifndef ANNOT_CFI_PROGRAM_H
#define ANNOT_CFI_PROGRAM_H

#include "cfi_reader.h"

/* DWARF's numbers of x86-64 registers (System V ABI, AMD64 supplement, figure 3.36). */
enum { CFI_RBX = 3, CFI_RBP = 6, CFI_RSP = 7, CFI_RETURN = 16 };

enum cfi_how {
    CFI_UNSPECIFIED = 0, /* for a callee-saved register: the caller's value */
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_AT_CFA,   /* in memory at CFA + offset */
    CFI_IS_CFA,   /* is CFA + offset           */
    CFI_REGISTER, /* in another register       */
    CFI_EXPRESSION,
    CFI_VALUE_EXPRESSION,
};

struct cfi_place {
    enum cfi_how how;
    uint32_t expression_size;
    int64_t offset;
    const uint8_t *expression;
};

enum cfi_tracked { CFI_TRACKED_RBX, CFI_TRACKED_RBP, CFI_TRACKED_RETURN, CFI_TRACKED_COUNT };

struct cfi_state {
    uint64_t cfa_register; /* + cfa_offset, unless there is an expression */
    int64_t cfa_offset;
    const uint8_t *cfa_expression; /* NULL: none */
    uint32_t cfa_expression_size;
    bool cfa_known;
    struct cfi_place saved[CFI_TRACKED_COUNT];
};

struct cfi_run {
    struct cfi_reader program;
    uint64_t program_address; /* of its first byte, for DW_CFA_set_loc */
    uint64_t begin, end;      /* of the code */
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding;
    const struct cfi_state *initial; /* NULL: the program of a CIE itself */
    /* From `address` on the state holds; addresses rise. */
    void (*row)(void *context, uint64_t address, const struct cfi_state *state);
    void *context;
};

/* Changes *state step by step. false: an instruction that is unknown or cut off; then the rows so
 * far are right, what comes behind them is not known, and *ret_address is where that begins. */
bool cfi_run(struct cfi_run *run, struct cfi_state *state, uint64_t *ret_address);

#endif
