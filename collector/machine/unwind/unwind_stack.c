/* SPDX-License-Identifier: MIT */
/* One round per frame: finds the mapping, the rule, the end of the frame (CFA), and the caller's
 * registers. A return address may lie after the last byte of its function, so callers are looked up
 * one byte earlier; the first frame and code interrupted by a signal are not. Signal frame: struct
 * ucontext_t of x86-64 Linux at the stack pointer. */
#include "unwind_stack.h"

enum { SIGNAL_RBP = 0x78, SIGNAL_RBX = 0x80, SIGNAL_RSP = 0xa0, SIGNAL_RIP = 0xa8 };

struct walk {
    const struct unwind_request *request;
    struct unwind_registers at;
    bool exact; /* at.rip is an executed instruction, not a return address */
};

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *ret_value)
{
    return walk->request->read(walk->request->context, address, ret_value);
}

static uint64_t plus(uint64_t base, int32_t offset)
{
    return base + (uint64_t)(int64_t)offset;
}

/* STACK_NOT_WALKED: *ret_cfa is set; else the reason why not. */
static enum stack_end find_cfa(const struct walk *walk, const struct unwind_rule *rule,
                               uint64_t *ret_cfa)
{
    const struct unwind_registers *at = &walk->at;
    switch (rule->cfa) {
    case UNWIND_CFA_PLT:
        *ret_cfa = at->rsp + 8 + ((at->rip & 15) >= (uint64_t)rule->cfa_offset ? 8 : 0);
        return STACK_NOT_WALKED;
    case UNWIND_CFA_RSP:
    case UNWIND_CFA_RSP_DEREF:
        *ret_cfa = plus(at->rsp, rule->cfa_offset);
        break;
    case UNWIND_CFA_RBP:
    case UNWIND_CFA_RBP_DEREF:
        if (walk->at.rbp_lost)
            return STACK_NO_REGISTER;
        *ret_cfa = plus(at->rbp, rule->cfa_offset);
        break;
    case UNWIND_CFA_SCRATCH:
        if (!walk->at.scratch_known || rule->scratch >= UNWIND_SCRATCH_COUNT)
            return STACK_NO_REGISTER;
        *ret_cfa = plus(at->scratch[rule->scratch], rule->cfa_offset);
        break;
    case UNWIND_CFA_RBX:
        if (walk->at.rbx_lost)
            return STACK_NO_REGISTER;
        *ret_cfa = plus(at->rbx, rule->cfa_offset);
        break;
    default:
        return STACK_NO_RULE;
    }
    if (rule->cfa != UNWIND_CFA_RSP_DEREF && rule->cfa != UNWIND_CFA_RBP_DEREF)
        return STACK_NOT_WALKED;
    if (!read_word(walk, *ret_cfa, ret_cfa))
        return STACK_FAULT;
    *ret_cfa = plus(*ret_cfa, rule->cfa_add);
    return STACK_NOT_WALKED;
}

/* A callee-saved register of the caller. */
struct saved {
    uint8_t how; /* enum unwind_save */
    int32_t offset;
    uint64_t *value;
    bool *lost;
};

static bool restore(const struct walk *walk, const struct saved *saved, uint64_t cfa, uint64_t rbp)
{
    if (saved->how == UNWIND_SAVE_SAME)
        return true;
    *saved->lost =
        saved->how == UNWIND_SAVE_LOST || (saved->how == UNWIND_SAVE_RBP && walk->at.rbp_lost);
    if (*saved->lost)
        return true;
    uint64_t place = plus(saved->how == UNWIND_SAVE_CFA ? cfa : rbp, saved->offset);
    if (place < walk->at.rsp) /* in an epilogue: popped, so the register is already restored */
        return true;
    return read_word(walk, place, saved->value);
}

