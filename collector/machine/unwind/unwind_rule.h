/* SPDX-License-Identifier: MIT */
/* Rules to find the caller of a place in machine code: a row gives the address from which a rule
 * applies. Shared by the table builder, the user-space unwinder and the BPF program, so fixed-width
 * integers only.
 *
 * From DWARF 5, section 6.4, as used by .eh_frame (LSB core 10.6), reduced to the cases in x86-64
 * code: the return address lies at CFA - 8; of the callee-saved registers only RBP and RBX can be
 * needed to compute a CFA. Thread-safety: plain data. */
#ifndef ANNOT_UNWIND_RULE_H
#define ANNOT_UNWIND_RULE_H

#include "stack_end.h"

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
#else
#include <stdint.h>
#endif

/* Sorted by address; a row applies until the next one. Addresses are the module's (before its load
 * bias); modules with code spanning more than 4 GiB are refused. */
struct unwind_row {
    uint32_t address; /* minus unwind_table.base */
    uint32_t rule;    /* index; in a module's table: local, in the BPF map: global */
};

enum unwind_cfa {
    UNWIND_CFA_UNKNOWN = 0,   /* no description: code without .eh_frame, or an unsupported one */
    UNWIND_CFA_RSP = 1,       /* rsp + cfa_offset */
    UNWIND_CFA_RBP = 2,       /* rbp + cfa_offset */
    UNWIND_CFA_RBX = 3,       /* rbx + cfa_offset */
    UNWIND_CFA_RSP_DEREF = 4, /* *(rsp + cfa_offset) + cfa_add */
    UNWIND_CFA_RBP_DEREF = 5, /* *(rbp + cfa_offset) + cfa_add */
    UNWIND_CFA_PLT = 6,       /* rsp + 8 + ((rip & 15) >= cfa_offset ? 8 : 0) */
    UNWIND_CFA_SIGNAL = 7,    /* rt_sigreturn trampoline: the interrupted registers lie in the
                                 ucontext at rsp: rbp + 0x78, rbx + 0x80, rsp + 0xa0, rip + 0xa8 */
    UNWIND_CFA_END = 8,       /* the return address is undefined: the outermost frame */
    UNWIND_CFA_SCRATCH =
        9, /* a register that calls need not keep + cfa_offset; with its value in the first frame:
              code with such a CFA calls only functions that keep it */
};

/* The scratch register. Assembly keeps the stack pointer in one while it aligns its frame, or all
 * the time; compilers for a few instructions (DRAP). */
enum unwind_scratch {
    UNWIND_SCRATCH_RAX = 0,
    UNWIND_SCRATCH_R9 = 1,
    UNWIND_SCRATCH_R10 = 2,
    UNWIND_SCRATCH_R11 = 3,
    UNWIND_SCRATCH_COUNT = 4,
};

enum unwind_save {
    UNWIND_SAVE_SAME = 0, /* the register still has the caller's value */
    UNWIND_SAVE_CFA = 1,  /* at CFA + offset */
    UNWIND_SAVE_RBP = 2,  /* at rbp + offset (DRAP frames), rbp of this frame */
    UNWIND_SAVE_LOST = 3, /* unknown */
};

struct unwind_rule {
    uint8_t cfa;      /* enum unwind_cfa */
    uint8_t rbp, rbx; /* enum unwind_save */
    uint8_t scratch;  /* enum unwind_scratch */
    int32_t cfa_offset, cfa_add;
    int32_t rbp_offset, rbx_offset;
};

#endif
