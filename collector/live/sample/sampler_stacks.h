/* SPDX-License-Identifier: MIT */
/* Converts parts of stacks from the kernel to parts of frames; walks native stacks copied by the
 * kernel. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_STACKS_H
#define ANNOT_SAMPLER_STACKS_H

#include "processes.h"
#include "sampler_abi.h"
#include "unwind_stack.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_sampler;

/* Takes a part of a stack. 0 or -ENOMEM. */
int sampler_take_part(struct bpf_sampler *sampler, const struct sampler_head *record);

/* Takes a copy of a stack. 0, -ENOMEM, or SAMPLER_LATER (sampler_records.h). */
int sampler_take_copy(struct bpf_sampler *sampler, const struct sampler_copy *copy);

/* A native stack to be walked here: registers, and a function that reads 8 bytes of its memory. */
struct native_source {
    struct unwind_registers registers;
    bool (*read)(void *context, uint64_t address, uint64_t *ret_value);
    void *context;
    uint32_t space; /* published when it was taken; 0 = none */
};

/* Walks it by the process's current mappings, into a part of that hash. 0, SAMPLER_LATER,
 * -ENOMEM. */
int sampler_unwind(struct bpf_sampler *sampler, struct sampled *process, uint64_t hash,
                   const struct native_source *source);

/* The common part of sample and switch. */
struct sampler_stack {
    uint64_t kernel, native, python;
    uint32_t space, flags;
    uint8_t native_end, python_end;
};

/* The stack's ordinal, 0 = none; -ENOMEM. May correct the ends. */
int64_t sampler_find_stack(struct bpf_sampler *sampler, struct sampled *process,
                           struct sampler_stack *stack);

#endif
