/* SPDX-License-Identifier: MIT */
/* Finds the exits of functions: decodes x86-64 code instruction by instruction, only lengths and
 * jumps.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and
 * appendix A. Instructions that are in no table (XOP, APX, those of 32-bit code) are refused, as a
 * wrong length would put a probe into the middle of an instruction. */

#include "symbol_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_LENGTH_MAX = 15 };

/* The operands of each opcode: '.' without; 'm' ModRM; 'b', 'z', 'w', 'v' an immediate of 1, 2 or
 * 4, 2, and 2 to 8 bytes; 'B', 'Z' ModRM and such a one; 'j', 'J' a jump of 1 and 4 bytes; 'a' an
 * address; 'e' of "enter"; 'g', 'G' ModRM, and 'b' or 'z' for "test"; 'p' a prefix; 'x' invalid. */
static const char one_byte[256 + 1] = "mmmmbzxxmmmmbzxp"
                                      "mmmmbzxxmmmmbzxx"
                                      "mmmmbzpxmmmmbzpx"
                                      "mmmmbzpxmmmmbzpx"
                                      "pppppppppppppppp"
                                      "................"
                                      "xxxmppppzZbB...."
                                      "jjjjjjjjjjjjjjjj"
                                      "BZxBmmmmmmmmmmmm"
                                      "..........x....."
                                      "aaaa....bz......"
                                      "bbbbbbbbvvvvvvvv"
                                      "BBw.xxBZe.w..bx."
                                      "mmmmxxx.mmmmmmmm"
                                      "jjjjbbbbJJxj...."
                                      "p.pp..gG......mm";

static const char two_byte[256 + 1] = "mmmmx.....x.xm.B"
                                      "mmmmmmmmmmmmmmmm"
                                      "mmmmxxxxmmmmmmmm"
                                      "......x.xxxxxxxx"
                                      "mmmmmmmmmmmmmmmm"
                                      "mmmmmmmmmmmmmmmm"
                                      "mmmmmmmmmmmmmmmm"
                                      "BBBBmmm.mmxxmmmm"
                                      "JJJJJJJJJJJJJJJJ"
                                      "mmmmmmmmmmmmmmmm"
                                      "...mBmxx...mBmmm"
                                      "mmmmmmmmmmBmmmmm"
                                      "mmBmBBBm........"
                                      "mmmmmmmmmmmmmmmm"
                                      "mmmmmmmmmmmmmmmm"
                                      "mmmmmmmmmmmmmmmm";

struct cursor {
    const uint8_t *bytes;
    size_t size, at;
    uint8_t rex;
    bool short_operand, short_address;
    bool failed;
};

static uint8_t take(struct cursor *cursor)
{
    if (cursor->at >= cursor->size || cursor->at >= CODE_LENGTH_MAX) {
        cursor->failed = true;
        return 0;
    }
    return cursor->bytes[cursor->at++];
}

/* A signed number of 1, 2 or 4 bytes. */
static int64_t take_number(struct cursor *cursor, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)take(cursor) << (8 * i);
    unsigned unused = 64 - 8 * (size < 8 ? size : 8);
    return (int64_t)(value << unused) >> unused;
}

static void skip(struct cursor *cursor, unsigned size)
{
    for (; size > 0; size--)
        (void)take(cursor);
}

struct operand {
    uint8_t mod, reg, base; /* base: for a register operand its number, with REX.B */
    bool indexed;
};

static struct operand take_operand(struct cursor *cursor)
{
    uint8_t byte = take(cursor), mod = byte >> 6, base = byte & 7;
    struct operand operand = {
        .mod = mod, .reg = (byte >> 3) & 7, .base = base | (uint8_t)((cursor->rex & 1) << 3)};
    if (mod == 3)
        return operand;
    if (base == 4) {
        uint8_t scaled = take(cursor);
        base = scaled & 7;
        operand.indexed = ((scaled >> 3) & 7) != 4 || cursor->rex & 2;
    } else if (base == 5 && mod == 0) {
        skip(cursor, 4);
        return operand;
    }
    if (mod == 1)
        skip(cursor, 1);
    else if (mod == 2 || (mod == 0 && base == 5))
        skip(cursor, 4);
    return operand;
}

/* Takes legacy prefixes, then REX; returns the opcode's first byte. */
static uint8_t take_prefixes(struct cursor *cursor)
{
    uint8_t byte = take(cursor);
    while (!cursor->failed && one_byte[byte] == 'p' && byte != 0x0f && byte != 0x62) {
        bool rex = (byte & 0xf0) == 0x40;
        cursor->short_operand = cursor->short_operand || byte == 0x66;
        cursor->short_address = cursor->short_address || byte == 0x67;
        cursor->rex = rex ? byte : 0;
        byte = take(cursor);
    }
    return byte;
}

static unsigned number_size(const struct cursor *cursor)
{
    return cursor->short_operand && !(cursor->rex & 8) ? 2 : 4;
}

