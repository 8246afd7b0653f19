/* SPDX-License-Identifier: MIT */
/* Walks a native stack from registers and a copy of its memory: the same rules, in the same order,
 * as the BPF program, for samples whose tables were not loaded in time and for `annot dump`.
 * Thread-safety: none needed, no state. */
#ifndef ANNOT_UNWIND_STACK_H
#define ANNOT_UNWIND_STACK_H

#include "unwind_table.h"

struct unwind_registers {
    uint64_t rip, rsp, rbp, rbx;
    bool rbp_lost, rbx_lost; /* what stands there is not their value */
    bool scratch_known;
    uint64_t scratch[UNWIND_SCRATCH_COUNT]; /* by enum unwind_scratch */
};

/* What is mapped at an address. */
struct unwind_place {
    const struct unwind_table *table; /* NULL: follow the frame pointer */
    bool missing;                     /* it has a table that cannot be had: the walk ends */
    uint64_t bias;                    /* address - bias = address of the module's own */
};

/* The frame's memory lies below cfa; 0 = unknown: a signal frame, and where the walk ended. */
struct unwind_frame {
    uint64_t address; /* program counter; of callers: the return address */
    uint64_t cfa;
};

struct unwind_request {
    struct unwind_registers registers;
    /* false: nothing executable is mapped there. */
    bool (*find)(void *context, uint64_t address, struct unwind_place *ret_place);
    /* 8 bytes of the thread's memory; false: not readable. */
    bool (*read)(void *context, uint64_t address, uint64_t *ret_value);
    void *context;
};

/* Leaf first. Returns how many frames were written; why it stopped is in *ret_end. */
uint32_t unwind_stack(const struct unwind_request *request, struct unwind_frame *frames,
                      uint32_t size, enum stack_end *ret_end);

#endif
