/* SPDX-License-Identifier: MIT */
/* Why a walk of a stack stopped: shared by the model, the unwinders and the BPF program, which has
 * no C library, so enumerators only. Numbers are those of the recording format: explicit and
 * append-only. Thread-safety: plain data. */
#ifndef ANNOT_STACK_END_H
#define ANNOT_STACK_END_H

enum stack_end {
    STACK_NOT_WALKED = 0,    /* no Python in the process, or a kernel thread */
    STACK_COMPLETE = 1,      /* reached its true root */
    STACK_DEPTH = 2,         /* deeper than the walk's limit */
    STACK_NO_MAPPING = 3,    /* an address outside of the known mappings */
    STACK_NO_TABLE = 4,      /* a module with a table that is not loaded (yet) */
    STACK_NO_RULE = 5,       /* no row, or a rule we cannot follow */
    STACK_FAULT = 6,         /* memory that was not readable (not resident, or wrong) */
    STACK_FRAME_POINTER = 7, /* code without a table, and its frame pointer led nowhere */
    STACK_NO_REGISTER = 8,   /* a register that the rule needs was lost on the way */
    STACK_CYCLE = 9,         /* the stack pointer did not move towards the root */
    STACK_TORN = 10,         /* Python: a frame under construction; the frames shown are right */
    STACK_NO_THREAD = 11,    /* Python: the thread is not known to the interpreter */
    STACK_BAD_FRAME = 12,    /* Python: not a plausible frame */
    STACK_NO_FILE = 13,      /* a module with an unreadable file or table */
    STACK_END_COUNT = 14,
};

#endif
