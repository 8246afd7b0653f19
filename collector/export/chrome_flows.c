/* SPDX-License-Identifier: MIT */
/* See chrome_parts.h. */
#include "chrome_parts.h"

/* Both ends of an arrow have the same name, category and id, or they are no pair. */
static void put_end(struct chrome_writer *writer, char phase, const struct flow_point *point,
                    uint64_t arrow)
{
    chrome_begin_text(writer, phase, FLOW_UNNAMED);
    chrome_place(writer, point->thread, point->time_ns);
    chrome_text(writer, "cat", FLOW_UNNAMED);
    chrome_number(writer, "id", arrow);
    if (phase == 'f')
        chrome_text(writer, "bp", "e"); /* what is around it, not what comes next */
    chrome_end(writer);
}

int chrome_put_flow(void *context, const struct flow_place *place)
{
    struct chrome_writer *writer = context;
    const struct flow_point *point = place->point;
    uint32_t name = point->name ? point->name : place->name;
    uint32_t category = chrome_category(writer, point->scope);
    struct flow_text text;
    struct fact flow = flow_fact(point, &text);
    if (point->thread >= writer->thread_count)
        return 0;
    if (name)
        chrome_begin(writer, 'i', name);
    else
        chrome_begin_text(writer, 'i', FLOW_UNNAMED);
    chrome_place(writer, point->thread, point->time_ns);
    chrome_text(writer, "s", "t");
    if (category)
        chrome_string(writer, "cat", category);
    chrome_argument(writer, &flow);
    chrome_end(writer);
    if (place->arrives)
        put_end(writer, 'f', point, place->arrives);
    for (uint32_t i = 0; i < place->leave_count; i++)
        put_end(writer, 's', point, place->leaves + i);
    return 0;
}
