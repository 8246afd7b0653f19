/* SPDX-License-Identifier: MIT */
/* Parts of stacks from the kernel become parts of frames; a native stack that the kernel copied is
 * walked here. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_STACKS_H
#define ANNOT_SAMPLER_STACKS_H

#include "processes.h"
#include "sampler_abi.h"
#include "unwind_stack.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_sampler;

/* Parts of stacks. 0 or -ENOMEM. */
int sampler_take_part(struct bpf_sampler *sampler, const struct sampler_head *record);

/* The same, or SAMPLER_LATER (sampler_records.h). */
int sampler_take_copy(struct bpf_sampler *sampler, const struct sampler_copy *copy);

/* A native stack to be walked here: registers, and who reads 8 bytes of its memory. */
struct native_source {
    struct unwind_registers registers;
    bool (*read)(void *context, uint64_t address, uint64_t *ret_value);
    void *context;
    uint32_t space; /* that was published when it was taken; 0 = none */
};

/* Walks it by the process's present mappings, into a part of that hash. 0, SAMPLER_LATER, -ENOMEM.
 */
int sampler_unwind(struct bpf_sampler *sampler, struct sampled *process, uint64_t hash,
                   const struct native_source *source);

/* What sample and switch have in common. */
struct sampler_stack {
    uint64_t kernel, native, python;
    uint32_t space, flags;
    uint8_t native_end, python_end;
};

/* The stack's ordinal, 0 = none; -ENOMEM. Ends may be corrected. */
int64_t sampler_find_stack(struct bpf_sampler *sampler, struct sampled *process,
                           struct sampler_stack *stack);

#endif
