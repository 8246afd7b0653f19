/* SPDX-License-Identifier: MIT */
/* See columns.h. Ranges come in order of their ends. In that of their begins, the times of a
 * lane only grow, which takes half of the bytes. */
#include "columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_before(const struct row_key *a, const struct row_key *b)
{
    if (a->lane != b->lane)
        return a->lane < b->lane;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns;
    return a->row > b->row; /* the one around comes after its children */
}

static void merge(const struct row_key *left, uint32_t left_count, const struct row_key *right,
                  uint32_t right_count, struct row_key *out)
{
    while (left_count > 0 && right_count > 0) {
        bool second = is_before(right, left);
        *out++ = second ? *right++ : *left++;
        left_count -= !second;
        right_count -= second;
    }
    memcpy(out, left, left_count * sizeof(*left));
    memcpy(out + left_count, right, right_count * sizeof(*right));
}

static void sort_run(struct row_key *keys, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct row_key key = keys[i];
        uint32_t at = i;
        for (; at > 0 && is_before(&key, &keys[at - 1]); at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* A merge sort: half the time of qsort(), and these keys are a good part of what there is to do. */
static int sort_keys(struct row_key *keys, uint32_t rows)
{
    enum { RUN = 16 };

    struct row_key *other = malloc((rows + 1ul) * sizeof(*other));
    struct row_key *from = keys, *to = other;
    if (!other)
        return -ENOMEM;
    for (uint32_t i = 0; i < rows; i += RUN)
        sort_run(keys + i, rows - i < RUN ? rows - i : RUN);
    for (uint32_t width = RUN; width < rows; width *= 2) {
        for (uint32_t i = 0; i < rows; i += 2 * width) {
            uint32_t left = rows - i < width ? rows - i : width;
            uint32_t right = rows - i - left < width ? rows - i - left : width;
            merge(from + i, left, from + i + left, right, to + i);
        }
        struct row_key *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, rows * sizeof(*keys));
    free(other);
    return 0;
}

static void reorder_longs(int64_t *values, const uint32_t *places, uint32_t count, void *scratch)
{
    int64_t *moved = scratch;
    for (uint32_t i = 0; i < count; i++)
        moved[i] = values[places[i]];
    memcpy(values, moved, count * sizeof(*moved));
}

static void reorder_words(uint32_t *values, const uint32_t *places, uint32_t count, void *scratch)
{
    uint32_t *moved = scratch;
    for (uint32_t i = 0; i < count; i++)
        moved[i] = values[places[i]];
    memcpy(values, moved, count * sizeof(*moved));
}

/* Texts with their lengths before them. */
static int reorder_bytes(struct column_bytes *bytes, const uint32_t *places, uint32_t count,
                         uint64_t *begins)
{
    struct column_bytes moved = {0};
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        memcpy(&size, bytes->vec.items + at, sizeof(size));
        begins[i] = at;
        at += sizeof(size) + size;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        memcpy(&size, bytes->vec.items + begins[places[i]], sizeof(size));
        column_put(&moved, bytes->vec.items + begins[places[i]], sizeof(size) + size);
    }
    vec_free(&bytes->vec);
    *bytes = moved;
    return moved.failed ? -ENOMEM : 0;
}

/* Where the values of the rows are: those before a row that are there. */
static uint32_t find_places(const struct column *column, const struct row_key *keys, uint32_t rows,
                            uint32_t *ranks, uint32_t *places)
{
    uint32_t rank = 0, count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        ranks[i] = rank;
        rank += column->present[i];
    }
    for (uint32_t i = 0; i < rows; i++)
        if (column->present[keys[i].row])
            places[count++] = ranks[keys[i].row];
    return count;
}

static int reorder_column(struct column *column, const struct row_key *keys, uint32_t rows,
                          uint32_t *places, void *scratch)
{
    bool one = column->dictionary && column->word_count == 1 && column->count == rows;
    if (one || column->count == 0)
        return 0; /* all rows have the same */
    uint32_t count = find_places(column, keys, rows, scratch, places);
    if (column->dictionary)
        reorder_words(column->indices, places, count, scratch);
    else if (column->type != COLUMN_TEXT)
        reorder_longs(column->values, places, count, scratch);
    else if (reorder_bytes(&column->bytes, places, count, scratch) != 0)
        return -ENOMEM;
    if (count == rows)
        return 0;
    for (uint32_t i = 0; i < rows; i++)
        places[i] = keys[i].row;
    reorder_words(column->present, places, rows, scratch);
    return 0;
}

int columns_sort(struct columns *columns)
{
    uint32_t rows = columns->row_count;
    if (!columns->keys)
        return 0;
    uint32_t *places = malloc((rows + 1ul) * sizeof(*places));
    uint64_t *scratch = malloc((rows + 1ul) * sizeof(*scratch));
    int error = places && scratch ? sort_keys(columns->keys, rows) : -ENOMEM;
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = reorder_column(&columns->items[i], columns->keys, rows, places, scratch);
    free(places);
    free(scratch);
    return error;
}
