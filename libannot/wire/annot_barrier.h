/* SPDX-License-Identifier: MIT */
/* The only atomics on shared memory. Program and collector both use these, so that each pairing
 * can be found by its name: a store-release here is read by a load-acquire there. Every call site
 * says in a comment who its partner is. */
#ifndef ANNOT_BARRIER_H
#define ANNOT_BARRIER_H

#include <stdint.h>

/* No order: a hint, or a field whose order another access gives. */
#define annot_load_relaxed(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define annot_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

/* Publication: what was written before the store is seen after the load. */
#define annot_load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define annot_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Read-modify-write. All return the value before. */
#define annot_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define annot_fetch_or_release(p, v)  __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define annot_fetch_and_release(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELEASE)

/* Compare-and-swap; on failure *expected becomes the present value. */
#define annot_cas_acq_rel(p, expected, v)                                                          \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* A copy is whole if a word that its writer changes before and after was the same before and after:
 * the writer's fence stands after its first store, the reader's before its second load.
 * ThreadSanitizer knows no fences, and gcc says so at each: there only the compiler's order. */
#ifdef __SANITIZE_THREAD__
#define annot_fence_release() __atomic_signal_fence(__ATOMIC_RELEASE)
#define annot_fence_acquire() __atomic_signal_fence(__ATOMIC_ACQUIRE)
#define annot_fence_full()    __atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define annot_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define annot_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
/* Two that each write and then look for what the other wrote: one of them sees it. */
#define annot_fence_full()    __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/* Keeps the compiler's order against a signal handler of the same thread; no instruction. */
#define annot_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
