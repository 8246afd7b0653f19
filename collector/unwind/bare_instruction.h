/* SPDX-License-Identifier: MIT */
/* The few instructions of x86-64 that code without a description is made of: how long they are and
 * what they do to the stack. Intel's manual, volume 2. Whatever else is not decoded.
 * Thread-safety: pure function. */
#ifndef ANNOT_BARE_INSTRUCTION_H
#define ANNOT_BARE_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

enum bare_kind {
    BARE_UNKNOWN = 0,
    BARE_PLAIN,     /* leaves the stack alone, call included  */
    BARE_PADDING,   /* does nothing                           */
    BARE_PUSH,      /* value: the register, or -1             */
    BARE_POP,       /* value: the register                    */
    BARE_ADJUST,    /* rsp += value                           */
    BARE_SET_FRAME, /* rbp = rsp                              */
    BARE_LEAVE,
    BARE_RETURN,
    BARE_STOP,      /* never goes on                          */
    BARE_JUMP,      /* to value bytes behind the instruction  */
    BARE_JUMP_IF,   /* the same, or goes on                   */
    BARE_JUMP_AWAY, /* to a computed place                    */
};

enum { BARE_RBX = 3, BARE_RSP = 4, BARE_RBP = 5 };

struct bare_instruction {
    enum bare_kind kind;
    unsigned size;
    int32_t value;
    uint32_t touched; /* bit per register that may be written, beyond what the kind says */
};

struct bare_instruction bare_decode(const uint8_t *bytes, size_t size);

#endif
