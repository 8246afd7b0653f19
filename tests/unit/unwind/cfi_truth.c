/* SPDX-License-Identifier: MIT */
/* Translates libdw's location descriptions (lists of DWARF operations). */
#include "cfi_truth.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { RBX = 3, RBP = 6, RSP = 7, RETURN = 16 };

struct cfi_truth {
    int fd;
    Elf *elf;
    Dwarf_CFI *cfi;
};

struct cfi_truth *cfi_truth_open(const char *path)
{
    struct cfi_truth *truth = calloc(1, sizeof(*truth));
    if (!truth)
        abort();
    elf_version(EV_CURRENT);
    truth->fd = open(path, O_RDONLY | O_CLOEXEC);
    truth->elf = elf_begin(truth->fd, ELF_C_READ, NULL);
    truth->cfi = truth->elf ? dwarf_getcfi_elf(truth->elf) : NULL;
    if (truth->cfi)
        return truth;
    cfi_truth_close(truth);
    return NULL;
}

void cfi_truth_close(struct cfi_truth *truth)
{
    if (truth->cfi)
        dwarf_cfi_end(truth->cfi);
    elf_end(truth->elf);
    close(truth->fd);
    free(truth);
}

/* register + offset; false: another kind of operation. */
static bool is_register(const Dwarf_Op *op, uint64_t *number, int64_t *offset)
{
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        *number = (uint64_t)op->atom - DW_OP_breg0;
        *offset = (int64_t)op->number;
        return true;
    }
    *number = op->number;
    *offset = (int64_t)op->number2;
    return op->atom == DW_OP_bregx;
}

static bool is_plt(const Dwarf_Op *ops, size_t count, struct unwind_rule *rule)
{
    static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
                                    DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
    if (count != sizeof(atoms))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (i != 4 && ops[i].atom != atoms[i])
            return false;
    }
    rule->cfa = UNWIND_CFA_PLT;
    rule->cfa_offset = ops[4].atom - DW_OP_lit0;
    return ops[0].number == 8 && ops[1].number == 0;
}

static bool cfa_of(Dwarf_Frame *frame, bool signal, struct unwind_rule *rule)
{
    Dwarf_Op *ops;
    size_t count;
    uint64_t number;
    int64_t offset;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0)
        return false;
    if (is_plt(ops, count, rule))
        return true;
    if (!is_register(&ops[0], &number, &offset) || count > 3)
        return false;
    rule->cfa_offset = (int32_t)offset;
    if (count == 1) {
        rule->cfa = number == RSP   ? UNWIND_CFA_RSP
                    : number == RBP ? UNWIND_CFA_RBP
                                    : UNWIND_CFA_RBX;
        if (number == 0 || (number >= 9 && number <= 11)) {
            rule->cfa = UNWIND_CFA_SCRATCH;
            rule->scratch = number ? (uint8_t)(number - 8) : 0;
            return true;
        }
        return number == RSP || number == RBP || number == RBX;
    }
    if (ops[1].atom != DW_OP_deref || (count == 3 && ops[2].atom != DW_OP_plus_uconst))
        return false;
    rule->cfa_add = count == 3 ? (int32_t)ops[2].number : 0;
    rule->cfa = number == RSP ? UNWIND_CFA_RSP_DEREF : UNWIND_CFA_RBP_DEREF;
    if (signal && number == RSP)
        *rule = (struct unwind_rule){.cfa = UNWIND_CFA_SIGNAL};
    return number == RSP || number == RBP;
}

static uint8_t save_of(Dwarf_Frame *frame, int number, const struct unwind_rule *rule,
                       int32_t *ret_offset)
{
    Dwarf_Op memory[3], *ops;
    size_t count;
    uint64_t base;
    int64_t offset = 0;
    *ret_offset = 0;
    if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0)
        return UNWIND_SAVE_LOST;
    if (count == 0) /* "same value", or undescribed: libdw reports RBP as undefined then */
        return UNWIND_SAVE_SAME;
    bool from_cfa = ops[0].atom == DW_OP_call_frame_cfa;
    if (from_cfa && (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst))) {
        *ret_offset = count == 2 ? (int32_t)ops[1].number : 0;
        return UNWIND_SAVE_CFA;
    }
    size_t first = from_cfa; /* the first operation of expressions */
    if (count != first + 1 || !is_register(&ops[first], &base, &offset))
        return UNWIND_SAVE_LOST;
    *ret_offset = (int32_t)offset;
    if (base == RSP && rule->cfa == UNWIND_CFA_RSP) {
        *ret_offset -= rule->cfa_offset;
        return UNWIND_SAVE_CFA;
    }
    if (base == RBP && rule->cfa == UNWIND_CFA_RBP) {
        *ret_offset -= rule->cfa_offset;
        return UNWIND_SAVE_CFA;
    }
    return base == RBP ? UNWIND_SAVE_RBP : UNWIND_SAVE_LOST;
}

static bool rule_of(Dwarf_Frame *frame, struct unwind_rule *rule)
{
    Dwarf_Op memory[3], *ops;
    size_t count;
    bool signal;
    int32_t offset;
    *rule = (struct unwind_rule){0};
    dwarf_frame_info(frame, NULL, NULL, &signal);
    if (dwarf_frame_register(frame, RETURN, memory, &ops, &count) == 0 && count == 0) {
        rule->cfa = UNWIND_CFA_END;
        return true;
    }
    if (!cfa_of(frame, signal, rule))
        return false;
    if (rule->cfa == UNWIND_CFA_SIGNAL)
        return true;
    if (save_of(frame, RETURN, rule, &offset) != UNWIND_SAVE_CFA || offset != -8)
        return false;
    rule->rbx = save_of(frame, RBX, rule, &rule->rbx_offset);
    rule->rbp = save_of(frame, RBP, rule, &rule->rbp_offset);
    if (rule->rbp == UNWIND_SAVE_RBP && rule->cfa == UNWIND_CFA_RSP)
        rule->rbp = rule->rbp_offset = 0; /* omitted by compilers: see unwind_table.c */
    if (rule->rbx == UNWIND_SAVE_LOST)
        rule->rbx_offset = 0;
    if (rule->rbp == UNWIND_SAVE_LOST)
        rule->rbp_offset = 0;
    return true;
}

enum cfi_verdict cfi_truth_rule(struct cfi_truth *truth, uint64_t address,
                                struct unwind_rule *ret_rule)
{
    Dwarf_Frame *frame;
    if (dwarf_cfi_addrframe(truth->cfi, address, &frame) != 0)
        return TRUTH_NONE;
    bool known = rule_of(frame, ret_rule);
    free(frame);
    return known ? TRUTH_RULE : TRUTH_OTHER;
}
