/* SPDX-License-Identifier: MIT */
/* See row_order.h. */
#include "row_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_TEXT_SIZE = 16384 };

static int by_numbers(const void *left, const void *right)
{
    const struct order_entry *a = left, *b = right;
    if (a->last != b->last)
        return a->last ? 1 : -1;
    if (a->first != b->first)
        return a->first < b->first ? 1 : -1;
    if (a->second != b->second)
        return a->second < b->second ? 1 : -1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int by_text(const void *left, const void *right)
{
    const struct order_entry *a = left, *b = right;
    int order = strcmp(a->text, b->text);
    return order ? order : a->row < b->row ? -1 : a->row > b->row;
}

static bool is_tie(const struct order_entry *a, const struct order_entry *b)
{
    return a->last == b->last && a->first == b->first && a->second == b->second;
}

static int sort_tie(struct order_entry *entries, size_t count, order_text *text,
                    const void *context)
{
    char *buffer = malloc(ORDER_TEXT_SIZE);
    int rc = buffer ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        size_t length = text(context, entries[i].row, buffer, ORDER_TEXT_SIZE);
        entries[i].text = strndup(buffer, length);
        rc = entries[i].text ? 0 : -ENOMEM;
    }
    if (rc == 0)
        qsort(entries, count, sizeof(*entries), by_text);
    for (size_t i = 0; i < count; i++) {
        free(entries[i].text);
        entries[i].text = NULL;
    }
    free(buffer);
    return rc;
}

int order_sort(struct order_entry *entries, size_t count, order_text *text, const void *context)
{
    int rc = 0;
    if (count > 0)
        qsort(entries, count, sizeof(*entries), by_numbers);
    for (size_t first = 0, end; first < count && rc == 0; first = end) {
        for (end = first + 1; end < count && is_tie(&entries[first], &entries[end]);)
            end++;
        if (end - first > 1)
            rc = sort_tie(entries + first, end - first, text, context);
    }
    return rc;
}
