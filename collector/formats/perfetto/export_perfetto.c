/* SPDX-License-Identifier: MIT */
/* The native format of ui.perfetto.dev: protobuf track events.
 *
 * Pushed ranges are a begin and an end on their thread's sequence; ranges that may overlap lie on
 * shelves below their process, gaps on a track "lost" below their thread; both go onto the
 * session's sequence, as they are known only when they end. Samples, thread states and flame charts
 * have sequences after those of the threads. The reader sorts by time, and events of equal time by
 * their place in the file, which is right for each track. Times are CLOCK_MONOTONIC, which is made
 * the trace's clock, so that the reader converts nothing. Thread-safety: one thread per object. */
#include "call_label.h"
#include "export.h"
#include "flame_chart.h"
#include "perfetto_counters.h"
#include "perfetto_fields.h"
#include "perfetto_heap.h"
#include "perfetto_rows.h"
#include "perfetto_samples.h"
#include "perfetto_sequence.h"
#include "perfetto_tracks.h"
#include "thread_states.h"

#include <errno.h>
#include <stdlib.h>

struct state {
    struct perfetto_output px;
    struct export_ids ids;
    struct perfetto_tracks tracks;
    struct perfetto_sequence session;
    struct perfetto_sequence *threads; /* begun at their first event */
    uint32_t thread_count;
    struct perfetto_counters counters;
    struct perfetto_groups groups;
    struct flow_arrows flows;
    struct perfetto_samples samples;
    struct perfetto_heap heap;
    struct sample_order order; /* before the sinks below */
    struct perfetto_states states;
    struct perfetto_chart chart;
    struct perfetto_state_rows rows;
    bool has_rows, has_scheduler, has_chart;
};

static int begin_waits(struct state *s, const struct export_job *job, uint32_t number)
{
    s->has_rows = trace_sampling_get(job->source->trace)->off_cpu;
    s->has_scheduler = s->has_rows && job->options->scheduler;
    int error = s->has_rows ? perfetto_state_rows_init(&s->rows, &s->tracks, job) : 0;
    if (!error && s->has_scheduler)
        error = perfetto_states_init(&s->states, &s->tracks, number);
    s->states.to_ns = job->selection->to_ns;
    return error;
}

/* In order of time. */
static int take_ordered(void *context, const struct sample *sample)
{
    struct state *s = context;
    int error = s->has_rows ? thread_states_add(&s->rows.states, sample) : 0;
    if (!error && s->has_scheduler)
        error = perfetto_states_put(&s->states, sample);
    if (!error && s->has_chart)
        error = flame_chart_add(&s->chart.chart, sample);
    return error;
}

static int begin_samples(struct state *s, const struct export_job *job)
{
    uint32_t number = PERFETTO_SEQUENCE_THREADS + s->thread_count;
    const struct trace *trace = job->source->trace;
    s->has_chart = !job->options->no_flame_chart && stacks_stack_count(trace_stacks_get(trace)) > 1;
    int error = perfetto_samples_init(&s->samples, &s->tracks, job, number);
    if (!error)
        error = sample_order_init(&s->order, trace, take_ordered, s);
    if (!error)
        error = begin_waits(s, job, number + 1);
    if (!error && s->has_chart)
        error = perfetto_chart_init(&s->chart, &s->tracks, job, number + 2);
    if (!error)
        error = perfetto_heap_init(&s->heap, &s->tracks, job, number + 3);
    return error;
}

/* The track of a thread's ranges. Older readers put a thread's own track below all its children,
 * and these in the order of their names: beside rows of samples, ranges are on such a child, which
 * sorts above them. */