/* Takes opcodes of maps 1 to 3, after VEX and EVEX: all have ModRM except vzeroupper, and none is a
 * jump. */
static void take_vector(struct cursor *cursor, unsigned map, uint8_t opcode, bool wide)
{
    bool number = map == 3;
    if (map == 1) {
        char form = two_byte[opcode];
        number = form == 'B';
        cursor->failed = cursor->failed || form == 'J' || form == '.' || (form == 'x' && !wide);
        if (opcode == 0x77 && !wide) {
            cursor->failed = false;
            return;
        }
    }
    cursor->failed = cursor->failed || map == 0 || map == 4 || map > 6 || (map > 3 && !wide);
    (void)take_operand(cursor);
    if (number)
        skip(cursor, 1);
}

static void take_vex(struct cursor *cursor, uint8_t first)
{
    unsigned map = 1;
    uint8_t byte = take(cursor);
    if (first == 0xc4 || first == 0x62)
        map = byte & (first == 0x62 ? 7 : 31);
    skip(cursor, first == 0xc4 ? 1 : first == 0x62 ? 2 : 0);
    take_vector(cursor, map, take(cursor), first == 0x62);
}

static void take_jump(struct cursor *cursor, unsigned size, uint8_t condition,
                      struct code_instruction *ret_code)
{
    ret_code->kind = CODE_JUMP;
    ret_code->detail = condition;
    ret_code->target = take_number(cursor, size);
    ret_code->target += (int64_t)cursor->at;
}

static void take_two_byte(struct cursor *cursor, struct code_instruction *ret_code)
{
    uint8_t opcode = take(cursor);
    if (opcode == 0x38 || opcode == 0x3a) {
        (void)take(cursor);
        (void)take_operand(cursor);
        skip(cursor, opcode == 0x3a);
        return;
    }
    switch (two_byte[opcode]) {
    case 'm':
        (void)take_operand(cursor);
        return;
    case 'B':
        (void)take_operand(cursor);
        skip(cursor, 1);
        return;
    case 'J':
        take_jump(cursor, 4, opcode & 15, ret_code);
        return;
    case 'x':
        cursor->failed = true;
        return;
    default:
        return;
    }
}

/* Takes group 5: calls and jumps through registers and memory. */
static void take_group5(struct cursor *cursor, struct code_instruction *ret_code)
{
    struct operand operand = take_operand(cursor);
    if (operand.reg == 7)
        cursor->failed = true;
    if (operand.reg != 4 && operand.reg != 5)
        return;
    ret_code->kind = operand.mod == 3 ? CODE_JUMP_REGISTER : CODE_JUMP_MEMORY;
    ret_code->detail = operand.mod == 3 ? operand.base : operand.indexed;
}

static void take_form(struct cursor *cursor, uint8_t opcode)
{
    char form = one_byte[opcode];
    struct operand operand = {0};
    if (form == 'm' || form == 'B' || form == 'Z' || form == 'g' || form == 'G')
        operand = take_operand(cursor);
    switch (form) {
    case 'b':
    case 'B':
        skip(cursor, 1);
        return;
    case 'z':
    case 'Z':
        skip(cursor, number_size(cursor));
        return;
    case 'w':
        skip(cursor, 2);
        return;
    case 'v':
        skip(cursor, cursor->rex & 8 ? 8 : number_size(cursor));
        return;
    case 'a':
        skip(cursor, cursor->short_address ? 4 : 8);
        return;
    case 'e':
        skip(cursor, 3);
        return;
    case 'g':
    case 'G':
        if (operand.reg < 2)
            skip(cursor, form == 'g' ? 1 : number_size(cursor));
        return;
    case 'x':
    case 'p':
        cursor->failed = true;
        return;
    default:
        return;
    }
}

static void take_branch(struct cursor *cursor, uint8_t opcode, struct code_instruction *ret_code)
{
    if (opcode == 0xe8) {
        take_jump(cursor, 4, CODE_ALWAYS, ret_code);
        ret_code->kind = CODE_CALL;
        return;
    }
    uint8_t condition = opcode < 0x80    ? opcode & 15
                        : opcode >= 0xe9 ? CODE_ALWAYS
                                         : CODE_COUNTED; /* loop, jrcxz */
    take_jump(cursor, one_byte[opcode] == 'J' ? 4 : 1, condition, ret_code);
}

