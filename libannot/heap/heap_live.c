/* SPDX-License-Identifier: MIT */
/* Implements heap_live.h: each address has two buckets of slots, and lies in any slot of them. So
 * nothing is left where a block was removed, and a search reads at most both buckets.
 *
 * A slot's address is EMPTY, TAKEN (its number is being written) or a block's. The number is
 * written between TAKEN and the address, and read by the remover after it found the address: the
 * store of the address releases, the load acquires. */
#include "heap_live.h"

#include <stddef.h>

/* At half of the slots in use, one insertion in 2,000 finds both buckets full. */
enum { EMPTY, TAKEN, BUCKET = 8, BUCKETS = 2 * HEAP_LIVE_MAX / BUCKET, CHOICES = 2 };

struct slot {
    _Atomic uintptr_t address;
    uint64_t number;
};

_Atomic uint8_t heap_filter[1 << HEAP_FILTER_BITS];
static struct slot buckets[BUCKETS][BUCKET];

static struct slot *bucket_of(uintptr_t address, int choice)
{
    uint64_t hash = (uint64_t)(address >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    return buckets[(choice ? hash >> 48 : hash >> 32) % BUCKETS];
}

/* A counter at its maximum has lost count: it stays. */
static void filter_change(uintptr_t address, int difference)
{
    _Atomic uint8_t *counter = &heap_filter[heap_filter_slot(address)];
    uint8_t old = atomic_load_explicit(counter, memory_order_relaxed);
    while (old != UINT8_MAX &&
           !atomic_compare_exchange_weak_explicit(counter, &old, (uint8_t)(old + difference),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static bool take(struct slot *slot)
{
    uintptr_t old = EMPTY;
    return atomic_compare_exchange_strong_explicit(&slot->address, &old, TAKEN,
                                                   memory_order_acquire, memory_order_relaxed);
}

static bool add_to(struct slot *bucket, uintptr_t address, uint64_t number)
{
    for (int i = 0; i < BUCKET; i++) {
        if (!take(&bucket[i]))
            continue;
        bucket[i].number = number;
        filter_change(address, 1);
        atomic_store_explicit(&bucket[i].address, address, memory_order_release);
        return true;
    }
    return false;
}

bool heap_live_add(const void *block, uint64_t number)
{
    uintptr_t address = (uintptr_t)block;
    for (int choice = 0; choice < CHOICES; choice++)
        if (add_to(bucket_of(address, choice), address, number))
            return true;
    return false;
}

static uint64_t remove_from(struct slot *bucket, uintptr_t address)
{
    for (int i = 0; i < BUCKET; i++) {
        if (atomic_load_explicit(&bucket[i].address, memory_order_acquire) != address)
            continue;
        uint64_t number = bucket[i].number;
        filter_change(address, -1);
        atomic_store_explicit(&bucket[i].address, EMPTY, memory_order_release);
        return number;
    }
    return 0;
}

uint64_t heap_live_remove(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    uint64_t number = 0;
    for (int choice = 0; choice < CHOICES && number == 0; choice++)
        number = remove_from(bucket_of(address, choice), address);
    return number;
}
