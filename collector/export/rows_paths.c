/* SPDX-License-Identifier: MIT */
/* See export_rows.h. Ranges of a lane follow each other, so most of a path is that of the
 * range before. */
#include "export_rows.h"

#include <errno.h>

enum { NUMBERS_MAX = 1 << 17 };

static bool is_same(const struct rows_link *link, const struct event *event)
{
    return link->name == event->name && link->scope == event->scope;
}

/* The number of a key, given if it is new. 0: no memory. */
static uint32_t number_of(struct rows_paths *paths, struct map64 *map, uint64_t key)
{
    const uint64_t *known = map64_find(map, key);
    if (known)
        return (uint32_t)*known;
    return map64_put(map, key, ++paths->given) == 0 ? paths->given : 0;
}

/* One more range below what is there. */
static int add_link(struct rows_paths *paths, const struct event *event)
{
    uint64_t around = paths->last.count ? paths->last.items[paths->last.count - 1].number : 0;
    uint64_t name = ((uint64_t)event->scope << 32) + event->name + 1;
    uint32_t named = number_of(paths, &paths->names, name);
    uint32_t number = named ? number_of(paths, &paths->numbers, around << 32 | named) : 0;
    const struct rows_link link = {event->name, event->scope, number};
    return number ? vec_push(&paths->last, link) : -ENOMEM;
}

static void forget(struct rows_paths *paths)
{
    map64_free(&paths->numbers);
    map64_free(&paths->names);
}

int64_t rows_paths_find(struct rows_paths *paths, const struct item *item)
{
    size_t same = 0;
    if (paths->numbers.count + paths->names.count > NUMBERS_MAX)
        forget(paths);
    while (same < paths->last.count && same < item->depth &&
           is_same(&paths->last.items[same], item->parents[same]))
        same++;
    paths->last.count = same;
    for (size_t i = same; i < item->depth; i++)
        if (add_link(paths, item->parents[i]) != 0)
            return -ENOMEM;
    if (add_link(paths, item->event) != 0)
        return -ENOMEM;
    return paths->last.items[item->depth].number;
}

void rows_paths_fini(struct rows_paths *paths)
{
    vec_free(&paths->last);
    forget(paths);
}
