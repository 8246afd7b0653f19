/* SPDX-License-Identifier: MIT */
/* Arguments of functions, as debug information tells them: names, types, and where they are when
 * the function begins.
 *
 * A list of places tells that for the entry. One place for the whole function is where code without
 * optimisation has stored the argument by then, which at the entry it has not: there the calling
 * convention decides. Source: DWARF 5, sections 2.5, 2.6 and 4.1. Thread-safety: one thread per
 * object. */
#include "symbol_module.h"
#include "symbol_parts.h"

#include <errno.h>

#ifdef HAVE_LIBDW

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 16, FIRST_VECTOR = 17, VECTORS = 16 }; /* DWARF's numbers */

enum { WORD = 8, OWN_STORE = 1 };

/* By DWARF's number, the processor's. */
static const uint8_t processor_number[REGISTERS] = {0, 2, 1,  3,  6,  7,  5,  4,
                                                    8, 9, 10, 11, 12, 13, 14, 15};

/* ---- Places ---------------------------------------------------------------------------------- */

/* DWARF's number; UINT32_MAX: it is no register. */
static uint32_t register_of(const Dwarf_Op *op)
{
    if (op->atom == DW_OP_regx)
        return op->number < UINT32_MAX ? (uint32_t)op->number : UINT32_MAX;
    return op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31 ? (uint32_t)op->atom - DW_OP_reg0
                                                             : UINT32_MAX;
}

static bool take_register(const Dwarf_Op *op, uint8_t *ret_register)
{
    uint32_t number = register_of(op);
    if (number >= REGISTERS)
        return false;
    *ret_register = processor_number[number];
    return true;
}

static bool is_vector(const Dwarf_Op *op)
{
    uint32_t number = register_of(op);
    return number >= FIRST_VECTOR && number - FIRST_VECTOR < VECTORS;
}

/* A constant, as operations tell one. */
static bool take_constant(const Dwarf_Op *ops, size_t count, struct code_argument *argument)
{
    if (count != 2 || ops[1].atom != DW_OP_stack_value)
        return false;
    if (ops[0].atom >= DW_OP_lit0 && ops[0].atom <= DW_OP_lit31)
        argument->offset = ops[0].atom - DW_OP_lit0;
    else if (ops[0].atom >= DW_OP_const1u && ops[0].atom <= DW_OP_consts)
        argument->offset = (int64_t)ops[0].number;
    else
        return false;
    argument->where = CODE_CONSTANT;
    return true;
}

/* What a register has, without bits that its type has no use for. */
static bool take_masked(const Dwarf_Op *ops, size_t count, struct code_argument *argument)
{
    bool is_bool = argument->type == CODE_BOOL;
    uint64_t mask = UINT64_MAX,
             used = argument->size >= WORD ? UINT64_MAX : (UINT64_C(1) << 8 * argument->size) - 1;
    size_t at = 1;
    if (count < 2 || ops[0].atom < DW_OP_breg0 || ops[0].atom > DW_OP_breg15 || ops[0].number != 0)
        return false;
    for (; at + 1 < count && ops[at].atom == DW_OP_constu && ops[at + 1].atom == DW_OP_and; at += 2)
        mask &= ops[at].number;
    while (is_bool && at < count && ops[at].atom == DW_OP_convert)
        at++;
    if (at + 1 != count || ops[at].atom != DW_OP_stack_value ||
        ((mask & used) != used && (!is_bool || (mask & 1) == 0)))
        return false;
    argument->where = CODE_IN_REGISTER;
    argument->reg = processor_number[ops[0].atom - DW_OP_breg0];
    return true;
}

static bool take_two(const Dwarf_Op *ops, size_t count, struct code_argument *argument)
{
    return count == 4 && argument->type == CODE_COUNTED_TEXT && ops[1].atom == DW_OP_piece &&
           ops[1].number == WORD && ops[3].atom == DW_OP_piece && ops[3].number == WORD &&
           take_register(&ops[0], &argument->reg) && take_register(&ops[2], &argument->second);
}

/* Where the caller's frame begins, as the function's places count. false: from elsewhere. */
static bool frame_shift(Dwarf_Die *function, int64_t *ret_shift)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1)
        return false;
    *ret_shift = ops[0].atom == DW_OP_call_frame_cfa ? WORD : -WORD; /* rbp: that was pushed */
    return ops[0].atom == DW_OP_call_frame_cfa || ops[0].atom == DW_OP_reg6;
}

/* At the entry, as one list of operations has it. OWN_STORE: it is told where the function's own
 * code puts it. */
