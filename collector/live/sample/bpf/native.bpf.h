/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Walks the native stack of the current task by unwind rows.
 *
 * The same rules in the same order as unwind/unwind_stack.c. Each round appends the current frame,
 * then computes its CFA and the registers of its caller. All memory belongs to the thread and may
 * have any content: failed reads end the walk, and every loop is bounded. */
#ifndef ANNOT_NATIVE_BPF_H
#define ANNOT_NATIVE_BPF_H

#include "emit.bpf.h"
#include "walk.bpf.h"

enum native_lost {
    NATIVE_LOST_RBP = 1u << 0,
    NATIVE_LOST_RBX = 1u << 1,
    NATIVE_LOST_SCRATCH = 1u << 2, /* after a signal, or code without rows */
};

enum {
    NATIVE_MAPPING_ROUNDS = 15, /* of a binary search: 32768 mappings of one process */
    NATIVE_ROW_ROUNDS = 19,     /* SAMPLER_SEGMENT_ROWS rows */
    NATIVE_HIDDEN = 64,         /* the kernel's limit per thread */
    NATIVE_BLOCK = 64,          /* bytes of code that share a slot of known rules */
    NATIVE_SAVED = 64, /* bytes below the CFA that hold most of a frame's saved registers */
    NATIVE_RBP = 0x78, /* in the ucontext of a signal frame */
    NATIVE_RBX = 0x80,
    NATIVE_RSP = 0xa0,
    NATIVE_RIP = 0xa8,
};

static __always_inline struct sampler_mapping *native_mapping_at(const struct walk *walk,
                                                                 uint32_t index, uint64_t address)
{
    struct sampler_mapping *mapping;

    if (index - walk->process.mapping_first >= walk->process.mapping_count)
        return 0;
    mapping = bpf_map_lookup_elem(&mappings, &index);
    if (!mapping || address < mapping->begin || address >= mapping->end)
        return 0;
    return mapping;
}

/* A binary search. Its rounds are a separate function, which the verifier follows once. */
struct native_search {
    void *table; /* of rows */
    uint64_t place;
    uint32_t low, high; /* the first entry after the place is in [low, high] */
};

static long native_mapping_round(uint32_t index, void *context)
{
    struct native_search *search = context;
    uint32_t middle = search->low + (search->high - search->low) / 2;
    struct sampler_mapping *mapping;

    if (search->low >= search->high)
        return 1;
    mapping = bpf_map_lookup_elem(&mappings, &middle);
    if (!mapping)
        return 1;
    if (mapping->begin <= search->place)
        search->low = middle + 1;
    else
        search->high = middle;
    return 0;
}

/* NULL: no known mapping. */
static __always_inline struct sampler_mapping *native_mapping(struct walk *walk, uint64_t address)
{
    uint32_t first = walk->process.mapping_first;
    struct native_search search = {0, address, first, first + walk->process.mapping_count};
    struct sampler_mapping *mapping = native_mapping_at(walk, walk->mapping_last, address);

    if (mapping)
        return mapping;
    bpf_loop(NATIVE_MAPPING_ROUNDS, native_mapping_round, &search, 0);
    walk->mapping_last = search.low - 1;
    return native_mapping_at(walk, search.low - 1, address);
}

static long native_row_round(uint32_t index, void *context)
{
    struct native_search *search = context;
    uint32_t middle = search->low + (search->high - search->low) / 2;
    struct unwind_row *row;

    if (search->low >= search->high)
        return 1;
    row = bpf_map_lookup_elem(search->table, &middle);
    if (!row)
        return 1;
    if (row->address <= search->place)
        search->low = middle + 1;
    else
        search->high = middle;
    return 0;
}

