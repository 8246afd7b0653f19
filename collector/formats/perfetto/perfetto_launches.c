/* SPDX-License-Identifier: MIT */
/* See perfetto_parts.h. */
#include "perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

/* Numbers of arrows of flows are below. */
#define FIRST_ARROW (UINT64_C(1) << 62)

static int compare(const void *a, const void *b)
{
    const struct perfetto_launch *one = a, *other = b;
    if (one->thread != other->thread)
        return one->thread < other->thread ? -1 : 1;
    if (one->origin_ns != other->origin_ns)
        return one->origin_ns < other->origin_ns ? -1 : 1;
    return one->arrow < other->arrow ? -1 : one->arrow > other->arrow;
}

static bool is_same(const struct perfetto_launch *one, const struct perfetto_launch *other)
{
    return one->thread == other->thread && one->origin_ns == other->origin_ns;
}

static int place_all(struct perfetto_launches *launches)
{
    const struct perfetto_launch *items = launches->items.items;
    size_t count = launches->items.count;
    int status = 0;
    if (count > 1)
        qsort(launches->items.items, count, sizeof(*items), compare);
    for (size_t i = 0, end; !status && i < count; i = end) {
        for (end = i + 1; end < count && is_same(&items[i], &items[end]);)
            end++;
        status = launches->place(launches->context, &items[i], (uint32_t)(end - i));
    }
    launches->items.count = 0;
    return status;
}

int perfetto_launches_add(struct perfetto_launches *launches, const struct event *span,
                          uint64_t *ret_arrow)
{
    const struct perfetto_launch launch = {.origin_ns = span->origin_ns,
                                           .arrow = FIRST_ARROW + launches->arrow_count,
                                           .thread = span->thread};
    *ret_arrow = 0;
    if (span->origin_ns == EVENT_NO_ORIGIN)
        return 0;
    if (vec_push(&launches->items, launch) != 0)
        return -ENOMEM;
    launches->arrow_count++;
    *ret_arrow = launch.arrow;
    return launches->items.count < PERFETTO_LAUNCHES_MAX ? 0 : place_all(launches);
}

int perfetto_launches_finish(struct perfetto_launches *launches)
{
    return place_all(launches);
}

void perfetto_launches_fini(struct perfetto_launches *launches)
{
    vec_free(&launches->items);
}
