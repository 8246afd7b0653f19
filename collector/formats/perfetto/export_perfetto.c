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
#include "counter_groups.h"
#include "event.h"
#include "export.h"
#include "export_ids.h"
#include "flame_chart.h"
#include "hash.h"
#include "hash_map.h"
#include "perfetto_fields.h"
#include "perfetto_heap.h"
#include "perfetto_rows.h"
#include "perfetto_samples.h"
#include "perfetto_sequence.h"
#include "perfetto_tracks.h"
#include "strtab.h"
#include "thread_states.h"
#include "trace_devices.h"
#include "vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Only the first values of a counter wait for their group, as its track is known afterwards. */

struct perfetto_counter {
    uint64_t uuid;
    uint32_t domain;
    uint32_t next; /* counter + 1 with the same process and name */
    uint32_t more; /* counter + 1 of the same counter on another track */
};

struct perfetto_counters {
    struct perfetto_tracks *tracks;
    struct perfetto_groups *groups_of_tracks; /* set by the caller, like the next two */
    int (*put)(void *context, const struct event *event, uint64_t uuid);
    void *context;
    struct counter_groups groups;
    struct map64 by_key;          /* process and name: index + 1 of the first of a chain */
    struct wide_map group_by_key; /* process and name: uuid */
    struct strtab group_names;
    struct export_text label; /* of the one being described */
    VEC(struct perfetto_counter) counters;
};

static int perfetto_counters_finish(struct perfetto_counters *counters);

static uint64_t process_uuid(const struct perfetto_counters *counters, const struct event *event)
{
    const struct trace *trace = counters->tracks->px->trace;
    const struct trace_thread *thread = trace_thread_get(trace, event->thread);
    return perfetto_process_uuid(thread ? thread->process : UINT32_MAX);
}

static uint64_t key_of(const struct perfetto_counters *counters, const struct event *event)
{
    return process_uuid(counters, event) << 32 | event->name;
}

/* Returns index + 1 of the first of a chain, and that of the counter itself in *ret_index; 0 = not
 * found. */
static uint32_t find(const struct perfetto_counters *counters, const struct event *event,
                     uint32_t *ret_index)
{
    const uint64_t *found = map64_find(&counters->by_key, key_of(counters, event));
    uint32_t first = found ? (uint32_t)*found : 0, at = first;
    uint32_t domain = trace_scope_domain(counters->tracks->px->trace, event->scope);
    while (at && counters->counters.items[at - 1].domain != domain)
        at = counters->counters.items[at - 1].next;
    *ret_index = at;
    return first;
}

static uint64_t describe_group(struct perfetto_counters *counters, const struct event *event,
                               const char *label, size_t length)
{
    struct perfetto_tracks *tracks = counters->tracks;
    int64_t name = strtab_add(&counters->group_names, label, length);
    const struct wide_key *key = WIDE_KEY(process_uuid(counters, event), (uint64_t)name);
    const uint64_t *known = name < 0 ? NULL : wide_map_find(&counters->group_by_key, key);
    if (known)
        return *known;
    uint64_t uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, uuid);
    proto_uint(packet, PX_TRACK_PARENT_UUID, process_uuid(counters, event));
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK,
               PERFETTO_RANK_COUNTERS + counters->counters.count);
    proto_bytes(packet, PX_TRACK_NAME, label, length);
    perfetto_track_end(tracks);
    if (name < 0 || wide_map_put(&counters->group_by_key, key, uuid) != 0)
        tracks->px->error = -ENOMEM;
    return uuid;
}

/* A track below another one. */
static uint64_t describe_below(struct perfetto_counters *counters, const struct event *event,
                               uint64_t parent, const struct trace_string *name)
{
    struct perfetto_tracks *tracks = counters->tracks;
    uint32_t unit = counter_unit(&counters->groups, event);
    const struct trace_string *unit_text = trace_string(tracks->px->trace, unit);
    uint64_t uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, uuid);
    proto_uint(packet, PX_TRACK_PARENT_UUID, parent);
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK,
               PERFETTO_RANK_COUNTERS + counters->counters.count);
    proto_bytes(packet, PX_TRACK_NAME, name->bytes, name->length);
    proto_begin(packet, PX_TRACK_COUNTER);
    if (unit)
        proto_bytes(packet, PX_COUNTER_UNIT_NAME, unit_text->bytes, unit_text->length);
    proto_end(packet);
    perfetto_track_end(tracks);
    return uuid;
}

/* The first `group_length` bytes of the name are the group; 0 = without group. */
static uint64_t describe(struct perfetto_counters *counters, const struct event *event,
                         size_t group_length)
{
    const struct export_text *label = &counters->label;
    size_t name_length = trace_string(counters->tracks->px->trace, event->name)->length;
    uint64_t parent = process_uuid(counters, event);
    size_t name = 0;
    if (group_length) { /* the domain precedes the group */
        size_t before = label->count - name_length + group_length;
        parent = describe_group(counters, event, label->items, before);
        name = before + 1;
    }
    return describe_below(counters, event, parent,
                          &(struct trace_string){label->items + name, label->count - name});
}

