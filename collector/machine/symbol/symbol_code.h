/* SPDX-License-Identifier: MIT */
/* Finds the places where a function of x86-64 code is left: returns, and jumps out of it.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. Foreign bytes:
 * bounded. Thread-safety: no state of its own. */
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
    CODE_JUMP_MEMORY = 4,   /* detail: 1 if an index register takes part */
    CODE_CALL = 5,          /* of an address that the instruction has */
};

/* Those below are the processor's: the low four bits of the opcode. */
enum code_condition { CODE_ALWAYS = 16, CODE_COUNTED = 17 };

/* The first is where it begins; others are parts of it that the compiler has put elsewhere. */
enum { CODE_PIECES_MAX = 8 };

struct code_exit {
    uint64_t address;
    uint8_t kind, detail; /* enum code_kind */
};

struct code_exits {
    uint64_t entry; /* where it is met once for each call */
    bool restarts;  /* it also jumps there itself */
    bool recurses;  /* it calls itself */
    VEC(struct code_exit) items;
};

/* One instruction of x86-64 code: how long it is, and whether it leaves or jumps. */
struct code_instruction {
    uint8_t length;
    uint8_t kind;   /* enum code_kind */
    uint8_t detail; /* see there */
    int64_t target; /* CODE_JUMP: from where the instruction begins */
};

/* false: it is none that is known, or it goes on behind `size`. */
bool code_read(const uint8_t *bytes, size_t size, struct code_instruction *ret_code);

struct code_piece {
    uint64_t address;
    size_t size;
    const uint8_t *bytes;
};

/* 0; -EBADMSG: there are bytes between its instructions that are none, or it jumps into the middle
 * of one; -ENOMEM. fini accepts a zeroed object. */
int code_exits_find(const struct code_piece *pieces, size_t count, struct code_exits *ret_exits);
void code_exits_fini(struct code_exits *exits);

#endif
