/* SPDX-License-Identifier: MIT */
/* The interpreter of call frame instructions. */
#include "cfi_program.h"

#include "cfi_index.h"

enum {
    OP_HIGH = 0xc0,
    OP_LOW = 0x3f,
    OP_ADVANCE = 0x40,
    OP_OFFSET = 0x80,
    OP_RESTORE = 0xc0,
    OP_NOP = 0x00,
    OP_SET_LOC = 0x01,
    OP_ADVANCE1 = 0x02,
    OP_ADVANCE2 = 0x03,
    OP_ADVANCE4 = 0x04,
    OP_OFFSET_EXTENDED = 0x05,
    OP_RESTORE_EXTENDED = 0x06,
    OP_UNDEFINED = 0x07,
    OP_SAME_VALUE = 0x08,
    OP_REGISTER = 0x09,
    OP_REMEMBER = 0x0a,
    OP_RESTORE_STATE = 0x0b,
    OP_DEF_CFA = 0x0c,
    OP_DEF_CFA_REGISTER = 0x0d,
    OP_DEF_CFA_OFFSET = 0x0e,
    OP_DEF_CFA_EXPRESSION = 0x0f,
    OP_EXPRESSION = 0x10,
    OP_OFFSET_EXTENDED_SIGNED = 0x11,
    OP_DEF_CFA_SIGNED = 0x12,
    OP_DEF_CFA_OFFSET_SIGNED = 0x13,
    OP_VAL_OFFSET = 0x14,
    OP_VAL_OFFSET_SIGNED = 0x15,
    OP_VAL_EXPRESSION = 0x16,
    OP_GNU_ARGS_SIZE = 0x2e,
    OP_GNU_NEGATIVE_OFFSET = 0x2f,
};

enum { REMEMBER_MAX = 16 };

struct machine {
    struct cfi_run *run;
    struct cfi_reader program;
    struct cfi_state *state;
    struct cfi_state remembered[REMEMBER_MAX];
    unsigned remembered_count;
    uint64_t address;
};

static void set_place(struct machine *machine, uint64_t number, struct cfi_place place)
{
    if (number == CFI_RBX)
        machine->state->saved[CFI_TRACKED_RBX] = place;
    else if (number == CFI_RBP)
        machine->state->saved[CFI_TRACKED_RBP] = place;
    else if (number == CFI_RETURN)
        machine->state->saved[CFI_TRACKED_RETURN] = place;
}

static void set_offset(struct machine *machine, enum cfi_how how, uint64_t number, int64_t factor)
{
    int64_t offset = (int64_t)((uint64_t)factor * (uint64_t)machine->run->data_align);
    set_place(machine, number, (struct cfi_place){.how = how, .offset = offset});
}

static void set_how(struct machine *machine, enum cfi_how how, uint64_t number)
{
    set_place(machine, number, (struct cfi_place){.how = how});
}

static void restore(struct machine *machine, uint64_t number)
{
    const struct cfi_state *initial = machine->run->initial;
    if (!initial)
        machine->program.failed = true;
    else if (number == CFI_RBX)
        set_place(machine, number, initial->saved[CFI_TRACKED_RBX]);
    else if (number == CFI_RBP)
        set_place(machine, number, initial->saved[CFI_TRACKED_RBP]);
    else if (number == CFI_RETURN)
        set_place(machine, number, initial->saved[CFI_TRACKED_RETURN]);
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
    struct cfi_state *state = machine->state;
    state->cfa_register = number;
    state->cfa_offset = offset;
    state->cfa_expression = NULL;
    state->cfa_expression_size = 0;
    state->cfa_known = true;
}

/* An instruction that changes only one of register and offset needs both to be defined. */
static void change_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
    if (!machine->state->cfa_known || machine->state->cfa_expression)
        machine->program.failed = true;
    else
        set_cfa(machine, number, offset);
}

static const uint8_t *take_expression(struct machine *machine, uint32_t *ret_size)
{
    uint64_t size = cfi_uleb(&machine->program);
    const uint8_t *bytes = machine->program.at;
    cfi_skip(&machine->program, size);
    *ret_size = (uint32_t)size;
    return bytes;
}

static void set_expression(struct machine *machine, enum cfi_how how)
{
    struct cfi_place place = {.how = how};
    uint64_t number = cfi_uleb(&machine->program);
    place.expression = take_expression(machine, &place.expression_size);
    set_place(machine, number, place);
}

/* Ends the current state at `address`. */
static void move_to(struct machine *machine, uint64_t address)
{
    struct cfi_run *run = machine->run;
    if (address == machine->address)
        return;
    if (!run->row || address < machine->address) {
        machine->program.failed = true;
        return;
    }
    if (machine->address < run->end)
        run->row(run->context, machine->address, machine->state);
    machine->address = address;
}

static void advance(struct machine *machine, uint64_t delta)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(delta, machine->run->code_align, &bytes) ||
        __builtin_add_overflow(bytes, machine->address, &bytes))
        machine->program.failed = true;
    else
        move_to(machine, bytes);
}

static void set_location(struct machine *machine)
{
    struct cfi_run *run = machine->run;
    struct cfi_bases bases = {.place = run->program_address +
                                       (uint64_t)(machine->program.at - run->program.at)};
    uint64_t address = cfi_pointer(&machine->program, run->encoding, bases);
    if (!machine->program.failed)
        move_to(machine, address);
}

