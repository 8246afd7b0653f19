/* SPDX-License-Identifier: MIT */
/* The result of a comparison in words. Main thread only. */
#ifndef ANNOT_COMPARE_WORDS_H
#define ANNOT_COMPARE_WORDS_H

#include "compare.h"
#include "compare_variants.h"

#include <stdbool.h>
#include <stddef.h>

struct compare;

/* Prints the result in words to standard output; compare_say_end prints the lines below the
 * `tables` tables of the first screen. */
void compare_say(const struct compare *compare, unsigned width, bool color);
void compare_say_end(const struct compare *compare, unsigned width, size_t tables);

/* For several variants: prints the fastest; ..._end prints the certainty below their table. */
void compare_say_variants(const struct compare_variant *variants, size_t count, unsigned width,
                          bool color);
void compare_say_variants_end(const struct compare_variant *variants, size_t count, unsigned width);

/* Prints outliers among the runs. */
void compare_say_outliers(const struct compare *compare, unsigned width);

#endif
