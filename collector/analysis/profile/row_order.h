/* SPDX-License-Identifier: MIT */
/* Sorts rows by their numbers. Thread-safety: plain data. */
#ifndef ANNOT_ROW_ORDER_H
#define ANNOT_ROW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_entry {
    uint64_t first, second; /* larger ones come first */
    uint32_t row;
    bool last; /* after all others */
    char *text;
};

/* Writes a text that identifies a row; returns its length. */
typedef size_t order_text(const void *context, uint32_t row, char *buffer, size_t size);

/* Sorts by largest numbers first, then by text (only made for ties), then by row number. 0 or
 * -ENOMEM. */
int order_sort(struct order_entry *entries, size_t count, order_text *text, const void *context);

#endif
