/* SPDX-License-Identifier: MIT */
/* The blocks that are allocated now: for each 16 bytes of the address space, the place and size of
 * the block that begins there.
 *
 * Memory: 4 bytes for each 16 bytes of heap that small blocks use, and address space for 16 MiB in
 * each 64 MiB. A forked child has its own copy. Lock-free. Threads: any; an entry is written by the
 * block's allocator and taken by whoever frees it, before the address can be given out again. */
#ifndef ANNOT_HEAP_SHADOW_H
#define ANNOT_HEAP_SHADOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAP_GRANULE_BITS = 4,
    HEAP_REGION_BITS = 26,
    HEAP_ADDRESS_BITS = 47,
    HEAP_SIZE_BITS = 12, /* of a word; above them, the place */
    HEAP_SIZE_LARGE = (1 << HEAP_SIZE_BITS) - 1,
};

#define HEAP_CODE_BIT     (1u << 31)
#define HEAP_REGION_WORDS (1u << (HEAP_REGION_BITS - HEAP_GRANULE_BITS))

struct heap_block {
    uint32_t place; /* 0: unknown block */
    bool is_code;
    uint64_t size;
};

typedef _Atomic uint32_t heap_word;
extern _Atomic(heap_word *) *heap_shadow_table;

/* Reserves address space; false: a limit forbids it. */
bool heap_shadow_begin(void);

/* False: no memory. `place` is not 0. Blocks have at least 9 bytes. */
bool heap_shadow_put(const void *block, const struct heap_block *entry);

/* Removes and returns the size of a large block. */
uint64_t heap_shadow_take_size(uintptr_t address);

static inline void heap_shadow_store(heap_word *at, uint32_t value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

static inline uint32_t heap_shadow_load(heap_word *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

/* NULL: none, or an address that no process has. */
static inline heap_word *heap_shadow_word(uintptr_t address)
{
    if (__builtin_expect(address >> HEAP_ADDRESS_BITS != 0, 0))
        return NULL;
    heap_word *region =
        atomic_load_explicit(&heap_shadow_table[address >> HEAP_REGION_BITS], memory_order_acquire);
    return region ? &region[(address >> HEAP_GRANULE_BITS) % HEAP_REGION_WORDS] : NULL;
}

/* Removes the entry of a block; its place is 0 if it has no entry. */
static inline struct heap_block heap_shadow_take(const void *block)
{
    heap_word *at = heap_shadow_word((uintptr_t)block);
    uint32_t value = at ? heap_shadow_load(at) : 0;
    if (value == 0)
        return (struct heap_block){0};
    heap_shadow_store(at, 0);
    struct heap_block entry = {.place = (value & ~HEAP_CODE_BIT) >> HEAP_SIZE_BITS,
                               .is_code = value & HEAP_CODE_BIT,
                               .size = value & HEAP_SIZE_LARGE};
    if (__builtin_expect(entry.size == HEAP_SIZE_LARGE, 0))
        entry.size = heap_shadow_take_size((uintptr_t)block);
    return entry;
}

/* True if the block has an entry. */
bool heap_shadow_has(const void *block);

/* Sets is_code of the block's entry, if it has one. */
void heap_shadow_mark_code(const void *block);

#endif
