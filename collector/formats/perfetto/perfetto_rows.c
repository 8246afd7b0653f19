/* SPDX-License-Identifier: MIT */
/* Rows of threads made of samples: flame charts, and the states beside them. The reader sorts by
 * time, and events of one track and time by their place in the file, which is the order of both. */
#include "perfetto_rows.h"

#include "perfetto_sequence.h"
#include "perfetto_tracks.h"

#include "call_label.h"
#include "perfetto_fields.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Flame chart ----------------------------------------------------------------------------- */

static void begin_chart(struct perfetto_chart *chart)
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
    perfetto_put_time(chart->tracks->px, PX_PACKET_TIMESTAMP, event->time_ns);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, chart->sequence);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    proto_begin(packet, PX_PACKET_TRACK_EVENT);
    proto_uint(packet, PX_EVENT_TYPE, type);
    proto_uint(packet, PX_EVENT_TRACK_UUID, chart->track_uuids[event->thread]);
    return packet;
}

static void put_label(struct perfetto_chart *chart, struct proto_writer *packet, uint32_t ordinal)
{
    char label[CALL_LABEL_SIZE];
    size_t length =
        flame_chart_label(chart->tracks->px->trace, ordinal, chart->prefixes, label, sizeof(label));
    chart->known[ordinal] = true;
    proto_begin(packet, PX_PACKET_INTERNED_DATA);
    proto_begin(packet, PX_INTERNED_EVENT_NAMES);
    proto_uint(packet, PX_INTERNED_IID, ordinal + 1ull);
    proto_bytes(packet, PX_INTERNED_NAME, label, length);
    proto_end(packet);
    proto_end(packet);
}

static int on_begin(void *context, const struct flame_chart_event *event)
{
    struct perfetto_chart *chart = context;
    uint32_t thread = event->thread, label = event->label;
    if (!chart->begun)
        begin_chart(chart);
    if (!chart->track_uuids[thread])
        chart->track_uuids[thread] = perfetto_thread_child(chart->tracks, thread, PERFETTO_STACKS);
    struct proto_writer *packet = begin_event(chart, event, PX_SLICE_BEGIN);
    proto_uint(packet, PX_EVENT_NAME_IID, label + 1ull);
    proto_end(packet);
    if (label < chart->label_count && !chart->known[label])
        put_label(chart, packet, label);
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
                        const struct export_job *job, uint32_t number)
{
    const struct trace *trace = tracks->px->trace;
    const struct flame_chart_sink sink = {on_begin, on_end, chart};
    *chart = (struct perfetto_chart){
        .tracks = tracks, .prefixes = job->options->strip_prefix, .sequence = number};
    chart->label_count = stacks_label_count(trace_stacks_get(trace));
    chart->known = calloc(chart->label_count + 1u, sizeof(*chart->known));
    chart->track_uuids = calloc(trace_thread_count(trace) + 1u, sizeof(*chart->track_uuids));
    if (!chart->known || !chart->track_uuids)
        return -ENOMEM;
    return flame_chart_init(&chart->chart, job, &sink);
}

void perfetto_chart_fini(struct perfetto_chart *chart)
{
    flame_chart_fini(&chart->chart);
    free(chart->known);
    free(chart->track_uuids);
    *chart = (struct perfetto_chart){0};
}

/* ---- States ---------------------------------------------------------------------------------- */

uint32_t perfetto_innermost(const struct trace *trace, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t native = 0;
    for (; stack; stack = stacks_get_stack(stacks, stack)->parent) {
        uint32_t frame = stacks_get_stack(stacks, stack)->frame;
        unsigned kind = stacks_get_frame(stacks, frame)->kind;
        if (kind == FRAME_PYTHON)
            return frame;
        if (!native && kind != FRAME_KERNEL && kind != FRAME_NOTE)
            native = frame;
    }
    return native;
}

/* Facts of a wait: its place, and that it did not end. */
static void put_wait_facts(const struct perfetto_state_rows *rows,
                           const struct thread_stretch *stretch, struct fact *at, char *label)
{
    const struct trace *trace = rows->tracks->px->trace;
    const struct sample *wait = stretch->wait;
    uint32_t frame = wait ? perfetto_innermost(trace, wait->stack) : 0;
    if (frame) {
        call_frame_label(trace, frame, rows->prefixes, label, CALL_LABEL_SIZE);
        *at++ = (struct fact){.name = "in", .kind = VALUE_STRING, .text = label};
    }
    if (wait && (wait->flags & SAMPLE_UNFINISHED))
        *at++ = (struct fact){.name = "unfinished", .kind = VALUE_BOOL, .value = {.uint64 = 1}};
}

static int put_stretch(void *context, const struct thread_stretch *stretch)
{
    struct perfetto_state_rows *rows = context;
    struct perfetto_tracks *tracks = rows->tracks;
    uint64_t *uuid = &rows->track_uuids[stretch->thread];
    char label[CALL_LABEL_SIZE];
    struct fact facts[3] = {{0}};
    if (!*uuid)
        *uuid = perfetto_thread_child(tracks, stretch->thread, PERFETTO_STATE);
    put_wait_facts(rows, stretch, facts, label);
    perfetto_put(tracks->px, tracks->session,
                 &(struct perfetto_event){.time_ns = stretch->begin_ns,
                                          .type = PX_SLICE_BEGIN,
                                          .track_uuid = *uuid,
                                          .text = thread_stretch_name(stretch),
                                          .arguments = facts});
    perfetto_put(tracks->px, tracks->session,
                 &(struct perfetto_event){
                     .time_ns = stretch->end_ns, .type = PX_SLICE_END, .track_uuid = *uuid});
    return tracks->px->error;
}

int perfetto_state_rows_init(struct perfetto_state_rows *rows, struct perfetto_tracks *tracks,
                             const struct export_job *job)
{
    const struct trace *trace = tracks->px->trace;
    const struct thread_states_sink sink = {put_stretch, rows};
    *rows = (struct perfetto_state_rows){.tracks = tracks, .prefixes = job->options->strip_prefix};
    rows->track_uuids = calloc(trace_thread_count(trace) + 1u, sizeof(*rows->track_uuids));
    return rows->track_uuids ? thread_states_init(&rows->states, trace, job->selection, &sink)
                             : -ENOMEM;
}

void perfetto_state_rows_fini(struct perfetto_state_rows *rows)
{
    thread_states_fini(&rows->states);
    free(rows->track_uuids);
    *rows = (struct perfetto_state_rows){0};
}
