/* SPDX-License-Identifier: MIT */
/* The only atomics on shared memory. Program and collector both use these, so that each pairing can
 * be found by its name: a store-release on one side is read by a load-acquire on the other. Every
 * call site names its partner in a comment. */
#ifndef ANNOT_BARRIER_H
#define ANNOT_BARRIER_H

#include <stdint.h>

/* No order: a hint, or a field whose order another access gives. */
#define annot_load_relaxed(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define annot_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

/* Publication: writes before the store are visible after the load. */
#define annot_load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define annot_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Read-modify-write. All return the previous value. */
#define annot_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define annot_fetch_or_release(p, v)  __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define annot_fetch_and_release(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELEASE)

/* Compare-and-swap; on failure *expected becomes the current value. */
#define annot_cas_acq_rel(p, expected, v)                                                          \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* A copy is consistent if a word that its writer changes before and after had the same value before
 * and after the copy: the writer's fence follows its first store, the reader's precedes its second
 * load. ThreadSanitizer does not support fences, and gcc warns at each: there only the compiler's
 * order is kept. */
#ifdef __SANITIZE_THREAD__
#define annot_fence_release() __atomic_signal_fence(__ATOMIC_RELEASE)
#define annot_fence_acquire() __atomic_signal_fence(__ATOMIC_ACQUIRE)
#define annot_fence_full()    __atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define annot_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define annot_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
/* For two threads that each write and then read the other's word: one of them sees the other's. */
#define annot_fence_full()    __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/* Keeps the compiler's order against a signal handler of the same thread; no instruction. */
#define annot_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
