/* SPDX-License-Identifier: MIT */
/* Random distances between samples, and the weight of a sample.
 *
 * Every allocated byte is sampled with the same probability, 1/rate: the bytes between two samples
 * are exponentially distributed, so a block of n bytes is sampled with probability
 * 1 - exp(-n/rate), and stands for n / (1 - exp(-n/rate)) bytes. The estimate of a sum of B bytes
 * is unbiased, with a standard deviation of sqrt(rate * B) for blocks much smaller than the rate.
 *
 * Needs no libm: the library is loaded into programs that have none. Threads: any; the state
 * belongs to one. */
#ifndef ANNOT_HEAP_DRAW_H
#define ANNOT_HEAP_DRAW_H

#include <stdint.h>

/* Of a thread; 0: unseeded. */
struct heap_random {
    uint64_t state;
};

/* Seeds from the number of seeded threads and the processor's clock: threads that start with equal
 * addresses at equal times draw different numbers. */
void heap_random_seed(struct heap_random *random);

/* Bytes until the next sample, at least 1. */
int64_t heap_draw(struct heap_random *random, uint64_t rate);

/* The bytes that a sampled block of that size stands for; `rate` at least 1. */
uint64_t heap_weight(uint64_t size, uint64_t rate);

#endif
