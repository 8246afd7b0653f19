/* SPDX-License-Identifier: MIT */
/* See track_facts.h. */
#include "track_facts.h"

#include "end_facts.h"

#include <inttypes.h>
#include <stdio.h>

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
