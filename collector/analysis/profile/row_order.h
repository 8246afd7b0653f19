/* SPDX-License-Identifier: MIT */
/* Rows in the order of their numbers. Thread-safety: plain data. */
#ifndef ANNOT_ROW_ORDER_H
#define ANNOT_ROW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_entry {
    uint64_t first, second; /* larger ones come first */
    uint32_t row;
    bool last; /* behind all that are not */
    char *text;
};

/* Writes a text that tells rows apart; returns its length. */
typedef size_t order_text(const void *context, uint32_t row, char *buffer, size_t size);

/* Largest numbers first, ties by their texts (which are made for ties alone), then by number of the
 * row. 0 or -ENOMEM. */
int order_sort(struct order_entry *entries, size_t count, order_text *text, const void *context);

#endif
