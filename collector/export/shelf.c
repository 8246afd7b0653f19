/* SPDX-License-Identifier: MIT */
/* The tree of shelf.h. A free shelf ends at INT64_MIN, so it suits every range. */
#include "shelf.h"

#include <errno.h>
#include <stdlib.h>

void shelves_set_end(struct shelves *shelves, uint32_t shelf, int64_t end_ns)
{
    uint32_t at = shelves->capacity + shelf;
    shelves->ends[at] = end_ns;
    for (at /= 2; at > 0; at /= 2) {
        int64_t left = shelves->ends[2ul * at], right = shelves->ends[2ul * at + 1];
        shelves->ends[at] = left < right ? left : right;
    }
}

static int grow(struct shelves *shelves)
{
    struct shelves grown = {.capacity = shelves->capacity ? shelves->capacity * 2 : 4};
    grown.ends = malloc(2 * (size_t)grown.capacity * sizeof(*grown.ends));
    if (!grown.ends)
        return -ENOMEM;
    for (uint32_t i = 0; i < 2 * grown.capacity; i++)
        grown.ends[i] = INT64_MIN;
    for (uint32_t i = 0; i < shelves->capacity; i++)
        shelves_set_end(&grown, i, shelves->ends[shelves->capacity + i]);
    free(shelves->ends);
    *shelves = grown;
    return 0;
}

int64_t shelves_take(struct shelves *shelves, int64_t start_ns, int64_t end_ns)
{
    if ((shelves->capacity == 0 || shelves->ends[1] > start_ns) && grow(shelves) < 0)
        return -ENOMEM;
    uint32_t at = 1;
    while (at < shelves->capacity)
        at = shelves->ends[2ul * at] <= start_ns ? 2 * at : 2 * at + 1;
    uint32_t shelf = at - shelves->capacity;
    shelves_set_end(shelves, shelf, end_ns);
    return shelf;
}

void shelves_fini(struct shelves *shelves)
{
    free(shelves->ends);
    *shelves = (struct shelves){0};
}
