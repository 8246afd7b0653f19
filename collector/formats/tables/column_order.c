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

/* How many of the first are before `key`, as the very first is: looked for in growing steps. */
static uint32_t count_before(const struct row_key *keys, uint32_t count, const struct row_key *key)
{
    uint32_t low = 0, high = 1;
    while (high < count && is_before(&keys[high], key)) {
        low = high;
        high = high < count / 2 ? high * 2 : count;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (is_before(&keys[middle], key))
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct keys {
    const struct row_key *at;
    uint32_t left;
};

/* What is in order of one side, in one piece; its first is the least. */
static struct row_key *take_run(struct keys *from, const struct row_key *other, struct row_key *out)
{
    uint32_t count = count_before(from->at, from->left, other);
    memcpy(out, from->at, count * sizeof(*out));
    from->at += count;
    from->left -= count;
    return out + count;
}

/* Rows of a lane come in pieces, so that runs of one side are long, or short: then it is quicker to
 * take one after the other. */
static void merge(struct keys left, struct keys right, struct row_key *out)
{
    enum { LONG = 8 };

    unsigned streak = 0;
    bool last = false;
    while (left.left > 0 && right.left > 0) {
        bool second = is_before(right.at, left.at);
        streak = second == last ? streak + 1 : 0;
        last = second;
        if (streak == LONG) {
            out = second ? take_run(&right, left.at, out) : take_run(&left, right.at, out);
            streak = 0;
            continue;
        }
        *out++ = second ? *right.at : *left.at;
        right.at += second;
        right.left -= second;
        left.at += !second;
        left.left -= !second;
    }
    memcpy(out, left.at, left.left * sizeof(*out));
    memcpy(out + left.left, right.at, right.left * sizeof(*out));
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
            merge((struct keys){from + i, left}, (struct keys){from + i + left, right}, to + i);
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
    uint8_t *put = column_room(&moved, bytes->vec.count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        memcpy(&size, bytes->vec.items + at, sizeof(size));
        begins[i] = at;
        at += sizeof(size) + size;
    }
    for (uint32_t i = 0; i < count && put; i++) {
        uint32_t size;
        memcpy(&size, bytes->vec.items + begins[places[i]], sizeof(size));
        put = mempcpy(put, bytes->vec.items + begins[places[i]], sizeof(size) + size);
    }
    vec_free(&bytes->vec);
    *bytes = moved;
    return moved.failed ? -ENOMEM : 0;
}

/* Where the values of the rows are: those before a row that are there. */
static uint32_t find_places(const struct column *column, const uint32_t *order, uint32_t rows,
                            uint32_t *ranks, uint32_t *places)
{
    uint32_t rank = 0, count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        ranks[i] = rank;
        rank += column->present[i];
    }
    for (uint32_t i = 0; i < rows; i++)
        if (column->present[order[i]])
            places[count++] = ranks[order[i]];
    return count;
}

/* Have all rows the same? */
static bool is_one(const struct column *column, uint32_t rows)
{
    if (column->count == 0)
        return true;
    if (column->count < rows || (column->type == COLUMN_TEXT && !column->dictionary))
        return false;
    if (column->dictionary)
        return column->word_count == 1;
    return memcmp(column->values, column->values + 1, (rows - 1ul) * sizeof(*column->values)) == 0;
}

/* `order`: the rows; `places` and `scratch` are as long. */
static int reorder_column(struct column *column, const uint32_t *order, uint32_t rows,
                          uint32_t *places, void *scratch)
{
    if (is_one(column, rows))
        return 0;
    bool whole = column->count == rows;
    uint32_t count = whole ? rows : find_places(column, order, rows, scratch, places);
    const uint32_t *from = whole ? order : places;
    if (column->dictionary)
        reorder_words(column->indices, from, count, scratch);
    else if (column->type != COLUMN_TEXT)
        reorder_longs(column->values, from, count, scratch);
    else if (reorder_bytes(&column->bytes, from, count, scratch) != 0)
        return -ENOMEM;
    if (!whole)
        reorder_words(column->present, order, rows, scratch);
    return 0;
}

int columns_sort(struct columns *columns)
{
    uint32_t rows = columns->row_count;
    if (!columns->keys)
        return 0;
    uint32_t *order = malloc(2 * (rows + 1ul) * sizeof(*order));
    uint64_t *scratch = malloc((rows + 1ul) * sizeof(*scratch));
    int error = order && scratch ? sort_keys(columns->keys, rows) : -ENOMEM;
    for (uint32_t i = 0; i < rows && !error; i++)
        order[i] = columns->keys[i].row;
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = reorder_column(&columns->items[i], order, rows, order + rows, scratch);
    free(order);
    free(scratch);
    return error;
}