bool code_read(const uint8_t *bytes, size_t size, struct code_instruction *ret_code)
{
    struct cursor cursor = {.bytes = bytes, .size = size};
    *ret_code = (struct code_instruction){0};
    uint8_t opcode = take_prefixes(&cursor);
    if (opcode == 0x0f)
        take_two_byte(&cursor, ret_code);
    else if (opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62)
        take_vex(&cursor, opcode);
    else if (opcode == 0xff)
        take_group5(&cursor, ret_code);
    else if (one_byte[opcode] == 'j' || one_byte[opcode] == 'J')
        take_branch(&cursor, opcode, ret_code);
    else
        take_form(&cursor, opcode);
    if (opcode == 0xc3 || opcode == 0xc2)
        ret_code->kind = CODE_RETURN;
    ret_code->length = (uint8_t)cursor.at;
    return !cursor.failed;
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* A range of the function while it is read. */
struct reading {
    const struct code_piece *pieces;
    size_t count;
    uint8_t *starts[CODE_PIECES_MAX]; /* a byte for each: 1 if an instruction begins there */
    struct code_exits *exits;
    uint64_t begin, entry; /* addresses */
};

static bool is_in(const struct reading *reading, uint64_t address, size_t *ret_piece)
{
    for (size_t i = 0; i < reading->count; i++) {
        const struct code_piece *piece = &reading->pieces[i];
        if (address - piece->address < piece->size) {
            *ret_piece = i;
            return true;
        }
    }
    return false;
}

static int add_exit(struct reading *reading, uint64_t address, enum code_kind kind, uint8_t detail)
{
    struct code_exit exit = {address, (uint8_t)kind, detail};
    return vec_push(&reading->exits->items, exit);
}

/* A direct jump: inside, to the start of an instruction; or out of the function. */
static int take_target(struct reading *reading, uint64_t address,
                       const struct code_instruction *code)
{
    uint64_t target = address + (uint64_t)code->target;
    size_t piece;
    if (!is_in(reading, target, &piece))
        return code->detail == CODE_COUNTED ? -EBADMSG
                                            : add_exit(reading, address, CODE_JUMP, code->detail);
    if (!reading->starts[piece][target - reading->pieces[piece].address])
        return -EBADMSG;
    reading->exits->restarts = reading->exits->restarts || target == reading->entry;
    return 0;
}

static int take_exit(struct reading *reading, uint64_t address, const struct code_instruction *code)
{
    switch (code->kind) {
    case CODE_RETURN:
        return add_exit(reading, address, CODE_RETURN, 0);
    case CODE_JUMP:
        return take_target(reading, address, code);
    case CODE_CALL:
        reading->exits->recurses =
            reading->exits->recurses || address + (uint64_t)code->target == reading->begin;
        return 0;
    case CODE_JUMP_REGISTER:
        return add_exit(reading, address, CODE_JUMP_REGISTER, code->detail);
    case CODE_JUMP_MEMORY: /* with an index it is a table of places inside this function */
        return code->detail ? 0 : add_exit(reading, address, CODE_JUMP_MEMORY, 0);
    default:
        return 0;
    }
}

/* Marks the starts: each instruction begins where the previous one ends. */
static int mark_starts(struct reading *reading, size_t index)
{
    const struct code_piece *piece = &reading->pieces[index];
    struct code_instruction code;
    for (size_t at = 0; at < piece->size; at += code.length) {
        if (!code_read(piece->bytes + at, piece->size - at, &code))
            return -EBADMSG;
        reading->starts[index][at] = 1;
    }
    return 0;
}

static int find_exits(struct reading *reading, size_t index)
{
    const struct code_piece *piece = &reading->pieces[index];
    struct code_instruction code;
    int error = 0;
    for (size_t at = 0; at < piece->size && error == 0; at += code.length) {
        (void)code_read(piece->bytes + at, piece->size - at, &code);
        error = take_exit(reading, piece->address + at, &code);
    }
    return error;
}

/* A probe on an initial "endbr64" costs an extra trap, so it goes on the next instruction, which
 * runs as often unless the function jumps back to its start. */
static uint64_t entry_of(const struct code_piece *piece)
{
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
    bool lands = piece->size > sizeof(landing) && memcmp(piece->bytes, landing, 4) == 0;
    return piece->address + (lands ? sizeof(landing) : 0);
}

int code_exits_find(const struct code_piece *pieces, size_t count, struct code_exits *ret_exits)
{
    struct reading reading = {.pieces = pieces, .count = count, .exits = ret_exits};
    int error = count == 0 || count > CODE_PIECES_MAX ? -EINVAL : 0;
    *ret_exits = (struct code_exits){0};
    for (size_t i = 0; i < count && error == 0; i++) {
        reading.starts[i] = calloc(1, pieces[i].size + 1);
        error = reading.starts[i] ? mark_starts(&reading, i) : -ENOMEM;
    }
    if (error == 0) {
        reading.begin = pieces[0].address;
        ret_exits->entry = reading.entry = entry_of(&pieces[0]);
    }
    for (size_t i = 0; i < count && error == 0; i++)
        error = find_exits(&reading, i);
    for (size_t i = 0; i < count && i < CODE_PIECES_MAX; i++)
        free(reading.starts[i]);
    if (error != 0)
        code_exits_fini(ret_exits);
    return error;
}

void code_exits_fini(struct code_exits *exits)
{
    vec_free(&exits->items);
}
