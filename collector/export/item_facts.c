/* SPDX-License-Identifier: MIT */
/* See item_facts.h. */
#include "item_facts.h"

#include <inttypes.h>
#include <stdio.h>

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

static bool is_shared(const struct track_lines *lines, uint64_t track)
{
    return lines->lines.items[track_lines_find(lines, track)].track_count > 1;
}

static struct fact id_fact(const char *name, uint64_t id, char text[24])
{
    snprintf(text, 24, "0x%" PRIx64, id);
    return (struct fact){.name = name, .kind = VALUE_STRING, .text = text};
}

void track_facts_init(struct track_facts *facts, const struct track_lines *lines,
                      const struct export_ids *ids, const struct event *event, uint32_t depth)
{
    const struct trace_track *track =
        event->id < lines->track_count ? trace_track_get(lines->trace, (uint32_t)event->id) : NULL;
    const struct trace_track *parent =
        track && track->parent ? trace_track_get(lines->trace, track->parent - 1) : NULL;
    struct fact *at = facts->items;
    if (track && depth == 0 && is_shared(lines, event->id)) {
        uint32_t line_name = lines->lines.items[track_lines_find(lines, event->id)].name;
        if (track->name && track->name != line_name)
            *at++ = (struct fact){
                .name = "track", .kind = VALUE_STRING, .value = {.string = track->name}};
        *at++ = id_fact("track_id", track->id, facts->id);
    }
    if (parent && depth == 0 && is_shared(lines, track->parent - 1))
        *at++ = id_fact("parent_track", parent->id, facts->parent_id);
    *at++ = tid_fact(ids, event->kind == EVENT_TRACK_MARK ? "tid" : "start_tid", event->thread);
    at->name = NULL;
}
