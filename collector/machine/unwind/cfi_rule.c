/* SPDX-License-Identifier: MIT */
/* Expressions are evaluated symbolically: a result of the form "a register + offset", maybe read
 * from memory and added to once more, is a rule; any other is unsupported. Operations: DWARF 5,
 * section 2.5. Linkers describe procedure linkage tables by one special expression, matched by its
 * bytes. */
#include "cfi_rule.h"

#include "cfi_index.h"
#include "cfi_state.h"

enum {
    DW_DEREF = 0x06,
    DW_CONST1U = 0x08, /* 1u 1s 2u 2s 4u 4s 8u 8s */
    DW_CONST8S = 0x0f,
    DW_CONSTU = 0x10,
    DW_CONSTS = 0x11,
    DW_MINUS = 0x1c,
    DW_PLUS = 0x22,
    DW_PLUS_UCONST = 0x23,
    DW_LIT0 = 0x30,
    DW_LIT31 = 0x4f,
    DW_BREG0 = 0x70,
    DW_BREG31 = 0x8f,
    DW_BREGX = 0x92,
};

enum { STACK_MAX = 8, OPERATIONS_MAX = 32, SIGNAL_RSP = 160 };

/* base + offset, or *(base + offset) + add; a base below 0 is not a register. */
enum { BASE_NONE = -1, BASE_CFA = -2 };

struct symbolic {
    int64_t base, offset, add;
    bool loaded;
};

struct evaluator {
    struct cfi_reader reader;
    struct symbolic stack[STACK_MAX];
    unsigned depth;
};

static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void push(struct evaluator *evaluator, int64_t base, int64_t offset)
{
    if (evaluator->depth == STACK_MAX)
        evaluator->reader.failed = true;
    else
        evaluator->stack[evaluator->depth++] = (struct symbolic){.base = base, .offset = offset};
}

static void add_number(struct evaluator *evaluator, int64_t number)
{
    if (evaluator->depth == 0) {
        evaluator->reader.failed = true;
        return;
    }
    struct symbolic *top = &evaluator->stack[evaluator->depth - 1];
    if (top->loaded)
        top->add = sum(top->add, number);
    else
        top->offset = sum(top->offset, number);
}

/* Adds or subtracts the two uppermost values, one of which must be a plain number. */
static void combine(struct evaluator *evaluator, bool minus)
{
    if (evaluator->depth < 2) {
        evaluator->reader.failed = true;
        return;
    }
    struct symbolic *below = &evaluator->stack[evaluator->depth - 2];
    struct symbolic top = evaluator->stack[--evaluator->depth];
    if (top.base == BASE_NONE && !top.loaded) {
        add_number(evaluator, minus ? (int64_t)(0 - (uint64_t)top.offset) : top.offset);
    } else if (below->base == BASE_NONE && !below->loaded && !minus) {
        int64_t number = below->offset;
        *below = top;
        add_number(evaluator, number);
    } else {
        evaluator->reader.failed = true;
    }
}

static void load(struct evaluator *evaluator)
{
    struct symbolic *top = evaluator->depth ? &evaluator->stack[evaluator->depth - 1] : NULL;
    if (!top || top->loaded || top->base == BASE_NONE)
        evaluator->reader.failed = true;
    else
        top->loaded = true;
}

