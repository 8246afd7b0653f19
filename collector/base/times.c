/* SPDX-License-Identifier: MIT */
/* A natural merge sort: events of several threads form a few rising stretches. */
#include "times.h"

#include <stdbool.h>
#include <string.h>

static size_t end_of_run(const struct time_place *places, size_t begin, size_t count)
{
    size_t end = begin + (begin < count);
    while (end < count && places[end].time_ns >= places[end - 1].time_ns)
        end++;
    return end;
}

/* Merges [begin, middle) and [middle, end) of `from` into `to`. */
static void merge(const struct time_place *from, size_t begin, size_t middle, size_t end,
                  struct time_place *to)
{
    size_t left = begin, right = middle;
    while (left < middle && right < end) { /* branchless: the order is unpredictable */
        bool is_left = from[left].time_ns <= from[right].time_ns;
        to[begin++] = from[is_left ? left : right];
        left += is_left;
        right += !is_left;
    }
    memcpy(to + begin, from + left, (middle - left) * sizeof(*to));
    begin += middle - left;
    memcpy(to + begin, from + right, (end - right) * sizeof(*to));
}

void time_order_sort(struct time_place *places, struct time_place *spare, size_t count)
{
    struct time_place *from = places, *to = spare;
    while (end_of_run(from, 0, count) < count) {
        for (size_t begin = 0; begin < count;) {
            size_t middle = end_of_run(from, begin, count);
            size_t end = end_of_run(from, middle, count);
            merge(from, begin, middle, end, to);
            begin = end;
        }
        struct time_place *swap = from;
        from = to;
        to = swap;
    }
    if (from != places)
        memcpy(places, from, count * sizeof(*places));
}
