/* SPDX-License-Identifier: MIT */
/* See end_facts.h. */
#include "end_facts.h"

struct fact tid_fact(const struct export_ids *ids, const char *name, uint32_t thread)
{
    union value tid = {.uint64 = thread < ids->thread_count ? ids->tids[thread] : 0};
    return (struct fact){.name = name, .kind = VALUE_UINT64, .value = tid};
}

void end_facts_init(struct end_facts *facts, const struct export_ids *ids, const struct item *item)
{
    struct fact *at = facts->items;
    const union value yes = {.uint64 = 1};
    if (item->flags & ITEM_UNFINISHED)
        *at++ = (struct fact){.name = "unfinished", .kind = VALUE_BOOL, .value = yes};
    if (item->flags & ITEM_END_LOST)
        *at++ = (struct fact){.name = "end_lost", .kind = VALUE_BOOL, .value = yes};
    if (!(item->flags & ITEM_LACKS_END) && item->end_thread != item->event->thread)
        *at++ = tid_fact(ids, "end_tid", item->end_thread);
    at->name = NULL;
}