static uint64_t track_of(struct state *s, uint32_t thread)
{
    return s->has_chart || s->has_rows ? perfetto_thread_child(&s->tracks, thread, PERFETTO_RANGES)
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

/* A point of a flow is an instant of its thread, on the track of the thread's ranges. The reader
 * draws an arrow from the end of one slice to the start of another. From a range that waits for a
 * reply to its message, the arrow would go back in time; an instant inside of the range has the
 * time of the point. */
static int put_flow(void *context, const struct flow_place *place)
{
    struct state *s = context;
    const struct flow_point *point = place->point;
    const struct perfetto_sequence *sequence = sequence_of(s, point->thread);
    struct flow_text text;
    const struct event instant = {
        .kind = EVENT_MARK,
        .name = point->name ? point->name : place->name,
        .scope = point->scope,
        .thread = point->thread,
    };
    const struct fact facts[2] = {flow_fact(point, &text)};
    if (sequence)
        perfetto_put(&s->px, s->tracks.session,
                     &(struct perfetto_event){
                         .time_ns = point->time_ns,
                         .type = PX_INSTANT,
                         .track_uuid = sequence->track_uuid,
                         .event = &instant,
                         .text = instant.name ? NULL : FLOW_UNNAMED,
                         .arguments = facts,
                         .flow = place,
                     });
    return s->px.error;
}

static int put_launches(void *context, const struct perfetto_launch *launches, uint32_t count)
{
    struct state *s = context;
    const struct perfetto_sequence *sequence = sequence_of(s, launches->thread);
    if (sequence)
        perfetto_put(&s->px, s->tracks.session,
                     &(struct perfetto_event){
                         .time_ns = launches->origin_ns,
                         .type = PX_INSTANT,
                         .track_uuid = sequence->track_uuid,
                         .text = "launch",
                         .launches = launches,
                         .launch_count = count,
                     });
    return s->px.error;
}

static int begin_toolkit(struct state *s, const struct export_job *job)
{
    s->groups.launches.place = put_launches;
    s->groups.launches.context = s;
    s->groups.prefixes = job->options->strip_prefix;
    s->flows.place = put_flow;
    s->flows.context = s;
    s->counters.groups_of_tracks = &s->groups;
    s->counters.put = put_counter;
    s->counters.context = s;
    int error = export_keys_init(&s->px.keys, s->px.trace);
    if (!error)
        error = perfetto_counters_init(&s->counters, &s->tracks);
    return error ? error : perfetto_groups_init(&s->groups, &s->tracks);
}

/* Viewers drop negative times. In a merge the clock of the first host may have started after the
 * recording of another one, and ranges of that recording may have begun still earlier. */
#define BEFORE_BEGIN_NS INT64_C(3600000000000)

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct trace *trace = job->source->trace;
    s->px = (struct perfetto_output){.trace = trace, .out = job->out};
    s->px.begin_ns = trace_begin_ns(trace);
    s->px.origin_ns = s->px.begin_ns < 0 ? s->px.begin_ns - BEFORE_BEGIN_NS : 0;
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
    error = begin_toolkit(s, job);
    if (!error)
        error = s->px.error;
    return error ? error : begin_samples(s, job);
}

/* Puts it on the thread's own track. */
static int put_named(struct state *s, uint8_t type, const struct item *item)
{
    const struct event *event = item->event;
    struct perfetto_sequence *sequence = sequence_of(s, event->thread);
    if (!sequence)
        return 0;
    if (item->args.count == 0)
        perfetto_put_named(&s->px, sequence, type, event);
    else
        perfetto_put(
            &s->px, sequence,
            &(struct perfetto_event){
                .time_ns = event->time_ns, .type = type, .event = event, .values = &item->args});
    return s->px.error;
}

static int take_end(struct state *s, const struct item *item)
{
    struct perfetto_sequence *sequence = sequence_of(s, item->event->thread);
    if (!sequence)
        return 0;
    if (!(item->flags & ITEM_LACKS_END) && item->end_arg_count == 0) {
        perfetto_put_end(&s->px, sequence, item->end_ns);
        return s->px.error;
    }
    struct end_facts facts;
    const struct args values = item_end_args(item);
    end_facts_init(&facts, &s->ids, item);
    perfetto_put(&s->px, sequence,
                 &(struct perfetto_event){.time_ns = item->end_ns,
                                          .type = PX_SLICE_END,
                                          .values = &values,
                                          .arguments = facts.items});
    return s->px.error;
}

