/* SPDX-License-Identifier: MIT */
/* The native format of ui.perfetto.dev: protobuf track events.
 *
 * Pushed ranges are a begin and an end on their thread's sequence; ranges that may overlap lie on
 * lanes below their process, gaps on a track "lost" below their thread; both go onto the session's
 * sequence, as they are known only when they end. Samples, thread states and flame charts have
 * sequences behind those of the threads. The reader sorts by time, and events of equal
 * time by their place in the file, which is right for each track. Times are CLOCK_MONOTONIC, which
 * is made the trace's clock, so that the reader converts nothing. Thread-safety: none. */
#include "call_label.h"
#include "end_facts.h"
#include "export.h"
#include "flame_chart.h"
#include "perfetto_chart.h"
#include "perfetto_counters.h"
#include "perfetto_fields.h"
#include "perfetto_flows.h"
#include "perfetto_lines.h"
#include "perfetto_samples.h"
#include "perfetto_states.h"
#include "perfetto_tracks.h"

#include <errno.h>
#include <stdlib.h>

struct state {
    struct perfetto_output px;
    struct export_ids ids;
    struct perfetto_tracks tracks;
    struct perfetto_sequence session;
    struct perfetto_sequence *threads; /* begun at their first event */
    uint32_t thread_count;
    struct frame_names names;
    struct perfetto_counters counters;
    struct perfetto_lines lines;
    struct flow_arrows flows;
    struct perfetto_samples samples;
    struct perfetto_states states;
    struct perfetto_chart chart;
    bool has_states, has_chart;
};

static int begin_samples(struct state *s, const struct export_job *job)
{
    uint32_t number = PERFETTO_SEQUENCE_THREADS + s->thread_count;
    const char *prefixes = job->options->strip_prefix; /* the reader shows paths elsewhere */
    s->names = (struct frame_names){.trace = job->trace,
                                    .prefixes = prefixes ? prefixes : CALL_STRIP_FOLDERS};
    s->has_states = trace_sampling_get(job->trace)->off_cpu;
    s->has_chart =
        job->options->flame_chart && stacks_stack_count(trace_stacks_get(job->trace)) > 1;
    int error = perfetto_samples_init(&s->samples, &s->tracks, &s->names, number);
    if (!error && s->has_states)
        error = perfetto_states_init(&s->states, &s->tracks, &s->names, number + 1);
    s->states.to_ns = job->options->to_ns;
    if (!error && s->has_chart)
        error = perfetto_chart_init(&s->chart, &s->tracks, &s->names, number + 2);
    s->chart.chart.python = job->options->python;
    return error;
}

/* Where ranges lie. The reader puts a thread's own track below all that are below the thread, and
 * these by name: beside a flame chart ranges are on one of these, and stand above it. */
static uint64_t track_of(struct state *s, uint32_t thread)
{
    return s->has_chart ? perfetto_thread_child(&s->tracks, thread, PERFETTO_RANGES)
                        : perfetto_thread_uuid(&s->tracks, thread);
}

/* NULL for a thread that the recording does not define. */
static struct perfetto_sequence *sequence_of(struct state *s, uint32_t thread)
{
    if (thread >= s->thread_count)
        return NULL;
    struct perfetto_sequence *sequence = &s->threads[thread];
    if (sequence->id == 0)
        perfetto_sequence_begin(&s->px, sequence, PERFETTO_SEQUENCE_THREADS + thread,
                                track_of(s, thread));
    return sequence;
}

static int put_counter(void *context, const struct event *event, uint64_t uuid)
{
    struct state *s = context;
    perfetto_put(
        &s->px, sequence_of(s, event->thread),
        &(struct perfetto_event){
            .time_ns = event->time_ns, .type = PX_COUNTER, .track_uuid = uuid, .event = event});
    return s->px.error;
}

/* Where the thread's ranges are. */
static int put_flow(void *context, const struct flow_place *place)
{
    struct state *s = context;
    const struct perfetto_sequence *sequence = sequence_of(s, place->point->thread);
    if (sequence)
        perfetto_put_flow(&s->tracks, sequence->track_uuid, place);
    return s->px.error;
}

