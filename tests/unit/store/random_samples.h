/* SPDX-License-Identifier: MIT */
/* Random frames, stacks, paths, facts and samples for the tests of the store. Thread-safety: none.
 */
#ifndef ANNOT_TEST_STORE_RANDOM_SAMPLES_H
#define ANNOT_TEST_STORE_RANDOM_SAMPLES_H

#include "sample.h"
#include "trace.h"

/* Adds frames, `count` stacks and paths, and fills in the sampling and the facts of a trace; names
 * are ordinals below `strings`. */
void random_stacks(struct trace *trace, uint32_t strings, uint32_t count);

/* Any kinds and values in stored form: fields unused by a kind are 0, times are in order. Threads
 * are below `threads`. `random` is not 0. */
void random_samples(const struct trace *trace, uint32_t threads, uint64_t *random,
                    struct sample *samples, uint32_t count);

/* Fail the test at the first difference. */
void random_check_stacks(const struct trace *actual, const struct trace *expected);
void random_check_sample(const struct sample *actual, const struct sample *expected);

#endif