static void remember(struct machine *machine)
{
    if (machine->remembered_count == REMEMBER_MAX)
        machine->program.failed = true;
    else
        machine->remembered[machine->remembered_count++] = *machine->state;
}

static void recall(struct machine *machine)
{
    if (machine->remembered_count == 0)
        machine->program.failed = true;
    else
        *machine->state = machine->remembered[--machine->remembered_count];
}

/* Instructions about the CFA and the location. false: not one of them. */
static bool run_cfa(struct machine *machine, uint8_t op)
{
    struct cfi_reader *program = &machine->program;
    struct cfi_state *state = machine->state;
    int64_t align = machine->run->data_align;
    uint64_t number;
    switch (op) {
    case OP_SET_LOC:
        set_location(machine);
        return true;
    case OP_ADVANCE1:
        advance(machine, cfi_number(program, 1));
        return true;
    case OP_ADVANCE2:
        advance(machine, cfi_number(program, 2));
        return true;
    case OP_ADVANCE4:
        advance(machine, cfi_number(program, 4));
        return true;
    case OP_DEF_CFA:
        number = cfi_uleb(program);
        set_cfa(machine, number, (int64_t)cfi_uleb(program));
        return true;
    case OP_DEF_CFA_SIGNED:
        number = cfi_uleb(program);
        set_cfa(machine, number, (int64_t)((uint64_t)cfi_sleb(program) * (uint64_t)align));
        return true;
    case OP_DEF_CFA_REGISTER:
        change_cfa(machine, cfi_uleb(program), state->cfa_offset);
        return true;
    case OP_DEF_CFA_OFFSET:
        change_cfa(machine, state->cfa_register, (int64_t)cfi_uleb(program));
        return true;
    case OP_DEF_CFA_OFFSET_SIGNED:
        change_cfa(machine, state->cfa_register,
                   (int64_t)((uint64_t)cfi_sleb(program) * (uint64_t)align));
        return true;
    case OP_DEF_CFA_EXPRESSION:
        state->cfa_expression = take_expression(machine, &state->cfa_expression_size);
        state->cfa_known = true;
        return true;
    default:
        return false;
    }
}

static void run_other(struct machine *machine, uint8_t op)
{
    struct cfi_reader *program = &machine->program;
    uint64_t number;
    switch (op) {
    case OP_NOP:
        return;
    case OP_OFFSET_EXTENDED:
        number = cfi_uleb(program);
        set_offset(machine, CFI_AT_CFA, number, (int64_t)cfi_uleb(program));
        return;
    case OP_OFFSET_EXTENDED_SIGNED:
        number = cfi_uleb(program);
        set_offset(machine, CFI_AT_CFA, number, cfi_sleb(program));
        return;
    case OP_GNU_NEGATIVE_OFFSET:
        number = cfi_uleb(program);
        set_offset(machine, CFI_AT_CFA, number, (int64_t)(0 - cfi_uleb(program)));
        return;
    case OP_VAL_OFFSET:
        number = cfi_uleb(program);
        set_offset(machine, CFI_IS_CFA, number, (int64_t)cfi_uleb(program));
        return;
    case OP_VAL_OFFSET_SIGNED:
        number = cfi_uleb(program);
        set_offset(machine, CFI_IS_CFA, number, cfi_sleb(program));
        return;
    case OP_RESTORE_EXTENDED:
        restore(machine, cfi_uleb(program));
        return;
    case OP_UNDEFINED:
        set_how(machine, CFI_UNDEFINED, cfi_uleb(program));
        return;
    case OP_SAME_VALUE:
        set_how(machine, CFI_SAME, cfi_uleb(program));
        return;
    case OP_REGISTER:
        set_how(machine, CFI_REGISTER, cfi_uleb(program));
        cfi_uleb(program);
        return;
    case OP_EXPRESSION:
        set_expression(machine, CFI_EXPRESSION);
        return;
    case OP_VAL_EXPRESSION:
        set_expression(machine, CFI_VALUE_EXPRESSION);
        return;
    case OP_REMEMBER:
        remember(machine);
        return;
    case OP_RESTORE_STATE:
        recall(machine);
        return;
    case OP_GNU_ARGS_SIZE:
        cfi_uleb(program);
        return;
    default:
        program->failed = true;
    }
}

static void run_one(struct machine *machine)
{
    struct cfi_reader *program = &machine->program;
    uint8_t op = *program->at++;
    switch (op & OP_HIGH) {
    case OP_ADVANCE:
        advance(machine, op & OP_LOW);
        return;
    case OP_OFFSET:
        set_offset(machine, CFI_AT_CFA, op & OP_LOW, (int64_t)cfi_uleb(program));
        return;
    case OP_RESTORE:
        restore(machine, op & OP_LOW);
        return;
    default:
        if (!run_cfa(machine, op))
            run_other(machine, op);
    }
}

bool cfi_run(struct cfi_run *run, struct cfi_state *state, uint64_t *ret_address)
{
    struct machine machine;
    machine.run = run;
    machine.program = run->program;
    machine.state = state;
    machine.remembered_count = 0;
    machine.address = run->begin;
    while (machine.program.at < machine.program.end && machine.address <= run->end &&
           !machine.program.failed)
        run_one(&machine);
    *ret_address = machine.address;
    if (machine.program.failed)
        return false;
    if (run->row && machine.address < run->end)
        run->row(run->context, machine.address, state);
    return true;
}