/* The rule of the place, and its range in `known`. NULL: no row covers it. */
static __always_inline struct unwind_rule *native_rule(const struct sampler_mapping *mapping,
                                                       uint64_t address, struct walk_known *known)
{
    uint32_t segment = mapping->segment, first = mapping->row_first;
    uint32_t after = first + mapping->row_count, before, rule;
    uint64_t begin, end = mapping->end;
    struct native_search search = {0, address - mapping->bias, first, after};
    struct unwind_row *row;

    search.table = bpf_map_lookup_elem(&rows, &segment);
    if (!search.table || search.place > 0xffffffff)
        return 0;
    bpf_loop(NATIVE_ROW_ROUNDS, native_row_round, &search, 0);
    before = search.low - 1;
    row = search.low == first ? 0 : bpf_map_lookup_elem(search.table, &before);
    if (!row)
        return 0;
    rule = row->rule;
    begin = mapping->bias + row->address;
    row = search.low == after ? 0 : bpf_map_lookup_elem(search.table, &search.low);
    if (row && mapping->bias + row->address < end)
        end = mapping->bias + row->address;
    known->begin = begin > mapping->begin ? begin : mapping->begin;
    known->size = end - known->begin;
    return bpf_map_lookup_elem(&rules, &rule);
}

/* The cache slot of a place. */
static __always_inline struct walk_known *native_known(struct walk *walk, uint64_t place)
{
    uint64_t hash =
        (place / NATIVE_BLOCK ^ (uint64_t)walk->process.space << 32) * 0x9e3779b97f4a7c15ull;

    return &walk->known[(hash >> 40) & (WALK_KNOWN - 1)];
}

/* Looks up the rule for the place into `known`. STACK_NOT_WALKED, or the reason why there is no
 * rule (enum stack_end). */
__noinline int native_learn(struct walk *walk, struct walk_known *known, uint64_t place)
{
    struct sampler_mapping *mapping;
    struct unwind_rule *rule;

    if (!walk || !known)
        return STACK_NO_MAPPING;
    mapping = native_mapping(walk, place);
    if (!mapping)
        return STACK_NO_MAPPING;
    if (mapping->kind == SAMPLER_MAPPING_FRAME_POINTER)
        return STACK_FRAME_POINTER;
    if (mapping->kind == SAMPLER_MAPPING_MISSING)
        return STACK_NO_FILE;
    if (mapping->kind != SAMPLER_MAPPING_TABLE) {
        mapping->wanted = 1;
        return STACK_NO_TABLE;
    }
    known->space = 0;
    rule = native_rule(mapping, place, known);
    if (!rule)
        return STACK_NO_RULE;
    known->space = walk->process.space;
    known->rule = *rule;
    return STACK_NOT_WALKED;
}

static __always_inline int native_read(uint64_t address, uint64_t *ret_value)
{
    return read_user(ret_value, sizeof(*ret_value), address);
}

/* Reads a word of the stack, from the piece if it is there. */
static __always_inline int native_word(struct walk *walk, uint64_t address, uint64_t *ret_value)
{
    if (!piece_has(&walk->stack, address, sizeof(*ret_value)))
        return native_read(address, ret_value);
    *ret_value = piece_word(&walk->stack, address);
    return 0;
}

/* The CFA of the frame. STACK_COMPLETE, or the reason why it is unknown. */
static __always_inline enum stack_end native_cfa(const struct walk *walk,
                                                 const struct unwind_rule *rule, uint64_t *ret_cfa)
{
    const struct registers *at = &walk->at;
    uint64_t base = at->rsp;

    if (rule->cfa == UNWIND_CFA_PLT) {
        *ret_cfa = base + 8 + ((at->rip & 15) >= (uint32_t)rule->cfa_offset ? 8 : 0);
        return STACK_COMPLETE;
    }
    if (rule->cfa == UNWIND_CFA_RBP || rule->cfa == UNWIND_CFA_RBP_DEREF) {
        if (walk->lost & NATIVE_LOST_RBP)
            return STACK_NO_REGISTER;
        base = at->rbp;
    } else if (rule->cfa == UNWIND_CFA_RBX) {
        if (walk->lost & NATIVE_LOST_RBX)
            return STACK_NO_REGISTER;
        base = at->rbx;
    } else if (rule->cfa == UNWIND_CFA_SCRATCH) {
        if (walk->lost & NATIVE_LOST_SCRATCH)
            return STACK_NO_REGISTER;
        base = walk->scratch[rule->scratch & (UNWIND_SCRATCH_COUNT - 1)];
    } else if (rule->cfa != UNWIND_CFA_RSP && rule->cfa != UNWIND_CFA_RSP_DEREF) {
        return STACK_NO_RULE;
    }
    base += (int64_t)rule->cfa_offset;
    if (rule->cfa == UNWIND_CFA_RSP_DEREF || rule->cfa == UNWIND_CFA_RBP_DEREF) {
        if (native_read(base, &base))
            return STACK_FAULT;
        base += (int64_t)rule->cfa_add;
    }
    *ret_cfa = base;
    return STACK_COMPLETE;
}

