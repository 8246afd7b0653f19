/* SPDX-License-Identifier: MIT */
/* The native format of ui.perfetto.dev: protobuf track events.
 *
 * Pushed ranges are a begin and an end on their thread's sequence; ranges that may overlap lie on
 * lanes below their process, gaps on a track "lost" below their thread; both go onto the session's
 * sequence, as they are known only when they end. The reader sorts by time, and events of equal
 * time by their place in the file, which is right for each track. Times are CLOCK_MONOTONIC, which
 * is made the trace's clock, so that the reader converts nothing. Thread-safety: none. */
#include "export.h"
#include "perfetto_fields.h"
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
};

static int begin(void *state, const struct trace *trace, struct out_stream *out)
{
    struct state *s = state;
    s->px = (struct perfetto_output){.trace = trace, .out = out};
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
    perfetto_describe_session(&s->tracks);
    return s->px.error;
}

/* NULL for a thread that the recording does not define. */
static struct perfetto_sequence *sequence_of(struct state *s, uint32_t thread)
{
    if (thread >= s->thread_count)
        return NULL;
    struct perfetto_sequence *sequence = &s->threads[thread];
    if (sequence->id == 0)
        perfetto_sequence_begin(&s->px, sequence, PERFETTO_SEQUENCE_THREADS + thread,
                                perfetto_thread_uuid(&s->tracks, thread));
    return sequence;
}

static int on_opened(void *context, const struct event *event, uint32_t depth)
{
    struct state *s = context;
    struct perfetto_sequence *sequence = sequence_of(s, event->thread);
    (void)depth;
    if (sequence)
        perfetto_put_named(&s->px, sequence, PX_SLICE_BEGIN, event);
    return s->px.error;
}

static struct fact tid_fact(const struct state *s, const char *name, uint32_t thread)
{
    union value tid = {.uint64 = thread < s->thread_count ? s->ids.tids[thread] : 0};
    return (struct fact){.name = name, .kind = VALUE_UINT64, .value = tid};
}

/* What an end tells beside the time; a fact without a name ends the list. */
struct end_facts {
    struct fact items[4];
};

static void end_facts_init(struct end_facts *facts, const struct state *s,
                           const struct slice *slice)
{
    struct fact *at = facts->items;
    const union value yes = {.uint64 = 1};
    if (slice->flags & SLICE_UNFINISHED)
        *at++ = (struct fact){.name = "unfinished", .kind = VALUE_BOOL, .value = yes};
    if (slice->flags & SLICE_END_LOST)
        *at++ = (struct fact){.name = "end_lost", .kind = VALUE_BOOL, .value = yes};
    if (slice->flags == 0 && slice->end_thread != slice->begin->thread)
        *at++ = tid_fact(s, "end_tid", slice->end_thread);
    at->name = NULL;
}

static int on_pushed(void *context, const struct slice *slice)
{
    struct state *s = context;
    struct perfetto_sequence *sequence = sequence_of(s, slice->begin->thread);
    if (!sequence)
        return 0;
    if (slice->flags == 0) {
        perfetto_put_end(&s->px, sequence, slice->end_ns);
        return s->px.error;
    }
    struct end_facts facts;
    end_facts_init(&facts, s, slice);
    perfetto_put(&s->px, sequence,
                 &(struct perfetto_event){
                     .time_ns = slice->end_ns, .type = PX_SLICE_END, .arguments = facts.items});
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
    struct fact started[2] = {tid_fact(s, "start_tid", event->thread)};
    perfetto_put(&s->px, &s->session,
                 &(struct perfetto_event){.time_ns = event->time_ns,
                                          .type = PX_SLICE_BEGIN,
                                          .track_uuid = uuid,
                                          .event = event,
                                          .arguments = started});
    struct end_facts facts;
    end_facts_init(&facts, s, slice);
    perfetto_put(&s->px, &s->session,
                 &(struct perfetto_event){.time_ns = slice->end_ns,
                                          .type = PX_SLICE_END,
                                          .track_uuid = uuid,
                                          .arguments = facts.items});
    return s->px.error;
}

static int on_mark(void *context, const struct event *event)
{
    struct state *s = context;
    struct perfetto_sequence *sequence = sequence_of(s, event->thread);
    if (sequence)
        perfetto_put_named(&s->px, sequence, PX_INSTANT, event);
    return s->px.error;
}

static int on_counter(void *context, const struct event *event)
{
    struct state *s = context;
    struct perfetto_sequence *sequence = sequence_of(s, event->thread);
    uint64_t uuid;
    if (!sequence)
        return 0;
    int error = perfetto_counter_track(&s->tracks, event, &uuid);
    if (error)
        return error;
    perfetto_put(
        &s->px, sequence,
        &(struct perfetto_event){
            .time_ns = event->time_ns, .type = PX_COUNTER, .track_uuid = uuid, .event = event});
    return s->px.error;
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

static struct slice_sink sink(void *state)
{
    return (struct slice_sink){
        .opened = on_opened,
        .pushed = on_pushed,
        .started = on_started,
        .mark = on_mark,
        .counter = on_counter,
        .lost = on_lost,
        .context = state,
    };
}

static int end(void *state)
{
    const struct state *s = state;
    return s->px.error;
}

static void destroy(void *state)
{
    struct state *s = state;
    for (uint32_t i = 0; s->threads && i < s->thread_count; i++)
        perfetto_sequence_fini(&s->threads[i]);
    free(s->threads);
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
    .begin = begin,
    .sink = sink,
    .end = end,
    .destroy = destroy,
};