static int take_overlapping(struct state *s, const struct item *item)
{
    const struct event *event = item->event;
    uint64_t uuid;
    if (event->thread >= s->thread_count)
        return 0;
    int error = perfetto_range_track(&s->tracks, event, item->end_ns, &uuid);
    if (error)
        return error;
    struct fact started[2] = {tid_fact(&s->ids, "start_tid", event->thread)};
    perfetto_put(&s->px, &s->session,
                 &(struct perfetto_event){.time_ns = event->time_ns,
                                          .type = PX_SLICE_BEGIN,
                                          .track_uuid = uuid,
                                          .event = event,
                                          .values = &item->args,
                                          .arguments = started});
    struct end_facts facts;
    end_facts_init(&facts, &s->ids, item);
    perfetto_put(&s->px, &s->session,
                 &(struct perfetto_event){.time_ns = item->end_ns,
                                          .type = PX_SLICE_END,
                                          .track_uuid = uuid,
                                          .arguments = facts.items});
    return s->px.error;
}

static int take_lost(struct state *s, const struct event *event)
{
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

static int take_sample(struct state *s, const struct sample *sample)
{
    int error = 0;
    if (sample_role(trace_sets_get(s->px.trace), sample) == SAMPLE_ROLE_CPU)
        error = perfetto_samples_put(&s->samples, sample);
    if (!error)
        error = perfetto_heap_put(&s->heap, sample);
    return error ? error : sample_order_add(&s->order, sample);
}

static int take_on_thread(struct state *s, const struct item *item)
{
    switch (item->kind) {
    case ITEM_OPENED:
        return put_named(s, PX_SLICE_BEGIN, item);
    case ITEM_SPAN:
        return take_end(s, item);
    case ITEM_INSTANT:
        return put_named(s, PX_INSTANT, item);
    case ITEM_COUNTER:
        return item->event->thread < s->thread_count
                   ? perfetto_counters_add(&s->counters, item->event)
                   : 0;
    case ITEM_FLOW:
        return flow_arrows_add(&s->flows, item->event);
    case ITEM_LOST:
        return take_lost(s, item->event);
    case ITEM_SAMPLE:
        return take_sample(s, item->sample);
    default:
        return 0;
    }
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    if (item->lane == LANE_THREAD)
        return take_on_thread(s, item);
    if (item->lane == LANE_TRACK || item->lane == LANE_QUEUE)
        return perfetto_groups_take(&s->groups, item);
    return item->kind == ITEM_SPAN ? take_overlapping(s, item) : 0;
}

/* The annot_abort_note of each process, on the thread that called it. */
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
    if (!error)
        error = perfetto_launches_finish(&s->groups.launches);
    if (!error)
        error = perfetto_samples_finish(&s->samples);
    if (!error)
        error = perfetto_heap_finish(&s->heap);
    if (!error)
        error = sample_order_finish(&s->order);
    if (!error && s->has_rows)
        error = thread_states_finish(&s->rows.states);
    if (!error && s->has_scheduler)
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
    perfetto_groups_fini(&s->groups);
    flow_arrows_fini(&s->flows);
    export_keys_fini(&s->px.keys);
    perfetto_samples_fini(&s->samples);
    perfetto_heap_fini(&s->heap);
    sample_order_fini(&s->order);
    perfetto_states_fini(&s->states);
    perfetto_chart_fini(&s->chart);
    perfetto_state_rows_fini(&s->rows);
    perfetto_sequence_fini(&s->session);
    perfetto_tracks_fini(&s->tracks);
    export_ids_fini(&s->ids);
    proto_destroy(&s->px.packet);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_FLAME_CHART,
    {"scheduler", 0, OPTION_FLAG, EXPORT_AT(scheduler), NULL,
     "add tracks of CPUs, and the kernel's states of threads", NULL},
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_NATIVE,
    EXPORT_OPTION_STRIP(CALL_STRIP_FOLDERS), /* readers show paths elsewhere */
    {0},
};

extern const struct exporter export_perfetto;
const struct exporter export_perfetto = {
    .name = "perfetto",
    .extension = ".pftrace",
    .summary = "native Perfetto trace (protobuf), for ui.perfetto.dev",
    .carries = "ranges, calls, marks, counters, flows, samples, memory, thread states",
    .viewer = "at ui.perfetto.dev",
    .tells_missing = true,
    .options = options,
    .binary = true,
    .wants = WANT_EVENTS | WANT_BEGINS | WANT_SAMPLES | WANT_ORIGINS,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
