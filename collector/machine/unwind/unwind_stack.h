/* SPDX-License-Identifier: MIT */
/* Walks a native stack from registers and a copy of its memory: the same rules, in the same order,
 * as the BPF program, for samples without tables loaded in time and for `annot dump`.
 * Thread-safety: any thread, no state. */
#ifndef ANNOT_UNWIND_STACK_H
#define ANNOT_UNWIND_STACK_H

#include "unwind_table.h"

struct unwind_registers {
    uint64_t rip, rsp, rbp, rbx;
    bool rbp_lost, rbx_lost; /* the field does not have the register's value */
    bool scratch_known;
    uint64_t scratch[UNWIND_SCRATCH_COUNT]; /* by enum unwind_scratch */
};

/* The mapping at an address. */
struct unwind_place {
    const struct unwind_table *table; /* NULL: follow the frame pointer */
    bool missing;                     /* its table is unavailable: the walk ends */
    uint64_t bias;                    /* address - bias = module address */
};

/* The frame's memory lies below cfa; 0 = unknown: a signal frame, or the end of the walk. */
struct unwind_frame {
    uint64_t address; /* program counter; of callers: the return address */
    uint64_t cfa;
};

struct unwind_request {
    struct unwind_registers registers;
    /* false: not mapped as executable. */
    bool (*find)(void *context, uint64_t address, struct unwind_place *ret_place);
    /* Reads 8 bytes of the thread's memory; false: unreadable. */
    bool (*read)(void *context, uint64_t address, uint64_t *ret_value);
    void *context;
};

/* Leaf first. Returns the number of frames written; *ret_end is the reason of the end. */
uint32_t unwind_stack(const struct unwind_request *request, struct unwind_frame *frames,
                      uint32_t size, enum stack_end *ret_end);

#endif
