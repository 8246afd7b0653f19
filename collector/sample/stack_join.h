/* SPDX-License-Identifier: MIT */
/* The parts of one stack into one stack of the trace: kernel above native, Python frames where
 * their interpreter's frames are, the garbage collector and what is missing marked.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_STACK_JOIN_H
#define ANNOT_STACK_JOIN_H

#include "address_frames.h"
#include "stack_parts.h"
#include "wide_map.h"

struct stack_join {
    struct wide_map known; /* all that matters -> ordinal + 1 */
    uint64_t unplaced;     /* Python frames whose place was guessed by order */
    uint64_t joined;       /* stacks that were made */
};

struct join_request {
    const struct stack_part *kernel, *native, *python; /* NULL: none */
    const struct sampled *process;
    uint8_t native_end, python_end;
    bool collects; /* the garbage collector runs in this thread */
};

void stack_join_fini(struct stack_join *join);

/* The ordinal of the leaf's stack, 0 = nothing is known; -ENOMEM. */
int64_t stack_join_parts(struct stack_join *join, struct address_frames *names,
                         const struct join_request *request);

#endif
