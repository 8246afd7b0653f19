/* SPDX-License-Identifier: MIT */
/* Finds the exits of a function of x86-64 code: returns, and jumps out of it.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. Foreign bytes:
 * bounded. Thread-safety: stateless. */
#ifndef ANNOT_SYMBOL_CODE_H
#define ANNOT_SYMBOL_CODE_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum code_kind {
    CODE_OTHER = 0,
    CODE_RETURN = 1,
    CODE_JUMP = 2,          /* detail: enum code_condition */
    CODE_JUMP_REGISTER = 3, /* detail: the register's number, 0 to 15 */
    CODE_JUMP_MEMORY = 4,   /* detail: 1 if it uses an index register */
    CODE_CALL = 5,          /* of an address in the instruction */
};

/* Values below are the processor's: the low four bits of the opcode. */
enum code_condition { CODE_ALWAYS = 16, CODE_COUNTED = 17 };

/* The first is the function's start; others are parts of it that the compiler has moved
 * elsewhere. */
enum { CODE_PIECES_MAX = 8 };

struct code_exit {
    uint64_t address;
    uint8_t kind, detail; /* enum code_kind */
};

struct code_exits {
    uint64_t entry; /* instruction that runs once for each call */
    bool restarts;  /* the function also jumps there itself */
    bool recurses;  /* it calls itself */
    VEC(struct code_exit) items;
};

/* One instruction of x86-64 code: its length, and if it leaves or jumps. */
struct code_instruction {
    uint8_t length;
    uint8_t kind;   /* enum code_kind */
    uint8_t detail; /* as documented there */
    int64_t target; /* CODE_JUMP: relative to the instruction's start */
};

/* false: unknown instruction, or longer than `size`. */
bool code_read(const uint8_t *bytes, size_t size, struct code_instruction *ret_code);

struct code_piece {
    uint64_t address;
    size_t size;
    const uint8_t *bytes;
};

/* 0; -EBADMSG: there are invalid bytes between its instructions, or it jumps into the middle of
 * one; -ENOMEM. fini accepts a zeroed object. */
int code_exits_find(const struct code_piece *pieces, size_t count, struct code_exits *ret_exits);
void code_exits_fini(struct code_exits *exits);

#endif
