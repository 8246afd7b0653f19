/* SPDX-License-Identifier: MIT */
/* Implements heap_probe.h. */
#include "heap_probe.h"

/* The kernel emulates a nop of one byte; other instructions it executes by single-stepping, at ten
 * times the cost. A nop of five bytes would take two thirds of the time on Linux 6.18, which
 * replaces it by a call of memory that a forked child does not have: the child would crash. The
 * operands keep the arguments alive. */
#define PROBED    __attribute__((visibility("default"), noinline, noclone))
#define PROBE_NOP "nop"

PROBED void annot_heap_allocated_v1(uint64_t number, uint64_t size, uint64_t weight)
{
    __asm__ volatile(PROBE_NOP ::"r"(number), "r"(size), "r"(weight) : "memory");
}

PROBED void annot_heap_freed_v1(uint64_t number)
{
    __asm__ volatile(PROBE_NOP ::"r"(number) : "memory");
}
