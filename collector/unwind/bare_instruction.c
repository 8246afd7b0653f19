/* SPDX-License-Identifier: MIT */
/* The decoder. Operand sizes other than 1, 4 and 8 bytes with an immediate are not decoded, nor is
 * anything that code of start files, stubs and plain loops has no use for. */
#include "bare_instruction.h"

#include <stdbool.h>
#include <string.h>

enum { PREFIXES_MAX = 5 };

struct decoder {
    const uint8_t *bytes;
    size_t size, at;
    uint8_t rex;
    bool word; /* operand size prefix */
    bool failed;
    unsigned mod, reg, rm; /* of the last ModRM byte, with REX */
};

static uint32_t take(struct decoder *decoder, unsigned size)
{
    uint32_t value = 0;
    if (size > decoder->size - decoder->at) {
        decoder->failed = true;
        return 0;
    }
    memcpy(&value, decoder->bytes + decoder->at, size < 4 ? size : 4);
    decoder->at += size;
    return value;
}

static int32_t take_signed(struct decoder *decoder, unsigned size)
{
    uint32_t value = take(decoder, size);
    return size == 1 ? (int8_t)value : (int32_t)value;
}

/* An immediate of 4 bytes, which a prefix would make 2. */
static int32_t take_immediate(struct decoder *decoder)
{
    decoder->failed |= decoder->word;
    return take_signed(decoder, 4);
}

static void take_operands(struct decoder *decoder)
{
    uint8_t modrm = (uint8_t)take(decoder, 1);
    unsigned rm = modrm & 7;
    decoder->mod = modrm >> 6;
    decoder->reg = (modrm >> 3 & 7) | (decoder->rex & 4) << 1;
    decoder->rm = rm | (decoder->rex & 1u) << 3;
    if (decoder->mod == 3)
        return;
    unsigned displacement = decoder->mod == 1 ? 1 : (decoder->mod == 2 ? 4 : 0);
    if (rm == 4)
        rm = take(decoder, 1) & 7; /* base */
    if (decoder->mod == 0 && rm == 5)
        displacement = 4;
    take(decoder, displacement);
}

static struct bare_instruction plain(const struct decoder *decoder)
{
    uint32_t touched = 1u << decoder->reg;
    if (decoder->mod == 3)
        touched |= 1u << decoder->rm;
    return (struct bare_instruction){.kind = BARE_PLAIN, .touched = touched};
}

/* One whose middle bits of ModRM are part of the operation. */
static struct bare_instruction plain_group(const struct decoder *decoder)
{
    uint32_t touched = decoder->mod == 3 ? 1u << decoder->rm : 0;
    return (struct bare_instruction){.kind = BARE_PLAIN, .touched = touched};
}

static struct bare_instruction of(enum bare_kind kind, int32_t value)
{
    return (struct bare_instruction){.kind = kind, .value = value};
}

static struct bare_instruction arithmetic_immediate(struct decoder *decoder, uint8_t op)
{
    take_operands(decoder);
    int32_t value = op == 0x81 ? take_immediate(decoder) : take_signed(decoder, 1);
    unsigned operation = decoder->reg & 7;
    if (op != 0x80 && decoder->mod == 3 && decoder->rm == BARE_RSP && (decoder->rex & 8) &&
        value >= 0 && (operation == 0 || operation == 5))
        return of(BARE_ADJUST, operation == 0 ? value : -value);
    return plain_group(decoder);
}

static struct bare_instruction unary(struct decoder *decoder, uint8_t op)
{
    take_operands(decoder);
    unsigned operation = decoder->reg & 7;
    if (op == 0xf6 || op == 0xf7) {
        if (operation < 2 && op == 0xf6)
            take(decoder, 1);
        else if (operation < 2)
            take_immediate(decoder);
        return plain_group(decoder);
    }
    if (operation < 2)
        return plain_group(decoder);
    if (op == 0xff && operation == 2)
        return of(BARE_PLAIN, 0);
    if (op == 0xff && operation == 4)
        return of(BARE_JUMP_AWAY, 0);
    if (op == 0xff && operation == 6 && !decoder->word)
        return of(BARE_PUSH, -1);
    return of(BARE_UNKNOWN, 0);
}

static struct bare_instruction two_bytes(struct decoder *decoder)
{
    uint8_t op = (uint8_t)take(decoder, 1);
    if (op == 0x05)
        return of(BARE_PLAIN, 0); /* syscall */
    if (op == 0x0b)
        return of(BARE_STOP, 0);
    if (op >= 0x80 && op <= 0x8f)
        return of(BARE_JUMP_IF, take_immediate(decoder));
    if (op == 0x1e || op == 0x1f) { /* endbr64, nop */
        take_operands(decoder);
        return of(op == 0x1e ? BARE_PLAIN : BARE_PADDING, 0);
    }
    bool known = (op >= 0x40 && op <= 0x4f) || (op >= 0x90 && op <= 0x9f) || op == 0xaf ||
                 op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf;
    if (!known)
        return of(BARE_UNKNOWN, 0);
    take_operands(decoder);
    return plain(decoder);
}

