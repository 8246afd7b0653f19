/* SPDX-License-Identifier: MIT */
/* The tree of lanes.h. A free lane ends at INT64_MIN, so it suits every range. */
#include "lanes.h"

#include <errno.h>
#include <stdlib.h>

void lanes_set_end(struct lanes *lanes, uint32_t lane, int64_t end_ns)
{
    uint32_t at = lanes->capacity + lane;
    lanes->ends[at] = end_ns;
    for (at /= 2; at > 0; at /= 2) {
        int64_t left = lanes->ends[2ul * at], right = lanes->ends[2ul * at + 1];
        lanes->ends[at] = left < right ? left : right;
    }
}

static int grow(struct lanes *lanes)
{
    struct lanes grown = {.capacity = lanes->capacity ? lanes->capacity * 2 : 4};
    grown.ends = malloc(2 * (size_t)grown.capacity * sizeof(*grown.ends));
    if (!grown.ends)
        return -ENOMEM;
    for (uint32_t i = 0; i < 2 * grown.capacity; i++)
        grown.ends[i] = INT64_MIN;
    for (uint32_t i = 0; i < lanes->capacity; i++)
        lanes_set_end(&grown, i, lanes->ends[lanes->capacity + i]);
    free(lanes->ends);
    *lanes = grown;
    return 0;
}

int64_t lanes_take(struct lanes *lanes, int64_t start_ns, int64_t end_ns)
{
    if ((lanes->capacity == 0 || lanes->ends[1] > start_ns) && grow(lanes) < 0)
        return -ENOMEM;
    uint32_t at = 1;
    while (at < lanes->capacity)
        at = lanes->ends[2ul * at] <= start_ns ? 2 * at : 2 * at + 1;
    uint32_t lane = at - lanes->capacity;
    lanes_set_end(lanes, lane, end_ns);
    return lane;
}

void lanes_fini(struct lanes *lanes)
{
    free(lanes->ends);
    *lanes = (struct lanes){0};
}
