/* SPDX-License-Identifier: MIT */
/* Implements heap_shadow.h: a table of regions, made when a block is first put there.
 *
 * An entry is a word of 32 bits: size, place, and a bit for code objects. A size that does not fit
 * stands in the two words that follow: so large a block has them for itself. */
#include "heap_shadow.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define OPTIONAL extern __attribute__((weak, visibility("default")))
OPTIONAL void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
OPTIONAL int munmap(void *address, size_t size);

#define TABLE_BYTES  (sizeof(heap_word *) << (HEAP_ADDRESS_BITS - HEAP_REGION_BITS))
#define REGION_BYTES (HEAP_REGION_WORDS * sizeof(heap_word))

_Atomic(heap_word *) *heap_shadow_table;

static void *reserve(size_t size)
{
    void *memory = mmap ? mmap(NULL, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                        : MAP_FAILED;
    return memory == MAP_FAILED ? NULL : memory;
}

bool heap_shadow_begin(void)
{
    heap_shadow_table = reserve(TABLE_BYTES);
    return heap_shadow_table != NULL;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) heap_word *make_region(uintptr_t index)
{
    heap_word *made = reserve(REGION_BYTES), *found = NULL;
    if (!made)
        return NULL;
    if (atomic_compare_exchange_strong_explicit(&heap_shadow_table[index], &found, made,
                                                memory_order_acq_rel, memory_order_acquire))
        return made;
    munmap(made, REGION_BYTES);
    return found;
}

static inline heap_word *need_word(uintptr_t address)
{
    heap_word *found = heap_shadow_word(address);
    if (__builtin_expect(!found && !(address >> HEAP_ADDRESS_BITS), 0)) {
        heap_word *region = make_region(address >> HEAP_REGION_BITS);
        found = region ? &region[(address >> HEAP_GRANULE_BITS) % HEAP_REGION_WORDS] : NULL;
    }
    return found;
}

/* ---- Large sizes ----------------------------------------------------------------------------- */

static __attribute__((noinline)) bool put_size(uintptr_t address, uint64_t size)
{
    heap_word *low = need_word(address + 16), *high = need_word(address + 32);
    if (!low || !high)
        return false;
    heap_shadow_store(low, (uint32_t)size);
    heap_shadow_store(high, (uint32_t)(size >> 32));
    return true;
}

/* The words may belong to small blocks next. */
uint64_t heap_shadow_take_size(uintptr_t address)
{
    heap_word *low = heap_shadow_word(address + 16), *high = heap_shadow_word(address + 32);
    if (!low || !high)
        return 0;
    uint64_t size = heap_shadow_load(low) | (uint64_t)heap_shadow_load(high) << 32;
    heap_shadow_store(low, 0);
    heap_shadow_store(high, 0);
    return size;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

bool heap_shadow_put(const void *block, const struct heap_block *entry)
{
    uintptr_t address = (uintptr_t)block;
    heap_word *at = need_word(address);
    uint32_t size = entry->size < HEAP_SIZE_LARGE ? (uint32_t)entry->size : HEAP_SIZE_LARGE;
    if (!at || (__builtin_expect(size == HEAP_SIZE_LARGE, 0) && !put_size(address, entry->size)))
        return false;
    heap_shadow_store(at,
                      entry->place << HEAP_SIZE_BITS | size | (entry->is_code ? HEAP_CODE_BIT : 0));
    return true;
}

bool heap_shadow_has(const void *block)
{
    heap_word *at = heap_shadow_word((uintptr_t)block);
    return at && heap_shadow_load(at) != 0;
}

void heap_shadow_mark_code(const void *block)
{
    heap_word *at = heap_shadow_word((uintptr_t)block);
    if (at && heap_shadow_load(at) != 0)
        atomic_fetch_or_explicit(at, HEAP_CODE_BIT, memory_order_relaxed);
}
