/* SPDX-License-Identifier: MIT */
/* Parts of stacks as received from the kernel, resolved to frames, by hash; and whole stacks joined
 * from them. Thread-safety: one thread per object. */
#ifndef ANNOT_STACK_JOIN_H
#define ANNOT_STACK_JOIN_H

#include "frames.h"
#include "hash_map.h"
#include "processes.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Parts ----
 *
 * The BPF program sends a part once and again every few seconds while it is in use. When memory is
 * short, parts unused for a moment are dropped: the program is asked to resend such a part, which
 * is dropped two steps later, when no record under way can refer to it any more. */

struct part_item {
    uint64_t address; /* native: program counter in the process */
    uint64_t place;   /* native: CFA, Python: anchor */
    uint32_t frame;   /* ordinal in the trace; 0 = none (a shim) */
    uint32_t flags;   /* Python: enum sampler_python_flags */
};

struct stack_part {
    uint64_t hash;
    uint64_t cut;  /* distinguishes a truncated one from the whole one; 0 = whole */
    uint64_t base; /* of `place`, see struct sampler_part */
    uint64_t used_ns;
    uint64_t
        leaves_step; /* 0 = it stays; else the step in which the program was asked to resend it */
    uint32_t space, count;
    uint8_t kind;             /* enum part_kind */
    uint8_t end;              /* enum stack_end */
    struct part_item items[]; /* leaf first */
};

struct stack_parts {
    struct wide_map by_key; /* kind and hash -> index in `all`, plus 1 */
    VEC(struct stack_part *) all;
    size_t bytes;
    uint64_t swept_ns;
    /* Asks the program to resend a part at its next use. */
    void (*forget)(void *context, uint64_t hash);
    void *context;
};

/* CUT: a truncated native one, made for one sample. */
enum part_kind { PART_KERNEL = 1, PART_NATIVE = 2, PART_PYTHON = 3, PART_CUT = 4 };

void stack_parts_fini(struct stack_parts *parts);

/* Adds a part with room for `count` items; replaces one of that hash. NULL: out of memory. The
 * caller fills it before the next call. */
struct stack_part *stack_parts_add(struct stack_parts *parts, enum part_kind kind, uint64_t hash,
                                   uint32_t count);

/* NULL: unknown, or dropped. */
struct stack_part *stack_parts_find(struct stack_parts *parts, enum part_kind kind, uint64_t hash,
                                    uint64_t now_ns);
void stack_parts_drop(struct stack_parts *parts, enum part_kind kind, uint64_t hash);

/* Drops parts not used lately, if there are too many. `step`: counts calls. */
void stack_parts_sweep(struct stack_parts *parts, uint64_t now_ns, uint64_t step);

/* ---- Whole stacks: kernel above native, Python frames in place of their interpreter's frames,
 * with marks for the garbage collector and for missing frames ---- */

struct stack_join {
    struct wide_map known; /* all inputs -> ordinal + 1 */
    uint64_t unplaced;     /* Python frames placed by a guess from their order */
    uint64_t joined;       /* stacks that were made */
};

struct join_request {
    const struct stack_part *kernel, *native, *python; /* NULL: none */
    const struct sampled *process;
    uint8_t native_end, python_end;
    bool collects; /* the garbage collector runs in this thread */
};

void stack_join_fini(struct stack_join *join);

/* The ordinal of the leaf's stack, 0 = unknown; -ENOMEM. */
int64_t stack_join_parts(struct stack_join *join, struct address_frames *names,
                         const struct join_request *request);

#endif
