/* SPDX-License-Identifier: MIT */
/* See perfetto_parts.h. Children of a line are below its first shelf: the reader puts tracks of one
 * name together only where they have the same parent. */
#include "perfetto_parts.h"

#include "item_facts.h"
#include "perfetto_fields.h"

static int describe(void *context, uint32_t line, int64_t time_ns, uint64_t *ret_id)
{
    struct perfetto_lines *lines = context;
    struct perfetto_tracks *tracks = lines->tracks;
    const struct track_line *entry = &lines->lines.lines.items[line];
    struct trace_string label = track_line_label(&lines->lines, line);
    uint64_t parent = 0;
    if (entry->parent) {
        int error = track_line_id(&lines->lines, entry->parent - 1, time_ns, &parent);
        if (error)
            return error;
    } else if (entry->process < trace_process_count(tracks->px->trace)) {
        parent = perfetto_process_uuid(entry->process);
    }
    uint64_t uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, uuid);
    if (parent)
        proto_uint(packet, PX_TRACK_PARENT_UUID, parent);
    proto_uint(packet, PX_TRACK_CHILD_ORDERING, PX_CHILDREN_EXPLICIT);
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK, PERFETTO_RANK_TRACKS + line);
    proto_bytes(packet, PX_TRACK_NAME, label.bytes, label.length);
    perfetto_track_end(tracks);
    *ret_id = uuid;
    return tracks->px->error;
}

int perfetto_lines_init(struct perfetto_lines *lines, struct perfetto_tracks *tracks)
{
    lines->tracks = tracks;
    lines->lines.describe = describe;
    lines->lines.context = lines;
    return track_lines_init(&lines->lines, tracks->px->trace);
}

void perfetto_lines_fini(struct perfetto_lines *lines)
{
    track_lines_fini(&lines->lines);
}

static int put(struct perfetto_lines *lines, const struct perfetto_event *event)
{
    perfetto_put(lines->tracks->px, lines->tracks->session, event);
    return lines->tracks->px->error;
}

static int put_begin(struct perfetto_lines *lines, const struct item *item)
{
    const struct event *begin = item->event;
    struct track_facts facts;
    uint64_t uuid;
    int error = track_lines_open(&lines->lines, begin, item->depth, &uuid);
    if (error)
        return error;
    track_facts_init(&facts, &lines->lines, lines->tracks->ids, begin, item->depth);
    return put(lines, &(struct perfetto_event){.time_ns = begin->time_ns,
                                               .type = PX_SLICE_BEGIN,
                                               .track_uuid = uuid,
                                               .event = begin,
                                               .values = &item->args,
                                               .arguments = facts.items});
}

static int put_end(struct perfetto_lines *lines, const struct item *item)
{
    struct end_facts facts;
    uint64_t uuid;
    int error = track_lines_close(&lines->lines, item->event->id, item->depth, item->end_ns, &uuid);
    if (error)
        return error;
    const struct args values = item_end_args(item);
    end_facts_init(&facts, lines->tracks->ids, item);
    return put(lines, &(struct perfetto_event){.time_ns = item->end_ns,
                                               .type = PX_SLICE_END,
                                               .track_uuid = uuid,
                                               .values = &values,
                                               .arguments = facts.items});
}

static int put_mark(struct perfetto_lines *lines, const struct item *item)
{
    const struct event *mark = item->event;
    struct track_facts facts;
    uint64_t uuid;
    int error = track_lines_mark(&lines->lines, mark, item->depth, &uuid);
    if (error)
        return error;
    track_facts_init(&facts, &lines->lines, lines->tracks->ids, mark, item->depth);
    return put(lines, &(struct perfetto_event){.time_ns = mark->time_ns,
                                               .type = PX_INSTANT,
                                               .track_uuid = uuid,
                                               .event = mark,
                                               .values = &item->args,
                                               .arguments = facts.items});
}

int perfetto_lines_take(struct perfetto_lines *lines, const struct item *item)
{
    switch (item->kind) {
    case ITEM_OPENED:
        return put_begin(lines, item);
    case ITEM_SPAN:
        return put_end(lines, item);
    case ITEM_INSTANT:
        return put_mark(lines, item);
    default:
        return 0;
    }
}
