/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The memory of one stack walk, its ownership, and the reads of the program's
 * memory. */
#ifndef ANNOT_WALK_BPF_H
#define ANNOT_WALK_BPF_H

#include "maps.bpf.h"

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Pieces of the user's memory, read at once and used word by word.
 *
 * A read of the user's memory costs some 30 ns for any size up to 128 bytes, and 45 ns for a
 * kilobyte: adjacent data is read together. A piece stays within its page where possible, as the
 * next one may be missing. */

enum { PIECE_BYTES = 1024, PIECE_PAGE = 4096 };

struct piece {
    uint64_t at;
    uint64_t size; /* 0: empty */
    uint8_t bytes[PIECE_BYTES + 8];
};

/* Keeps the compiler from dropping a bound that the verifier needs. */
#define BOUND(value, limit)                                                                        \
    do {                                                                                           \
        __asm__ volatile("" : "+r"(value));                                                        \
        if ((value) > (limit))                                                                     \
            (value) = (limit);                                                                     \
    } while (0)

/* Reads the user's memory: 0, or -1: not readable now. */
static __always_inline int read_user(void *to, uint32_t size, uint64_t address)
{
    return bpf_probe_read_user(to, size, (const void *)address) ? -1 : 0;
}

static __always_inline bool piece_has(const struct piece *piece, uint64_t address, uint64_t size)
{
    uint64_t place = address - piece->at;

    return place < piece->size && place + size <= piece->size;
}

/* A word of the piece, if piece_has() it; else an arbitrary one. */
static __always_inline uint64_t piece_word(const struct piece *piece, uint64_t address)
{
    return *(const uint64_t *)(piece->bytes + ((address - piece->at) & (PIECE_BYTES - 1)));
}

static __always_inline int piece_read(struct piece *piece, uint64_t at, uint32_t size)
{
    piece->size = 0;
    BOUND(size, PIECE_BYTES);
    if (read_user(piece->bytes, size, at))
        return -1;
    piece->at = at;
    piece->size = size;
    return 0;
}

/* Reads `least` bytes from `address` on, and the rest of the page. */
static __always_inline int piece_read_on(struct piece *piece, uint64_t address, uint32_t least)
{
    uint32_t size = PIECE_PAGE - (address & (PIECE_PAGE - 1));

    return piece_read(piece, address, size < least ? least : size);
}

/* Reads `least` bytes from `address` on, and the page before them. */
static __always_inline int piece_read_back(struct piece *piece, uint64_t address, uint32_t least)
{
    uint32_t before = address & (PIECE_PAGE - 1);

    if (before > PIECE_BYTES - least)
        before = PIECE_BYTES - least;
    return piece_read(piece, address - before, before + least);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

/* The memory of one stack walk, and its ownership.
 *
 * The state of a walk lies in a map value, not on the BPF stack: values read back from there are
 * unknown to the verifier, so that it sees all rounds of a loop as equal. One slot per CPU and
 * context; a slot already in use (a tick inside a tick) is not waited for. */

enum walk_context {
    WALK_TICK = 0,   /* perf event */
    WALK_SWITCH = 1, /* scheduler */
    WALK_CONTEXTS = 2,
};

enum { WALK_CODE_BYTES = 8192, WALK_SLOTS_MAX = 2048, WALK_SLEEPER_WORDS = 256 };

struct registers {
    uint64_t rip, rsp, rbp, rbx;
};

enum { WALK_KNOWN = 2048, WALK_KEYS = 1024 };

/* The rule of a code range, from an earlier walk of this slot. The same functions recur, and a
 * search of the rows costs a cache miss for each of its steps. */
struct walk_known {
    uint64_t begin;
    uint32_t size;
    uint32_t space; /* 0: empty. A space never changes, so this stays valid. */
    struct unwind_rule rule;
};

/* The key of a code object, from an earlier walk of this slot. */
struct walk_key {
    uint64_t tag; /* hash of process, address and number of the code object */
    uint64_t key;
};

struct walk {
    uint32_t busy;
    uint32_t flags; /* enum sampler_flags: ORed into the sample's */
    uint64_t now;   /* CLOCK_MONOTONIC */
    uint64_t fsbase;
    struct sampler_head head;       /* of the thread; kind and size are set by each record */
    struct sampler_process process; /* a copy, so that it does not change during the walk */

    /* Native. leaf: the thread's registers. at: the current frame's. */
    struct registers leaf;
    uint64_t scratch[UNWIND_SCRATCH_COUNT]; /* of the leaf too */
    struct registers at;
    uint32_t lost;         /* enum native_lost */
    uint32_t exact;        /* at.rip is an executed instruction, not a return address */
    uint32_t mapping_last; /* index of the last hit in `mappings` */
    uint32_t native_count;
    uint32_t native_end; /* enum stack_end */
    uint64_t native_hash;
    uint64_t trampoline; /* return address of functions with return probes; 0: not used */
    uint64_t returns;    /* the kernel's list of the original ones */
    uint64_t hidden;     /* the original address of one */
    struct piece stack;  /* of the stack, around the CFA of this frame */

    /* Python: python_walk() sets all of it, and may set SAMPLER_GC and SAMPLER_HOLDS_GIL. */
    uint32_t python_count;
    uint32_t python_end;
    uint64_t python_hash;
    uint64_t python_state[320]; /* its state, for loops */

    uint32_t kernel_count;
    uint32_t range_depth; /* with SAMPLER_RANGES_KNOWN */
    uint64_t live[LIVE_RANGES * LIVE_RANGE_SIZE / 8];
    uint64_t sleeper_key; /* the wait of the thread */
    uint64_t sleeper_words;
    uint64_t sleeper[WALK_SLEEPER_WORDS]; /* the kernel stack of a thread that is off CPU */

    /* Records as they are sent: head and body contiguous. */
    struct sampler_part kernel_part;
    uint64_t kernel[SAMPLER_KERNEL_MAX];
    struct sampler_part native_part;
    struct sampler_native native[SAMPLER_NATIVE_MAX];
    struct sampler_part python_part;
    struct sampler_python python[SAMPLER_PYTHON_MAX];
    struct sampler_sample sample;
    struct sampler_switch stretch;
    struct sampler_copy copy;
    uint8_t copy_bytes[SAMPLER_COPY_MAX];
    /* python_emit_codes() builds its records here. */
    struct sampler_code code;
    uint8_t code_bytes[WALK_CODE_BYTES];
    struct walk_known known[WALK_KNOWN];
    struct walk_key keys[WALK_KEYS];
};

/* Size: CPUs * WALK_CONTEXTS, set by the loader. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 2);
    __type(key, uint32_t);
    __type(value, struct walk);
} walks SEC(".maps");

static __always_inline void walk_clear(struct walk *walk)
{
    walk->flags = 0;
    walk->native_count = walk->python_count = walk->kernel_count = 0;
    walk->native_end = walk->python_end = STACK_NOT_WALKED;
    walk->range_depth = 0;
}

/* NULL: the slot is in use, counted. */
static __always_inline struct walk *walk_begin(enum walk_context context)
{
    uint32_t key = bpf_get_smp_processor_id() * WALK_CONTEXTS + context;
    struct walk *walk = bpf_map_lookup_elem(&walks, &key);

    if (!walk || walk->busy) {
        count(SAMPLER_LOSS_BUSY);
        return 0;
    }
    walk->busy = 1;
    walk_clear(walk);
    return walk;
}

static __always_inline void walk_end(struct walk *walk)
{
    walk->busy = 0;
}

#endif
