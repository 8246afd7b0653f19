/* SPDX-License-Identifier: MIT */
/* A sorted array of what is free. Thread-safety: none. */
#include "extents.h"

#include <errno.h>
#include <string.h>

int extents_init(struct extents *extents, uint32_t count)
{
    *extents = (struct extents){0};
    return vec_push(&extents->free, ((struct extent){0, count}));
}

void extents_fini(struct extents *extents)
{
    vec_free(&extents->free);
}

static void remove_at(struct extents *extents, size_t index)
{
    struct extent *at = extents->free.items + index;
    extents->free.count--;
    memmove(at, at + 1, (extents->free.count - index) * sizeof(*at));
}

int64_t extents_take(struct extents *extents, uint32_t count)
{
    for (size_t i = 0; i < extents->free.count; i++) {
        struct extent *extent = &extents->free.items[i];
        if (extent->count < count)
            continue;
        uint32_t first = extent->first;
        extent->first += count;
        extent->count -= count;
        if (extent->count == 0)
            remove_at(extents, i);
        return first;
    }
    return -ENOSPC;
}

int extents_give(struct extents *extents, uint32_t first, uint32_t count)
{
    size_t index = 0;
    while (index < extents->free.count && extents->free.items[index].first < first)
        index++;
    if (count == 0)
        return 0;
    if (vec_reserve(&extents->free, 1) != 0)
        return -ENOMEM;
    struct extent *at = extents->free.items + index;
    memmove(at + 1, at, (extents->free.count - index) * sizeof(*at));
    *at = (struct extent){first, count};
    extents->free.count++;
    if (index + 1 < extents->free.count && first + count == at[1].first) {
        at[0].count += at[1].count;
        remove_at(extents, index + 1);
    }
    if (index > 0 && at[-1].first + at[-1].count == first) {
        at[-1].count += at[0].count;
        remove_at(extents, index);
    }
    return 0;
}