static enum stack_end to_caller(struct walk *walk, const struct unwind_rule *rule,
                                uint64_t *ret_cfa)
{
    uint64_t cfa, rip, rbp = walk->at.rbp;
    enum stack_end end = find_cfa(walk, rule, &cfa);
    if (end != STACK_NOT_WALKED)
        return end;
    if (cfa <= walk->at.rsp)
        return STACK_CYCLE;
    *ret_cfa = cfa;
    struct saved rbx_saved = {rule->rbx, rule->rbx_offset, &walk->at.rbx, &walk->at.rbx_lost};
    struct saved rbp_saved = {rule->rbp, rule->rbp_offset, &walk->at.rbp, &walk->at.rbp_lost};
    if (!read_word(walk, cfa - 8, &rip) || !restore(walk, &rbx_saved, cfa, rbp) ||
        !restore(walk, &rbp_saved, cfa, rbp))
        return STACK_FAULT;
    walk->at.rip = rip;
    walk->at.rsp = cfa;
    walk->exact = false;
    return STACK_NOT_WALKED;
}

static enum stack_end to_interrupted(struct walk *walk)
{
    uint64_t frame = walk->at.rsp;
    if (!read_word(walk, frame + SIGNAL_RBP, &walk->at.rbp) ||
        !read_word(walk, frame + SIGNAL_RBX, &walk->at.rbx) ||
        !read_word(walk, frame + SIGNAL_RSP, &walk->at.rsp) ||
        !read_word(walk, frame + SIGNAL_RIP, &walk->at.rip))
        return STACK_FAULT;
    walk->at.rbp_lost = walk->at.rbx_lost = false;
    walk->at.scratch_known =
        false; /* they are in the frame too, but the BPF program has no time to read them */
    walk->exact = true;
    return STACK_NOT_WALKED;
}

/* Code without a table: rbp points at the saved rbp, followed by the return address. 0 marks the
 * outermost frame (System V ABI, AMD64 supplement, 3.4.1), if reached from a callee. */
static enum stack_end by_frame_pointer(struct walk *walk, uint64_t *ret_cfa)
{
    uint64_t rbp = walk->at.rbp;
    if (rbp == 0 && !walk->at.rbp_lost && !walk->exact)
        return STACK_COMPLETE;
    if (walk->at.rbp_lost || rbp < walk->at.rsp || rbp % 8 != 0 ||
        !read_word(walk, rbp + 8, &walk->at.rip) || !read_word(walk, rbp, &walk->at.rbp))
        return STACK_FRAME_POINTER;
    *ret_cfa = walk->at.rsp = rbp + 16;
    walk->at.rbx_lost = true;
    walk->at.scratch_known = false;
    walk->exact = false;
    return STACK_NOT_WALKED;
}

static enum stack_end step(struct walk *walk, uint64_t *ret_cfa)
{
    struct unwind_place place = {0};
    uint64_t address = walk->at.rip - (walk->exact ? 0 : 1);
    if (!walk->request->find(walk->request->context, address, &place))
        return STACK_NO_MAPPING;
    if (place.missing)
        return STACK_NO_FILE;
    if (!place.table)
        return by_frame_pointer(walk, ret_cfa);
    const struct unwind_rule *rule = unwind_table_find(place.table, address - place.bias);
    if (!rule)
        return STACK_NO_RULE;
    if (rule->cfa == UNWIND_CFA_END)
        return STACK_COMPLETE;
    if (rule->cfa == UNWIND_CFA_SIGNAL)
        return to_interrupted(walk);
    return to_caller(walk, rule, ret_cfa);
}

uint32_t unwind_stack(const struct unwind_request *request, struct unwind_frame *frames,
                      uint32_t size, enum stack_end *ret_end)
{
    struct walk walk = {.request = request, .at = request->registers, .exact = true};
    for (uint32_t count = 0; count < size; count++) {
        frames[count] = (struct unwind_frame){.address = walk.at.rip};
        *ret_end = step(&walk, &frames[count].cfa);
        if (*ret_end != STACK_NOT_WALKED)
            return count + 1;
    }
    *ret_end = STACK_DEPTH;
    return size;
}
