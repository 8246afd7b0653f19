/* SPDX-License-Identifier: MIT */
/* The answer of a comparison in words. Main thread only. */
#ifndef ANNOT_COMPARE_WORDS_H
#define ANNOT_COMPARE_WORDS_H

#include "compare.h"
#include "compare_variants.h"

#include <stdbool.h>
#include <stddef.h>

struct compare;

/* The answer in words, to standard output, and what stands below so many tables of the first
 * screen. */
void compare_say(const struct compare *compare, unsigned width, bool color);
void compare_say_end(const struct compare *compare, unsigned width, size_t tables);

/* Of several variants: which is the fastest; below their table, how sure that is. */
void compare_say_variants(const struct compare_variant *variants, size_t count, unsigned width,
                          bool color);
void compare_say_variants_end(const struct compare_variant *variants, size_t count, unsigned width);

/* Runs that stand out. */
void compare_say_outliers(const struct compare *compare, unsigned width);

#endif