static int64_t constant(struct cfi_reader *reader, uint8_t op)
{
    unsigned size = 1u << ((op - DW_CONST1U) / 2);
    uint64_t value = cfi_number(reader, size);
    unsigned unused = 64 - 8 * size;
    return (op - DW_CONST1U) % 2 ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static void evaluate_one(struct evaluator *evaluator)
{
    struct cfi_reader *reader = &evaluator->reader;
    uint8_t op = (uint8_t)cfi_number(reader, 1);
    if (op >= DW_BREG0 && op <= DW_BREG31) {
        push(evaluator, op - DW_BREG0, cfi_sleb(reader));
    } else if (op >= DW_LIT0 && op <= DW_LIT31) {
        push(evaluator, BASE_NONE, op - DW_LIT0);
    } else if (op >= DW_CONST1U && op <= DW_CONST8S) {
        push(evaluator, BASE_NONE, constant(reader, op));
    } else if (op == DW_CONSTU) {
        push(evaluator, BASE_NONE, (int64_t)cfi_uleb(reader));
    } else if (op == DW_CONSTS) {
        push(evaluator, BASE_NONE, cfi_sleb(reader));
    } else if (op == DW_BREGX) {
        int64_t base = (int64_t)(cfi_uleb(reader) & INT32_MAX);
        push(evaluator, base, cfi_sleb(reader));
    } else if (op == DW_PLUS_UCONST) {
        add_number(evaluator, (int64_t)cfi_uleb(reader));
    } else if (op == DW_PLUS || op == DW_MINUS) {
        combine(evaluator, op == DW_MINUS);
    } else if (op == DW_DEREF) {
        load(evaluator);
    } else {
        reader->failed = true;
    }
}

/* `with_cfa`: expressions of registers begin with the CFA on the stack. */
static bool evaluate(const uint8_t *bytes, uint32_t size, bool with_cfa, struct symbolic *ret_value)
{
    struct evaluator evaluator = {.reader = {bytes, bytes + size, false}};
    if (with_cfa)
        push(&evaluator, BASE_CFA, 0);
    for (int i = 0; i < OPERATIONS_MAX && evaluator.reader.at < evaluator.reader.end; i++) {
        evaluate_one(&evaluator);
        if (evaluator.reader.failed)
            return false;
    }
    if (evaluator.reader.at < evaluator.reader.end || evaluator.depth == 0)
        return false;
    *ret_value = evaluator.stack[evaluator.depth - 1];
    return true;
}

/* breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus. */
static bool is_plt(const uint8_t *bytes, uint32_t size, int32_t *ret_threshold)
{
    static const uint8_t begin[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a}, end[] = {0x2a, 0x33, 0x24, 0x22};
    if (size != sizeof(begin) + 1 + sizeof(end) || memcmp(bytes, begin, sizeof(begin)) != 0 ||
        memcmp(bytes + sizeof(begin) + 1, end, sizeof(end)) != 0)
        return false;
    *ret_threshold = bytes[sizeof(begin)] - DW_LIT0;
    return *ret_threshold >= 0 && *ret_threshold < 16;
}

static bool fits(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* -1: not a register that a rule can use as scratch. */
static int scratch_of(int64_t base)
{
    static const int8_t numbers[UNWIND_SCRATCH_COUNT] = {0, 9, 10, 11};
    for (int i = 0; i < UNWIND_SCRATCH_COUNT; i++) {
        if (numbers[i] == base)
            return i;
    }
    return -1;
}

static void set_cfa_rule(struct unwind_rule *rule, const struct symbolic *value)
{
    uint8_t cfa = UNWIND_CFA_UNKNOWN;
    if (value->base == CFI_RSP)
        cfa = value->loaded ? UNWIND_CFA_RSP_DEREF : UNWIND_CFA_RSP;
    else if (value->base == CFI_RBP)
        cfa = value->loaded ? UNWIND_CFA_RBP_DEREF : UNWIND_CFA_RBP;
    else if (value->base == CFI_RBX && !value->loaded)
        cfa = UNWIND_CFA_RBX;
    else if (scratch_of(value->base) >= 0 && !value->loaded)
        cfa = UNWIND_CFA_SCRATCH;
    if (cfa == UNWIND_CFA_UNKNOWN || !fits(value->offset) || !fits(value->add))
        return;
    rule->cfa = cfa;
    rule->scratch = cfa == UNWIND_CFA_SCRATCH ? (uint8_t)scratch_of(value->base) : 0;
    rule->cfa_offset = (int32_t)value->offset;
    rule->cfa_add = (int32_t)value->add;
}

static struct unwind_rule cfa_of(const struct cfi_state *state, bool signal)
{
    struct unwind_rule rule = {.cfa = UNWIND_CFA_UNKNOWN};
    struct symbolic value = {.base = (int64_t)(state->cfa_register & INT32_MAX),
                             .offset = state->cfa_offset};
    if (!state->cfa_known)
        return rule;
    if (state->cfa_expression) {
        if (is_plt(state->cfa_expression, state->cfa_expression_size, &rule.cfa_offset)) {
            rule.cfa = UNWIND_CFA_PLT;
            return rule;
        }
        if (!evaluate(state->cfa_expression, state->cfa_expression_size, false, &value))
            return rule;
        if (signal && value.base == CFI_RSP && value.loaded && value.offset == SIGNAL_RSP &&
            value.add == 0) {
            rule.cfa = UNWIND_CFA_SIGNAL;
            return rule;
        }
    }
    set_cfa_rule(&rule, &value);
    return rule;
}

/* True if the base is the CFA's own register, so the place is also relative to the CFA. */
static bool relative_to_cfa(const struct unwind_rule *rule, int64_t base)
{
    return (base == CFI_RSP && rule->cfa == UNWIND_CFA_RSP) ||
           (base == CFI_RBP && rule->cfa == UNWIND_CFA_RBP) ||
           (base == CFI_RBX && rule->cfa == UNWIND_CFA_RBX);
}

static uint8_t save_of(const struct cfi_place *place, const struct unwind_rule *rule,
                       int32_t *ret_offset)
{
    struct symbolic value = {.base = BASE_CFA, .offset = place->offset};
    *ret_offset = 0;
    if (place->how == CFI_UNSPECIFIED || place->how == CFI_SAME)
        return UNWIND_SAVE_SAME;
    if (place->how == CFI_EXPRESSION) {
        if (!evaluate(place->expression, place->expression_size, true, &value) || value.loaded)
            return UNWIND_SAVE_LOST;
    } else if (place->how != CFI_AT_CFA) {
        return UNWIND_SAVE_LOST;
    }
    if (relative_to_cfa(rule, value.base)) {
        value.base = BASE_CFA;
        value.offset = sum(value.offset, -(int64_t)rule->cfa_offset);
    }
    if ((value.base != BASE_CFA && value.base != CFI_RBP) || !fits(value.offset))
        return UNWIND_SAVE_LOST;
    *ret_offset = (int32_t)value.offset;
    return value.base == BASE_CFA ? UNWIND_SAVE_CFA : UNWIND_SAVE_RBP;
}

struct unwind_rule cfi_rule_of(const struct cfi_state *state, bool signal)
{
    struct unwind_rule unknown = {.cfa = UNWIND_CFA_UNKNOWN}, end = {.cfa = UNWIND_CFA_END};
    const struct cfi_place *ret = &state->saved[CFI_TRACKED_RETURN];
    if (ret->how == CFI_UNDEFINED)
        return end;
    struct unwind_rule rule = cfa_of(state, signal);
    if (rule.cfa == UNWIND_CFA_SIGNAL)
        return rule;
    int32_t offset;
    if (rule.cfa == UNWIND_CFA_UNKNOWN || ret->how == CFI_UNSPECIFIED || ret->how == CFI_SAME ||
        save_of(ret, &rule, &offset) != UNWIND_SAVE_CFA || offset != -8)
        return unknown;
    rule.rbx = save_of(&state->saved[CFI_TRACKED_RBX], &rule, &rule.rbx_offset);
    rule.rbp = save_of(&state->saved[CFI_TRACKED_RBP], &rule, &rule.rbp_offset);
    if (rule.rbp == UNWIND_SAVE_RBP && rule.cfa == UNWIND_CFA_RSP) {
        /* Compilers leave this rule in force after a realigned frame was removed: before its
         * return. RBP has its old value back. */
        rule.rbp = UNWIND_SAVE_SAME;
        rule.rbp_offset = 0;
    }
    return rule;
}