static int take_place(Dwarf_Die *function, const Dwarf_Op *ops, size_t count,
                      struct code_argument *argument)
{
    int64_t shift;
    argument->where = CODE_NOT_KNOWN;
    if (count == 1 && take_register(&ops[0], &argument->reg)) {
        argument->where = argument->type == CODE_COUNTED_TEXT ? CODE_IN_PARTS : CODE_IN_REGISTER;
    } else if (count == 1 && is_vector(&ops[0])) {
        argument->where = CODE_IN_VECTOR;
    } else if (take_constant(ops, count, argument) || take_masked(ops, count, argument)) {
        return 0;
    } else if (take_two(ops, count, argument)) {
        argument->where = CODE_IN_REGISTER;
    } else if (ops[0].atom == DW_OP_piece) {
        argument->where = CODE_OPTIMISED_OUT; /* its first part is nowhere */
    } else if (count > 1 && ops[1].atom == DW_OP_piece) {
        argument->where = CODE_IN_PARTS;
    } else if (count == 1 && ops[0].atom == DW_OP_fbreg && frame_shift(function, &shift)) {
        argument->offset = (int64_t)ops[0].number + shift;
        if (argument->offset < WORD)
            return OWN_STORE;
        argument->where = argument->type == CODE_COUNTED_TEXT ? CODE_IN_PARTS : CODE_ON_STACK;
    } else if (count == 1 && ops[0].atom == DW_OP_fbreg) {
        return OWN_STORE;
    } else if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa) {
        argument->offset = WORD;
        argument->where = CODE_ON_STACK;
    }
    return 0;
}

/* `convention`: where the calling convention has it. */
static void find_place(Dwarf_Die *function, Dwarf_Die *parameter, uint64_t entry,
                       const struct code_argument *convention, struct code_argument *argument)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops[2];
    size_t counts[2];
    argument->where = CODE_OPTIMISED_OUT;
    if (symbol_type_constant(parameter, &argument->offset)) {
        argument->where = CODE_CONSTANT;
        return;
    }
    if (!dwarf_attr_integrate(parameter, DW_AT_location, &attribute))
        return;
    int found = dwarf_getlocation_addr(&attribute, entry, ops, counts, 2);
    if (found < 0) /* in a form that is none of its version of DWARF, as compilers of Go write */
        argument->where = CODE_NOT_KNOWN;
    if (found == 1 && counts[0] > 0 &&
        take_place(function, ops[0], counts[0], argument) == OWN_STORE)
        *argument = *convention;
}

/* ---- Functions ------------------------------------------------------------------------------- */

struct search {
    uint64_t begin;
    Dwarf_Die *ret_function;
    bool found;
};

static int compare_function(Dwarf_Die *function, void *context)
{
    struct search *search = context;
    Dwarf_Addr begin;
    search->found = dwarf_entrypc(function, &begin) == 0 && begin == search->begin;
    if (search->found)
        *search->ret_function = *function;
    return search->found ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Those of namespaces, too, which a search by address does not go into. */
static bool find_function(struct symbol_lines *lines, uint64_t begin, Dwarf_Die *ret_unit,
                          Dwarf_Die *ret_function)
{
    struct search search = {begin, ret_function, false};
    if (!symbol_lines_unit(lines, begin, ret_unit))
        return false;
    (void)dwarf_getfuncs(ret_unit, compare_function, &search, 0);
    return search.found;
}

/* Of Go, whose results stand among the arguments. */
static bool is_result(Dwarf_Die *parameter)
{
    Dwarf_Attribute attribute;
    bool is = false;
    return dwarf_attr_integrate(parameter, DW_AT_variable_parameter, &attribute) &&
           dwarf_formflag(&attribute, &is) == 0 && is;
}

int symbol_lines_arguments(struct symbol_lines *lines, const struct code_entry *entry,
                           code_argument_visit *visit, void *context)
{
    static const struct code_argument none = {.where = CODE_NOT_KNOWN};
    struct code_choice choices[SYMBOL_CHOICES_MAX];
    Dwarf_Die unit, function, parameter, type;
    struct symbol_convention abi;
    if (!find_function(lines, entry->begin, &unit, &function))
        return -ENOENT;
    int language = dwarf_srclang(&unit), error = 0;
    symbol_convention_begin(&function, language, &abi);
    if (dwarf_child(&function, &parameter) != 0)
        return 0;
    do {
        struct code_argument argument = none;
        if (dwarf_tag(&parameter) != DW_TAG_formal_parameter || is_result(&parameter))
            continue;
        argument.name = dwarf_diename(&parameter);
        bool typed = symbol_type_of(&parameter, &type);
        if (typed) {
            symbol_type_describe(&type, &argument);
            symbol_type_choices(&type, choices, &argument);
        }
        struct code_argument convention = argument;
        if (typed)
            symbol_convention_next(&abi, language, &type, &convention);
        abi.known &= typed;
        find_place(&function, &parameter, entry->entry, &convention, &argument);
        error = visit(context, &argument);
    } while (error == 0 && dwarf_siblingof(&parameter, &parameter) == 0);
    return error;
}

#else

int symbol_lines_arguments(struct symbol_lines *lines, const struct code_entry *entry,
                           code_argument_visit *visit, void *context)
{
    (void)lines, (void)entry, (void)visit, (void)context;
    return -ENOENT;
}

#endif