/* Restores one callee-saved register of the caller: 0, or a fault. */
static __always_inline int native_restore(struct walk *walk, uint32_t save, uint64_t cfa,
                                          int32_t offset, uint64_t *value)
{
    uint64_t base = cfa;

    if (save == UNWIND_SAVE_RBP && !(walk->lost & NATIVE_LOST_RBP))
        base = walk->at.rbp;
    else if (save != UNWIND_SAVE_CFA)
        return 0;
    return native_word(walk, base + (int64_t)offset, value);
}

/* Reads the return address. If it is not in the piece, reads the next piece of the stack from the
 * frame's saved registers on, which also covers most of its callers. Memory below the return
 * address may never have been touched. */
static __always_inline int native_return(struct walk *walk, uint64_t cfa, uint64_t *ret_address)
{
    if (!piece_has(&walk->stack, cfa - 8, 8))
        piece_read_on(&walk->stack, cfa - NATIVE_SAVED, NATIVE_SAVED);
    return native_word(walk, cfa - 8, ret_address);
}

/* For functions with a return probe the kernel replaces the return address by a fixed address of
 * its own, and keeps the original in a list, innermost first. */
__noinline int native_find_hidden(struct walk *walk, uint64_t place)
{
    struct return_instance *instance;

    if (!walk)
        return 0;
    instance = (struct return_instance *)walk->returns;
    for (uint32_t i = 0; i < NATIVE_HIDDEN && instance; i++) {
        if (BPF_CORE_READ(instance, stack) == place) {
            walk->hidden = BPF_CORE_READ(instance, orig_ret_vaddr);
            return 1;
        }
        instance = BPF_CORE_READ(instance, next);
    }
    return 0;
}

static __always_inline uint32_t native_still_lost(uint32_t lost, uint32_t save, uint32_t which)
{
    if (save == UNWIND_SAVE_LOST || (save == UNWIND_SAVE_RBP && (lost & NATIVE_LOST_RBP)))
        return which;
    return save == UNWIND_SAVE_SAME ? lost & which : 0;
}

/* Moves from the frame described by `rule` to its caller; STACK_NOT_WALKED: go on. */
static __always_inline enum stack_end
native_caller(struct walk *walk, const struct unwind_rule *rule, uint64_t *ret_cfa)
{
    struct registers *at = &walk->at;
    uint64_t cfa = 0, rip = 0, rbp = at->rbp, rbx = at->rbx;
    enum stack_end end = native_cfa(walk, rule, &cfa);

    if (end != STACK_COMPLETE)
        return end;
    if (cfa <= at->rsp)
        return STACK_CYCLE;
    *ret_cfa = cfa;
    if (native_return(walk, cfa, &rip) ||
        native_restore(walk, rule->rbp, cfa, rule->rbp_offset, &rbp) ||
        native_restore(walk, rule->rbx, cfa, rule->rbx_offset, &rbx))
        return STACK_FAULT;
    if (walk->trampoline && rip == walk->trampoline && native_find_hidden(walk, cfa - 8))
        rip = walk->hidden;
    walk->lost = native_still_lost(walk->lost, rule->rbp, NATIVE_LOST_RBP) |
                 native_still_lost(walk->lost, rule->rbx, NATIVE_LOST_RBX) |
                 (walk->lost & NATIVE_LOST_SCRATCH);
    at->rip = rip;
    at->rsp = cfa;
    at->rbp = rbp;
    at->rbx = rbx;
    walk->exact = 0;
    return STACK_NOT_WALKED;
}

