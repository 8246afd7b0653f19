/* SPDX-License-Identifier: MIT */
/* The first screen of a comparison: the change of the whole, and the rows that explain it.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_SCREEN_H
#define ANNOT_COMPARE_SCREEN_H

#include "compare.h"
#include "table.h"

struct compare;

/* 0 or -ENOMEM. */
int compare_find_story(struct compare *compare);
const struct compare_story *compare_story(const struct compare *compare);

/* Tables of the first screen, valid until the next call; `limit`: rows of each, 0: as many as fit.
 * `ret_tables` has room for COMPARE_TABLES_MAX. Returns their number, or -ENOMEM. */
int compare_screen(struct compare *compare, uint64_t limit, const struct table **ret_tables);

#endif