static int begin_toolkit(struct state *s)
{
    s->flows.place = put_flow;
    s->flows.context = s;
    s->counters.put = put_counter;
    s->counters.context = s;
    int error = export_keys_init(&s->px.keys, s->px.trace);
    if (!error)
        error = perfetto_counters_init(&s->counters, &s->tracks);
    return error ? error : perfetto_lines_init(&s->lines, &s->tracks);
}

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct trace *trace = job->trace;
    s->px = (struct perfetto_output){.trace = trace, .out = job->out};
    s->px.begin_ns = trace_begin_ns(trace);
    s->thread_count = trace_thread_count(trace);
    s->threads = calloc(s->thread_count + 1u, sizeof(*s->threads));
    int error = export_ids_init(&s->ids, trace);
    if (!s->threads || error)
        return -ENOMEM;
    s->session.absolute = true;
    s->tracks = (struct perfetto_tracks){.px = &s->px, .session = &s->session, .ids = &s->ids};
    perfetto_sequence_begin(&s->px, &s->session, PERFETTO_SEQUENCE_SESSION, 0);
    perfetto_describe_all(&s->tracks);
    perfetto_begin_session(&s->tracks);
    error = begin_toolkit(s);
    if (!error)
        error = s->px.error;
    return error ? error : begin_samples(s, job);
}

/* On the thread's own track. */
static void put_named(struct state *s, uint8_t type, const struct event *event,
                      const struct slice_values *values)
{
    struct perfetto_sequence *sequence = sequence_of(s, event->thread);
    if (!sequence)
        return;
    if (values->count == 0)
        perfetto_put_named(&s->px, sequence, type, event);
    else
        perfetto_put(
            &s->px, sequence,
            &(struct perfetto_event){
                .time_ns = event->time_ns, .type = type, .event = event, .values = values});
}

static int on_opened(void *context, const struct event *event, const struct slice_values *values,
                     uint32_t depth)
{
    (void)depth;
    put_named(context, PX_SLICE_BEGIN, event, values);
    return ((struct state *)context)->px.error;
}

static int on_pushed(void *context, const struct slice *slice)
{
    struct state *s = context;
    struct perfetto_sequence *sequence = sequence_of(s, slice->begin->thread);
    if (!sequence)
        return 0;
    if (slice->flags == 0 && slice->end_value_count == 0) {
        perfetto_put_end(&s->px, sequence, slice->end_ns);
        return s->px.error;
    }
    struct end_facts facts;
    const struct slice_values values = slice_end_values(slice);
    end_facts_init(&facts, &s->ids, slice);
    perfetto_put(&s->px, sequence,
                 &(struct perfetto_event){.time_ns = slice->end_ns,
                                          .type = PX_SLICE_END,
                                          .values = &values,
                                          .arguments = facts.items});
    return s->px.error;
}

static int on_started(void *context, const struct slice *slice)
{
    struct state *s = context;
    const struct event *event = slice->begin;
    uint64_t uuid;
    if (event->thread >= s->thread_count)
        return 0;
    int error = perfetto_range_track(&s->tracks, event, slice->end_ns, &uuid);
    if (error)
        return error;
    struct fact started[2] = {tid_fact(&s->ids, "start_tid", event->thread)};
    perfetto_put(&s->px, &s->session,
                 &(struct perfetto_event){.time_ns = event->time_ns,
                                          .type = PX_SLICE_BEGIN,
                                          .track_uuid = uuid,
                                          .event = event,
                                          .values = &slice->values,
                                          .arguments = started});
    struct end_facts facts;
    end_facts_init(&facts, &s->ids, slice);
    perfetto_put(&s->px, &s->session,
                 &(struct perfetto_event){.time_ns = slice->end_ns,
                                          .type = PX_SLICE_END,
                                          .track_uuid = uuid,
                                          .arguments = facts.items});
    return s->px.error;
}

static int on_mark(void *context, const struct event *event, const struct slice_values *values)
{
    put_named(context, PX_INSTANT, event, values);
    return ((struct state *)context)->px.error;
}

static int on_counter(void *context, const struct event *event)
{
    struct state *s = context;
    return event->thread < s->thread_count ? perfetto_counters_add(&s->counters, event) : 0;
}

static int on_lost(void *context, const struct event *event)
{
    struct state *s = context;
    char label[EXPORT_NOTE_SIZE];
    uint64_t uuid;
    if (event->thread >= s->thread_count)
        return 0;
    int error = perfetto_lost_track(&s->tracks, event, &uuid);
    if (error)
        return error;
    export_lost_label(event, label);
    struct fact lost[2] = {{.name = "lost", .kind = VALUE_UINT64, .value = event->value}};
    perfetto_put(&s->px, &s->session,
                 &(struct perfetto_event){.time_ns = event->time_ns,
                                          .type = PX_SLICE_BEGIN,
                                          .track_uuid = uuid,
                                          .text = label,
                                          .arguments = lost});
    perfetto_put(&s->px, &s->session,
                 &(struct perfetto_event){
                     .time_ns = event->end_ns, .type = PX_SLICE_END, .track_uuid = uuid});
    return s->px.error;
}