static int push(struct perfetto_counters *counters, const struct event *event, uint64_t uuid,
                uint32_t next)
{
    const struct perfetto_counter counter = {
        .uuid = uuid,
        .domain = trace_scope_domain(counters->tracks->px->trace, event->scope),
        .next = next};
    return vec_push(&counters->counters, counter);
}

/* The track of a device's lane; 0: it shares its track with others. */
static int find_device(struct perfetto_counters *counters, uint32_t lane, int64_t time_ns,
                       uint64_t *ret_uuid)
{
    struct track_groups *groups = &counters->groups_of_tracks->groups;
    uint32_t group = track_groups_find(groups, lane);
    *ret_uuid = 0;
    return groups->groups.items[group].track_count > 1
               ? 0
               : track_group_id(groups, group, time_ns, ret_uuid);
}

/* For a device that programs use: a track in each of them, chained from the current end of the
 * list. */
static int push_on_devices(struct perfetto_counters *counters, const struct event *event,
                           uint32_t next)
{
    const struct trace *trace = counters->tracks->px->trace;
    size_t first = counters->counters.count;
    struct device_counter counter;
    char name[TRACE_DEVICE_COUNTER_SIZE];
    uint32_t lane = 0;
    int error = 0;
    while (!error && (lane = trace_device_next_lane(trace, event->thread, lane)) != 0) {
        uint64_t device, uuid;
        error = find_device(counters, lane - 1, event->time_ns, &device);
        if (error || device == 0)
            continue;
        counter = (struct device_counter){trace_string(trace, event->name)->bytes, event->thread,
                                          lane - 1};
        trace_device_counter(trace, &counter, name);
        uuid = describe_below(counters, event, device, &(struct trace_string){name, strlen(name)});
        error = push(counters, event, uuid, next);
    }
    for (size_t i = first; i + 1 < counters->counters.count; i++)
        counters->counters.items[i].more = (uint32_t)i + 2;
    return error;
}

/* Adds the counter if it is new: its index + 1 goes to *ret_index. */
static int add_counter(struct perfetto_counters *counters, const struct event *event,
                       size_t group_length, uint32_t *ret_index)
{
    uint32_t first = find(counters, event, ret_index);
    size_t count = counters->counters.count;
    if (*ret_index)
        return 0;
    *ret_index = (uint32_t)count + 1;
    int error = export_counter_label(counters->tracks->px->trace, event, &counters->label);
    if (!error)
        error = map64_put(&counters->by_key, key_of(counters, event), count + 1);
    if (!error)
        error = push_on_devices(counters, event, first);
    if (!error && counters->counters.count == count)
        error = push(counters, event, describe(counters, event, group_length), first);
    return error;
}

static int put_value(struct perfetto_counters *counters, const struct event *event, uint32_t index)
{
    int error = 0;
    for (uint32_t at = index; at && !error; at = counters->counters.items[at - 1].more)
        error = counters->put(counters->context, event, counters->counters.items[at - 1].uuid);
    return error;
}

static int put_run(void *context, const struct counter_run *run)
{
    struct perfetto_counters *counters = context;
    uint32_t index;
    int error = 0;
    for (uint32_t i = 0; !error && i < run->count; i++) {
        error = add_counter(counters, &run->events[i], run->group_length, &index);
        if (!error)
            error = put_value(counters, &run->events[i], index);
    }
    return error;
}

/* Each value goes to `put` with the number of its track, at once or with the next ones. 0 or
 * -ENOMEM; then fini all the same. */
static int perfetto_counters_init(struct perfetto_counters *counters,
                                  struct perfetto_tracks *tracks)
{
    counters->tracks = tracks;
    counters->groups.put = put_run;
    counters->groups.context = counters;
    return counter_groups_init(&counters->groups, tracks->px->trace);
}

static int perfetto_counters_add(struct perfetto_counters *counters, const struct event *event)
{
    const struct counter_groups *groups = &counters->groups;
    uint32_t index;
    if (groups->held_count && groups->held[0].time_ns != event->time_ns) {
        int error = perfetto_counters_finish(counters);
        if (error)
            return error;
    }
    find(counters, event, &index);
    if (index)
        return put_value(counters, event, index);
    return counter_groups_add(&counters->groups, event);
}

static int perfetto_counters_finish(struct perfetto_counters *counters)
{
    return counter_groups_finish(&counters->groups);
}

static void perfetto_counters_fini(struct perfetto_counters *counters)
{
    counter_groups_fini(&counters->groups);
    vec_free(&counters->counters);
    map64_free(&counters->by_key);
    wide_map_free(&counters->group_by_key);
    strtab_free(&counters->group_names);
    vec_free(&counters->label);
}

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
    .carries = "ranges, calls, marks, counters, flows, samples, thread states",
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
