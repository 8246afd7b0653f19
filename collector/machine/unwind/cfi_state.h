/* SPDX-License-Identifier: MIT */
/* The state described by call frame instructions: the places of the caller's registers. DWARF 5,
 * section 6.4.1. Of the registers only RBX, RBP and the return address are tracked.
 * Thread-safety: values. */
#ifndef ANNOT_CFI_STATE_H
#define ANNOT_CFI_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* DWARF's numbers of x86-64 registers (System V ABI, AMD64 supplement, figure 3.36). */
enum { CFI_RBX = 3, CFI_RBP = 6, CFI_RSP = 7, CFI_RETURN = 16 };

enum cfi_how {
    CFI_UNSPECIFIED = 0, /* for a callee-saved register: the caller's value */
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_AT_CFA,   /* in memory at CFA + offset */
    CFI_IS_CFA,   /* is CFA + offset */
    CFI_REGISTER, /* in another register */
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
    const uint8_t *cfa_expression; /* NULL: not an expression */
    uint32_t cfa_expression_size;
    bool cfa_known;
    struct cfi_place saved[CFI_TRACKED_COUNT];
};

#endif