static int on_flow(void *context, const struct event *event)
{
    return flow_arrows_add(&((struct state *)context)->flows, event);
}

static int on_track_opened(void *context, const struct event *begin,
                           const struct slice_values *values, uint32_t depth)
{
    return perfetto_lines_opened(&((struct state *)context)->lines, begin, values, depth);
}

static int on_track_closed(void *context, const struct slice *slice)
{
    return perfetto_lines_closed(&((struct state *)context)->lines, slice);
}

static int on_track_mark(void *context, const struct event *event,
                         const struct slice_values *values, uint32_t depth)
{
    return perfetto_lines_mark(&((struct state *)context)->lines, event, values, depth);
}

static struct slice_sink sink(void *state)
{
    return (struct slice_sink){
        .opened = on_opened,
        .pushed = on_pushed,
        .started = on_started,
        .mark = on_mark,
        .counter = on_counter,
        .lost = on_lost,
        .flow = on_flow,
        .track_opened = on_track_opened,
        .track_closed = on_track_closed,
        .track_mark = on_track_mark,
        .context = state,
    };
}

static int on_sample(void *context, const struct sample *sample)
{
    struct state *s = context;
    int error = 0;
    if (sample->kind == SAMPLE_CPU)
        error = perfetto_samples_put(&s->samples, sample);
    if (!error && s->has_states)
        error = perfetto_states_put(&s->states, sample);
    if (!error && s->has_chart)
        error = flame_chart_add(&s->chart.chart, sample);
    return error;
}

static struct sample_sink samples(void *state)
{
    return (struct sample_sink){.sample = on_sample, .context = state};
}

/* Last words, on the threads that said them. */
static void put_notes(struct state *s)
{
    const union value yes = {.uint64 = 1};
    const struct fact last_word[2] = {{.name = "last_word", .kind = VALUE_BOOL, .value = yes}};
    for (uint32_t i = 0; i < s->ids.process_count; i++) {
        const struct trace_process *process = trace_process_get(s->px.trace, i);
        const struct perfetto_sequence *sequence =
            process->note && process->note_thread ? sequence_of(s, process->note_thread - 1) : NULL;
        const struct event note = {.kind = EVENT_MARK, .name = process->note};
        if (process->note)
            perfetto_put(
                &s->px, &s->session,
                &(struct perfetto_event){
                    .time_ns = export_note_time_ns(s->px.trace, i),
                    .type = PX_INSTANT,
                    .track_uuid = sequence ? sequence->track_uuid : perfetto_process_uuid(i),
                    .event = &note,
                    .arguments = last_word,
                });
    }
}

static int end(void *state)
{
    struct state *s = state;
    int error = perfetto_counters_finish(&s->counters);
    if (!error)
        error = flow_arrows_finish(&s->flows);
    if (!error && s->has_states)
        error = perfetto_states_finish(&s->states);
    if (!error && s->has_chart)
        error = flame_chart_finish(&s->chart.chart);
    put_notes(s);
    perfetto_end_session(&s->tracks, s->flows.cut_count);
    return error ? error : s->px.error;
}

static void destroy(void *state)
{
    struct state *s = state;
    for (uint32_t i = 0; s->threads && i < s->thread_count; i++)
        perfetto_sequence_fini(&s->threads[i]);
    free(s->threads);
    perfetto_counters_fini(&s->counters);
    perfetto_lines_fini(&s->lines);
    flow_arrows_fini(&s->flows);
    export_keys_fini(&s->px.keys);
    perfetto_samples_fini(&s->samples);
    perfetto_states_fini(&s->states);
    perfetto_chart_fini(&s->chart);
    frame_names_fini(&s->names);
    perfetto_sequence_fini(&s->session);
    perfetto_tracks_fini(&s->tracks);
    export_ids_fini(&s->ids);
    proto_destroy(&s->px.packet);
}

extern const struct exporter export_perfetto;
const struct exporter export_perfetto = {
    .name = "perfetto",
    .extension = ".pftrace",
    .summary = "native Perfetto trace (protobuf), for ui.perfetto.dev",
    .state_size = sizeof(struct state),
    .binary = true,
    .begin = begin,
    .sink = sink,
    .samples = samples,
    .end = end,
    .destroy = destroy,
};
