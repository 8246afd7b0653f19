/* SPDX-License-Identifier: MIT */
/* Begins and ends of a flame chart. The reader sorts by time, and events of one track and time by
 * their place in the file, which is the chart's own order. */
#include "perfetto_parts.h"

#include "call_label.h"
#include "perfetto_fields.h"

#include <errno.h>
#include <stdlib.h>

static void begin_sequence(struct perfetto_chart *chart)
{
    struct perfetto_output *px = chart->tracks->px;
    struct proto_writer *packet = perfetto_defaults_begin(px, chart->sequence, PX_CLOCK_MONOTONIC);
    proto_end(packet);
    perfetto_packet_end(px);
    chart->begun = true;
}

static struct proto_writer *begin_event(struct perfetto_chart *chart,
                                        const struct flame_chart_event *event,
                                        enum perfetto_event_type type)
{
    struct proto_writer *packet = perfetto_packet_begin(chart->tracks->px);
    proto_int(packet, PX_PACKET_TIMESTAMP, event->time_ns);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, chart->sequence);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    proto_begin(packet, PX_PACKET_TRACK_EVENT);
    proto_uint(packet, PX_EVENT_TYPE, type);
    proto_uint(packet, PX_EVENT_TRACK_UUID, chart->track_uuids[event->thread]);
    return packet;
}

static void put_name(struct perfetto_chart *chart, struct proto_writer *packet, uint32_t function)
{
    char label[CALL_LABEL_SIZE];
    size_t length = frame_label(chart->chart.names, function, label, sizeof(label));
    chart->known[function] = true;
    proto_begin(packet, PX_PACKET_INTERNED_DATA);
    proto_begin(packet, PX_INTERNED_EVENT_NAMES);
    proto_uint(packet, PX_INTERNED_IID, function + 1ull);
    proto_bytes(packet, PX_INTERNED_NAME, label, length);
    proto_end(packet);
    proto_end(packet);
}

static int on_begin(void *context, const struct flame_chart_event *event)
{
    struct perfetto_chart *chart = context;
    uint32_t thread = event->thread, function = event->function;
    if (!chart->begun)
        begin_sequence(chart);
    if (!chart->track_uuids[thread])
        chart->track_uuids[thread] = perfetto_thread_child(chart->tracks, thread, PERFETTO_STACKS);
    struct proto_writer *packet = begin_event(chart, event, PX_SLICE_BEGIN);
    proto_uint(packet, PX_EVENT_NAME_IID, function + 1ull);
    proto_end(packet);
    if (function < chart->frame_count && !chart->known[function])
        put_name(chart, packet, function);
    perfetto_packet_end(chart->tracks->px);
    return chart->tracks->px->error;
}

static int on_end(void *context, const struct flame_chart_event *event)
{
    struct perfetto_chart *chart = context;
    struct proto_writer *packet = begin_event(chart, event, PX_SLICE_END);
    proto_end(packet);
    perfetto_packet_end(chart->tracks->px);
    return chart->tracks->px->error;
}

int perfetto_chart_init(struct perfetto_chart *chart, struct perfetto_tracks *tracks,
                        struct frame_names *names, uint32_t number)
{
    const struct trace *trace = tracks->px->trace;
    const struct flame_chart_sink sink = {on_begin, on_end, chart};
    *chart = (struct perfetto_chart){.tracks = tracks, .sequence = number};
    chart->frame_count = stacks_frame_count(trace_stacks_get(trace));
    chart->known = calloc(chart->frame_count + 1u, sizeof(*chart->known));
    chart->track_uuids = calloc(trace_thread_count(trace) + 1u, sizeof(*chart->track_uuids));
    if (!chart->known || !chart->track_uuids)
        return -ENOMEM;
    return flame_chart_init(&chart->chart, names, &sink);
}

void perfetto_chart_fini(struct perfetto_chart *chart)
{
    flame_chart_fini(&chart->chart);
    free(chart->known);
    free(chart->track_uuids);
    *chart = (struct perfetto_chart){0};
}