static struct bare_instruction with_operands(struct decoder *decoder, uint8_t op)
{
    take_operands(decoder);
    bool wide = decoder->rex & 8, registers = decoder->mod == 3;
    if (wide && registers && op == 0x89 && decoder->reg == BARE_RSP && decoder->rm == BARE_RBP)
        return of(BARE_SET_FRAME, 0);
    if (wide && registers && op == 0x8b && decoder->reg == BARE_RBP && decoder->rm == BARE_RSP)
        return of(BARE_SET_FRAME, 0);
    if (op == 0xc0 || op == 0xc1 || op == 0xc6)
        take(decoder, 1);
    if (op == 0xc7)
        take_immediate(decoder);
    bool group = op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || op >= 0xd0;
    if ((op == 0xc6 || op == 0xc7) && (decoder->reg & 7) != 0)
        return of(BARE_UNKNOWN, 0);
    return group ? plain_group(decoder) : plain(decoder);
}

/* Those with a register in their low bits. */
static struct bare_instruction with_register(struct decoder *decoder, uint8_t op)
{
    int32_t number = (op & 7) | (decoder->rex & 1) << 3;
    if (op < 0x60)
        return decoder->word ? of(BARE_UNKNOWN, 0) : of(op < 0x58 ? BARE_PUSH : BARE_POP, number);
    if (op < 0xb8)
        take(decoder, 1);
    else if (decoder->rex & 8)
        take(decoder, 8);
    else
        take_immediate(decoder);
    return (struct bare_instruction){.kind = BARE_PLAIN, .touched = 1u << number};
}

static struct bare_instruction jump_or_push(struct decoder *decoder, uint8_t op)
{
    switch (op) {
    case 0x68:
        take_immediate(decoder);
        return of(BARE_PUSH, -1);
    case 0x6a:
        take(decoder, 1);
        return of(decoder->word ? BARE_UNKNOWN : BARE_PUSH, -1);
    case 0xe8: /* a call to the next instruction is a push of its address */
        return of(take_immediate(decoder) ? BARE_PLAIN : BARE_UNKNOWN, 0);
    case 0xe9:
        return of(BARE_JUMP, take_immediate(decoder));
    case 0xeb:
        return of(BARE_JUMP, take_signed(decoder, 1));
    default: /* 0x70 to 0x7f */
        return of(BARE_JUMP_IF, take_signed(decoder, 1));
    }
}

static bool has_operands(uint8_t op)
{
    return (op < 0x40 && (op & 7) < 4) || op == 0x63 || (op >= 0x84 && op <= 0x8b) || op == 0x8d ||
           op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3);
}

static struct bare_instruction decode(struct decoder *decoder, uint8_t op)
{
    if (has_operands(op))
        return with_operands(decoder, op);
    if ((op >= 0x50 && op <= 0x5f) || (op >= 0xb0 && op <= 0xbf))
        return with_register(decoder, op);
    if ((op >= 0x70 && op <= 0x7f) || op == 0x68 || op == 0x6a || op == 0xe8 || op == 0xe9 ||
        op == 0xeb)
        return jump_or_push(decoder, op);
    if (op == 0x80 || op == 0x81 || op == 0x83)
        return arithmetic_immediate(decoder, op);
    if (op == 0xf6 || op == 0xf7 || op == 0xfe || op == 0xff)
        return unary(decoder, op);
    if ((op < 0x40 && (op & 7) == 4) || op == 0xa8) {
        take(decoder, 1);
        return of(BARE_PLAIN, 0);
    }
    if ((op < 0x40 && (op & 7) == 5) || op == 0xa9) {
        take_immediate(decoder);
        return of(BARE_PLAIN, 0);
    }
    switch (op) {
    case 0x0f:
        return two_bytes(decoder);
    case 0x90:
    case 0xcc:
        return of(decoder->rex ? BARE_UNKNOWN : BARE_PADDING, 0);
    case 0x98:
    case 0x99:
        return of(BARE_PLAIN, 0);
    case 0xc3:
        return of(BARE_RETURN, 0);
    case 0xc9:
        return of(decoder->word ? BARE_UNKNOWN : BARE_LEAVE, 0);
    case 0xf4:
        return of(BARE_STOP, 0);
    default:
        return of(BARE_UNKNOWN, 0);
    }
}

struct bare_instruction bare_decode(const uint8_t *bytes, size_t size)
{
    struct decoder decoder = {.bytes = bytes, .size = size};
    uint8_t op = (uint8_t)take(&decoder, 1);
    for (int i = 0; i < PREFIXES_MAX && (op == 0x66 || op == 0xf2 || op == 0xf3 || op == 0x2e);
         i++) {
        decoder.word |= op == 0x66;
        op = (uint8_t)take(&decoder, 1);
    }
    if (op >= 0x40 && op <= 0x4f) {
        decoder.rex = op;
        op = (uint8_t)take(&decoder, 1);
    }
    struct bare_instruction instruction = decode(&decoder, op);
    instruction.size = (unsigned)decoder.at;
    if (decoder.failed)
        instruction.kind = BARE_UNKNOWN;
    return instruction;
}
