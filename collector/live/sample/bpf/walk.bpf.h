/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The memory in which one stack is walked, who may use it, and how it reads the
 * memory of the program. */
#ifndef ANNOT_WALK_BPF_H
#define ANNOT_WALK_BPF_H

#include "maps.bpf.h"

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Pieces of the user's memory, read at once and looked at word by word.
 *
 * A read of the user's memory costs some 30 ns whatever its size, up to 128 bytes, and 45 ns for a
 * kilobyte: what lies side by side is read together. A piece stays within its page where that is
 * possible, for the next one may not be there. */

enum { PIECE_BYTES = 1024, PIECE_PAGE = 4096 };

struct piece {
    uint64_t at;
    uint64_t size; /* 0: nothing is at hand */
    uint8_t bytes[PIECE_BYTES + 8];
};

/* Keeps the compiler from forgetting what the verifier must know of a value. */
#define BOUND(value, limit)                                                                        \
    do {                                                                                           \
        __asm__ volatile("" : "+r"(value));                                                        \
        if ((value) > (limit))                                                                     \
            (value) = (limit);                                                                     \
    } while (0)

/* Reads the user's memory: 0, or not readable now. */
static __always_inline int read_user(void *to, uint32_t size, uint64_t address)
{
    return bpf_probe_read_user(to, size, (const void *)address) ? -1 : 0;
}

static __always_inline bool piece_has(const struct piece *piece, uint64_t address, uint64_t size)
{
    uint64_t place = address - piece->at;

    return place < piece->size && place + size <= piece->size;
}

/* What piece_has(); else any of its words. */
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

/* From `address` on: `least` bytes, and what else the page has. */
static __always_inline int piece_read_on(struct piece *piece, uint64_t address, uint32_t least)
{
    uint32_t size = PIECE_PAGE - (address & (PIECE_PAGE - 1));

    return piece_read(piece, address, size < least ? least : size);
}

/* `least` bytes from `address` on, and what the page has before them. */
static __always_inline int piece_read_back(struct piece *piece, uint64_t address, uint32_t least)
{
    uint32_t before = address & (PIECE_PAGE - 1);

    if (before > PIECE_BYTES - least)
        before = PIECE_BYTES - least;
    return piece_read(piece, address - before, before + least);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

/* The memory in which one stack is walked, and who may use it.
 *
 * The state of a walk lies in a map value, not on the BPF stack: what is read back from there is
 * unknown to the verifier, so that all rounds of a loop look the same to it. One slot per CPU and
 * context; a slot that is in use already (a tick inside a tick) is not waited for. */

enum walk_context {
    WALK_TICK = 0,   /* perf event */
    WALK_SWITCH = 1, /* scheduler  */
    WALK_CONTEXTS = 2,
};

enum { WALK_CODE_BYTES = 8192, WALK_SLOTS_MAX = 2048, WALK_SLEEPER_WORDS = 256 };

struct registers {
    uint64_t rip, rsp, rbp, rbx;
};

enum { WALK_KNOWN = 2048, WALK_KEYS = 1024 };

/* The rule of a stretch of code, from an earlier walk of this slot. The same functions come again
 * and again, and a search of the rows costs a cache miss for each of its steps. */
struct walk_known {
    uint64_t begin;
    uint32_t size;
    uint32_t space; /* 0: empty. A space never changes, so this stays true. */
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
    struct sampler_process process; /* a copy, so that it stays the same during the walk */

    /* Native. leaf: as the thread was found. now_: where the walk stands. */
    struct registers leaf;
    uint64_t scratch[UNWIND_SCRATCH_COUNT]; /* of the leaf too */
    struct registers at;
    uint32_t lost;         /* enum native_lost */
    uint32_t exact;        /* at.rip is an instruction of its own, not a return address */
    uint32_t mapping_last; /* index in `mappings` that was hit last */
    uint32_t native_count;
    uint32_t native_end; /* enum stack_end */
    uint64_t native_hash;
    uint64_t trampoline; /* where functions return to that have return probes; 0: none */
    uint64_t returns;    /* the kernel's list of where they would */
    uint64_t hidden;     /* what it says of one */
    struct piece stack;  /* of it, around the CFA of this frame */

    /* Python: python_walk() sets all of it, and may set SAMPLER_GC and SAMPLER_HOLDS_GIL. */
    uint32_t python_count;
    uint32_t python_end;
    uint64_t python_hash;
    uint64_t python_state[320]; /* its own, for loops */

    uint32_t kernel_count;
    uint32_t range_depth; /* with SAMPLER_RANGES_KNOWN */
    uint64_t live[LIVE_RANGES * LIVE_RANGE_SIZE / 8];
    uint64_t sleeper_key; /* what the thread waits in */
    uint64_t sleeper_words;
    uint64_t sleeper[WALK_SLEEPER_WORDS]; /* the kernel stack of a thread that is off CPU */

    /* Records as they are sent: head and body side by side. */
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