/* Moves through a signal frame to the interrupted frame. */
static __always_inline enum stack_end native_interrupted(struct walk *walk)
{
    struct registers *at = &walk->at;
    uint64_t frame = at->rsp;

    if (native_read(frame + NATIVE_RBP, &at->rbp) || native_read(frame + NATIVE_RBX, &at->rbx) ||
        native_read(frame + NATIVE_RSP, &at->rsp) || native_read(frame + NATIVE_RIP, &at->rip))
        return STACK_FAULT;
    walk->lost = NATIVE_LOST_SCRATCH;
    walk->exact = 1;
    return STACK_NOT_WALKED;
}

/* Code without a table: rbp points at the saved rbp, followed by the return address; 0 marks the
 * outermost frame, if reached from a callee. */
static __always_inline enum stack_end native_frame_pointer(struct walk *walk, uint64_t *ret_cfa)
{
    struct registers *at = &walk->at;
    uint64_t rbp = at->rbp;

    if (rbp == 0 && !(walk->lost & NATIVE_LOST_RBP) && !walk->exact)
        return STACK_COMPLETE;
    if ((walk->lost & NATIVE_LOST_RBP) || rbp < at->rsp || (rbp & 7))
        return STACK_FRAME_POINTER;
    if (native_read(rbp + 8, &at->rip) || native_read(rbp, &at->rbp))
        return STACK_FRAME_POINTER;
    *ret_cfa = rbp + 16;
    at->rsp = rbp + 16;
    walk->lost = NATIVE_LOST_RBX | NATIVE_LOST_SCRATCH;
    walk->exact = 0;
    return STACK_NOT_WALKED;
}

/* Forked processes share mappings, but memory without a file may hold other code in each: makes the
 * stack specific to the process. */
static __always_inline void native_hash_own(struct walk *walk)
{
    uint64_t process = walk->head.process_start_ns ^ (uint64_t)(uint32_t)walk->head.pid << 40;

    walk->native_hash = emit_mix(walk->native_hash, process);
}

static __always_inline enum stack_end native_round(struct walk *walk, uint64_t *ret_cfa)
{
    uint64_t place = walk->at.rip - (walk->exact ? 0 : 1);
    struct walk_known *known = native_known(walk, place);
    enum stack_end end;

    if (place - known->begin >= known->size || known->space != walk->process.space ||
        known->space == 0) {
        end = native_learn(walk, known, place);
        if (end == STACK_FRAME_POINTER) {
            native_hash_own(walk);
            return native_frame_pointer(walk, ret_cfa);
        }
        if (end != STACK_NOT_WALKED)
            return end;
    }
    if (known->rule.cfa == UNWIND_CFA_END)
        return STACK_COMPLETE;
    if (known->rule.cfa == UNWIND_CFA_SIGNAL)
        return native_interrupted(walk);
    return native_caller(walk, &known->rule, ret_cfa);
}

static long native_step(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    struct sampler_native *frame;
    enum stack_end end;
    uint64_t cfa = 0;

    if (index >= SAMPLER_NATIVE_MAX)
        return 1;
    frame = &walk->native[index];
    frame->address = walk->at.rip;
    walk->native_hash = emit_mix(walk->native_hash, walk->at.rip);
    end = native_round(walk, &cfa);
    frame->cfa = cfa;
    walk->native_count = index + 1;
    walk->native_end = end;
    return end != STACK_NOT_WALKED;
}

/* Walks from walk->leaf: fills native, native_count, native_end, native_hash. */
__noinline int native_walk(struct walk *walk)
{
    if (!walk)
        return 0;
    walk->at = walk->leaf;
    walk->lost = 0;
    walk->exact = 1;
    walk->stack.size = 0;
    walk->native_hash = emit_begin(walk->process.space);
    bpf_loop(SAMPLER_NATIVE_MAX, native_step, &walk, 0);
    if (walk->native_end == STACK_NOT_WALKED)
        walk->native_end = STACK_DEPTH;
    return 0;
}

#endif
