/* SPDX-License-Identifier: MIT */
/* See perfetto_parts.h. */
#include "perfetto_parts.h"

#include "perfetto_fields.h"

void perfetto_put_flow(struct perfetto_tracks *tracks, uint64_t track_uuid,
                       const struct flow_place *place)
{
    const struct flow_point *point = place->point;
    struct flow_text text;
    const struct event instant = {
        .kind = EVENT_MARK,
        .name = point->name ? point->name : place->name,
        .scope = point->scope,
        .thread = point->thread,
    };
    struct fact facts[2] = {flow_fact(point, &text)};
    perfetto_put(tracks->px, tracks->session,
                 &(struct perfetto_event){
                     .time_ns = point->time_ns,
                     .type = PX_INSTANT,
                     .track_uuid = track_uuid,
                     .event = &instant,
                     .text = instant.name ? NULL : FLOW_UNNAMED,
                     .arguments = facts,
                     .flow = place,
                 });
}
