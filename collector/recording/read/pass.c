/* SPDX-License-Identifier: MIT */
/* See pass.h. A pass reads a batch of events, then the samples of its time, and pairs it; or, in
 * order of time, one event or sample after the other. Thread-safety: none. */
#include "pass.h"

#include "captures.h"
#include "lane_samples.h"
#include "lane_tracks.h"
#include "merge.h"
#include "open_ranges.h"
#include "origins.h"
#include "overlapping.h"
#include "own_spans.h"
#include "pair.h"
#include "pass_state.h"
#include "reader.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* Skips events of threads missing in the trace. 1, 0 at the end, -errno. */
static int next_known(const struct pass *pass, struct event_batch *ret_batch,
                      const struct trace_thread **ret_thread)
{
    const struct pass_source *source = &pass->source;
    int status;
    do
        status = source->next_events(source->context, ret_batch);
    while (status > 0 && !(*ret_thread = trace_thread_get(source->trace, ret_batch->thread)));
    return status;
}

static int next_stored(void *context, struct event_batch *ret_batch)
{
    const struct trace_thread *thread;
    return next_known(context, ret_batch, &thread);
}

/* At the first batch of a thread with observed spans: from then on all events are read through
 * own_spans. */
static int begin_own_spans(struct pass *pass, const struct event_batch *batch)
{
    const struct own_source source = {next_stored, pass, pass->source.trace, pass->source.live};
    pass->own_spans = own_spans_create(&source);
    return pass->own_spans ? own_spans_take(pass->own_spans, batch) : -ENOMEM;
}

static int next_events(void *context, struct event_batch *ret_batch)
{
    struct pass *pass = context;
    const struct trace_thread *thread;
    if (pass->own_spans)
        return own_spans_next(pass->own_spans, ret_batch);
    int status = next_known(pass, ret_batch, &thread);
    if (status <= 0 || !thread->probed)
        return status;
    status = begin_own_spans(pass, ret_batch);
    return status ? status : own_spans_next(pass->own_spans, ret_batch);
}

int64_t range_end_ns(const struct trace *trace, uint32_t process, int64_t last_ns)
{
    const struct trace_process *entry = trace_process_get(trace, process);
    if (entry && entry->end_ns)
        return entry->end_ns;
    if (entry && entry->known_until_ns)
        return entry->known_until_ns;
    return time_latest(trace_session_get(trace)->end_ns, last_ns);
}

/* ---- Lane by lane ---------------------------------------------------------------------------- */

/* True if the pass reads samples at all. */
static bool pass_reads_samples(const struct pass *pass)
{
    bool wanted = (pass->wants & (WANT_SAMPLES | WANT_TIMES)) || pass->launches;
    return pass->source.next_samples && wanted;
}

/* Settles samples that no later event can affect. */
static int settle_samples(struct pass *pass, int64_t until_ns, bool final)
{
    int status = pass->waiting_lanes.count ? samples_settle(pass, until_ns, final) : 0;
    if (!status && pass->inherited_news)
        status = heirs_finish(pass, false);
    return status;
}

/* Takes the waiting events, once the samples of their time were read, a batch a step. */
static int take_batch(struct pass *pass)
{
    const struct event_batch *batch = &pass->batch;
    int64_t last_ns = batch->count ? batch->events[batch->count - 1].time_ns : INT64_MIN;
    int status = pass_reads_samples(pass) ? samples_read_some(pass, last_ns) : 0;
    if (status)
        return status;
    pass->batch_waits = false;
    bool news = batch->settled_ns && batch->settled_ns > pass->settled_ns;
    if (news) {
        pass->settled_ns = batch->settled_ns;
        status = settle_samples(pass, batch->settled_ns, false);
    }
    if (!status)
        status = pair_batch(pass, batch);
    return status || !news || !pass->origins ? status : origins_settle(pass);
}

/* True if samples may follow the last event. */
static bool has_more_samples(const struct pass *pass)
{
    return pass_reads_samples(pass) && !pass->samples_ended &&
           pass->samples_settled_ns < pass->selection.to_ns;
}

static int take_last_samples(struct pass *pass)
{
    int status = samples_read_some(pass, pass->samples_settled_ns);
    if (status < 0)
        return status;
    return settle_samples(pass, samples_room(pass) ? pass->samples_settled_ns : INT64_MAX, true);
}

/* Finishes after the last event, and after the last sample of each lane. */
static int finish(struct pass *pass)
{
    int status = 0;
    pass->finished = true;
    if (pass_reads_samples(pass) && !pass->merge)
        status = settle_samples(pass, INT64_MAX, true);
    if (!status && pass->origins)
        status = origins_settle(pass);
    for (uint32_t i = 0; !status && i < pass->lanes.count; i++)
        status = pair_finish_thread(pass, i);
    if (!status)
        status = heirs_finish(pass, true);
    if (!status)
        status = starts_finish(pass);
    return status ? status : tracks_finish(pass);
}

/* 1: a batch waits; 0: at the end; -errno. */
static int await_batch(struct pass *pass)
{
    bool events = pass->wants & (WANT_EVENTS | WANT_PATHS | WANT_TIMES);
    if (pass->batch_waits)
        return 1;
    if (pass->events_ended || !events || pass->settled_ns >= pass->selection.to_ns)
        return 0;
    int status = next_events(pass, &pass->batch);
    pass->batch_waits = status > 0;
    pass->events_ended = status == 0;
    return status;
}

static int step_in_lanes(struct pass *pass)
{
    if (pass->finished)
        return 0;
    int status = await_batch(pass);
    if (status > 0)
        status = take_batch(pass);
    else if (status == 0)
        status = has_more_samples(pass) ? take_last_samples(pass) : finish(pass);
    return status ? status : 1;
}

/* ---- In order of time ------------------------------------------------------------------------ */

/* The first instant of the selection has passed: all ranges still open begin there. (Lanes with
 * events at that instant have already begun.) */
static int begin_all(struct pass *pass)
{
    int status = 0;
    pass->begun = true;
    for (uint32_t i = 0; !status && i < pass->lanes.count; i++) {
        pass->lanes.items[i].begun = true;
        status = open_ranges_emit(pass, LANE_THREAD, &pass->lanes.items[i].open);
    }
    if (!status)
        status = starts_begin(pass);
    return status ? status : tracks_begin(pass);
}

static int take_event(struct pass *pass)
{
    struct event_batch batch;
    const struct pass_selection *selection = &pass->selection;
    int status = merge_next(pass->merge, &batch);
    if (status <= 0)
        return status;
    int64_t told_ns = event_order_ns(batch.events);
    pass->settled_ns = time_latest(pass->settled_ns, told_ns);
    status = told_ns > selection->from_ns && !pass->begun ? begin_all(pass) : 0;
    if (!status && told_ns >= selection->to_ns) {
        pass->counts.last_ns = time_latest(pass->counts.last_ns, told_ns);
        return finish(pass);
    }
    return status ? status : pair_batch(pass, &batch);
}

static int take_sample(struct pass *pass)
{
    struct sample sample;
    int status = sample_merge_next(pass->samples_merge, &sample);
    if (status > 0 && pass->launches && sample_role(pass->sets, &sample) == SAMPLE_ROLE_LAUNCH)
        status = origins_launch(pass, &sample) == 0 ? status : -ENOMEM;
    return status > 0 ? sample_emit(pass, &sample) : status;
}

/* Chooses the next item: 1 an event, 2 a sample, 0 at the end; -errno. */
static int choose(struct pass *pass, int64_t *ret_time_ns)
{
    int64_t event_ns = INT64_MAX, sample_ns = INT64_MAX;
    int events = pass->finished ? 0 : merge_peek(pass->merge, &event_ns);
    int samples = 0;
    if (events < 0)
        return events;
    if (pass->samples_merge)
        samples = sample_merge_peek(pass->samples_merge, &sample_ns);
    if (samples < 0)
        return samples;
    bool sample = samples && (!events || sample_ns < event_ns);
    *ret_time_ns = sample ? sample_ns : event_ns;
    return sample ? 2 : events ? 1 : 0;
}

static int step_in_time(struct pass *pass)
{
    int64_t time_ns;
    int next = choose(pass, &time_ns);
    if (next < 0)
        return next;
    int status = next == 2 ? take_sample(pass) : next == 1 ? take_event(pass) : 0;
    if (next)
        return status ? status : 1;
    bool more = pass->finished || (pass->source.live && pass->settled_ns != INT64_MAX);
    if (more)
        return 0;
    status = finish(pass);
    return status ? status : 1;
}

void pass_settle(struct pass *pass, int64_t settled_ns)
{
    pass->settled_ns = time_latest(pass->settled_ns, settled_ns);
    if (pass->own_spans)
        own_spans_settle(pass->own_spans, settled_ns);
    if (pass->merge)
        merge_settle(pass->merge, settled_ns);
    if (pass->samples_merge)
        sample_merge_settle(pass->samples_merge, settled_ns);
}

int pass_next_ns(struct pass *pass, int64_t *ret_time_ns)
{
    int next = pass->merge ? choose(pass, ret_time_ns) : 0;
    return next > 0 ? 1 : next;
}

int pass_finish_thread(struct pass *pass, uint32_t thread)
{
    return thread < pass->lanes.count ? pair_finish_thread(pass, thread) : 0;
}

/* ---- The object ------------------------------------------------------------------------------ */

static int start_in_time(struct pass *pass)
{
    const struct pass_source *source = &pass->source;
    const struct merge_source events = {next_events, pass, source->live};
    const struct sample_merge_source samples = {source->next_samples, source->context,
                                                source->live};
    pass->merge = merge_create(&events);
    bool sampled = source->next_samples && ((pass->wants & WANT_SAMPLES) || pass->launches);
    if (sampled)
        pass->samples_merge = sample_merge_create(&samples);
    return pass->merge && (pass->samples_merge || !sampled) ? 0 : -ENOMEM;
}

/* Clocks, and samples read from outside, differ by a little. */
enum { SEEK_MARGIN_NS = 1000000 };

/* Time from which events are needed: a forked process that lives in the selection needs the ranges
 * of its parent. */
static int64_t needed_from_ns(const struct pass *pass)
{
    const struct trace *trace = pass->source.trace;
    int64_t from_ns = pass->selection.from_ns;
    for (uint32_t i = 0; i < trace_process_count(trace) && (pass->wants & WANT_PATHS); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        bool there = process->end_ns == 0 || process->end_ns >= pass->selection.from_ns;
        if (process->forked && there)
            from_ns = time_earliest(from_ns, process->fork_ns);
    }
    return from_ns;
}

/* To find the range around an EVENT_START, all events before it must be read. */
static int seek(struct pass *pass)
{
    const struct pass_source *source = &pass->source;
    int64_t from_ns = pass->selection.from_ns;
    if (!source->seek || source->live || from_ns == INT64_MIN)
        return 0;
    from_ns = needed_from_ns(pass);
    return from_ns > INT64_MIN + SEEK_MARGIN_NS
               ? source->seek(source->context, from_ns - SEEK_MARGIN_NS, pass->selection.range,
                              pass->wants & WANT_TIME_ORDER)
               : 0;
}

/* True if stacks of launches were sampled. */
static bool has_launches(const struct pass *pass)
{
    for (unsigned i = 0; i < sample_sets_count(pass->sets); i++)
        if (sample_set_get(pass->sets, i)->role == SAMPLE_ROLE_LAUNCH)
            return true;
    return false;
}

static int start_origins(struct pass *pass)
{
    bool wanted = (pass->wants & WANT_ORIGINS) || pass->selection.range;
    int error = wanted ? origins_start(pass) : 0;
    pass->launches = pass->origins && (pass->wants & WANT_ORIGINS) && has_launches(pass);
    return error;
}

static int start(struct pass *pass)
{
    uint32_t count = trace_thread_count(pass->source.trace);
    pass->starts = starts_create();
    if (!pass->starts || start_origins(pass) != 0 || seek(pass) != 0 ||
        (count && !pass_lane(pass, count - 1)))
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        pass_lane(pass, i);
    if (pass->wants & WANT_TIME_ORDER)
        return start_in_time(pass);
    return pass->wants & WANT_PATHS ? samples_start(pass) : 0;
}

static void add_sink(struct pass *pass, const struct sink *sink)
{
    bool events = sink->wants & WANT_EVENTS;
    pass->wants |= sink->wants;
    if (events)
        pass->events.items[pass->events.count++] = *sink;
    if (events && (sink->wants & WANT_BEGINS))
        pass->begins.items[pass->begins.count++] = *sink;
    if (sink->wants & WANT_SAMPLES)
        pass->samples.items[pass->samples.count++] = *sink;
}

struct pass *pass_create(const struct pass_source *source, const struct pass_selection *selection,
                         const struct sink *sinks, unsigned sink_count)
{
    struct pass *pass = calloc(1, sizeof(*pass));
    if (!pass || sink_count > PASS_SINKS_MAX) {
        free(pass);
        return NULL;
    }
    pass->source = *source;
    pass->sets = trace_sets_get(source->trace);
    pass->selection = *selection;
    if (source->begin_ns != 0)
        pass->selection.from_ns = time_latest(selection->from_ns, source->begin_ns);
    pass->selects_all = pass_selects_all(&pass->selection);
    pass->begun = pass->selection.from_ns == INT64_MIN;
    pass->opened.kind = pass->plain_opened.kind = ITEM_OPENED;
    pass->span.kind = pass->plain_span.kind = pass->queue_span.kind = ITEM_SPAN;
    pass->queue_span.lane = LANE_QUEUE;
    pass->plain_opened.lane = pass->plain_span.lane = pass->point.lane = LANE_THREAD;
    pass->sample.kind = ITEM_SAMPLE;
    pass->sample.lane = LANE_THREAD;
    pass->settled_ns = pass->samples_settled_ns = pass->counts.last_ns = INT64_MIN;
    for (unsigned i = 0; i < sink_count; i++)
        add_sink(pass, &sinks[i]);
    pass->runs = pass->selects_all && !(pass->wants & WANT_NUMBERS);
    bool in_time = pass->wants & WANT_TIME_ORDER;
    if (selection->range && (pass->wants & WANT_SAMPLES) && !in_time)
        pass->wants |= WANT_PATHS;
    if (start(pass) == 0)
        return pass;
    pass_destroy(pass);
    return NULL;
}

void pass_destroy(struct pass *pass)
{
    if (!pass)
        return;
    for (size_t i = 0; i < pass->lanes.count; i++) {
        open_ranges_free(&pass->lanes.items[i].open);
        lane_samples_free(&pass->lanes.items[i]);
        lane_origins_free(&pass->lanes.items[i]);
    }
    vec_free(&pass->lanes);
    vec_free(&pass->named);
    vec_free(&pass->waiting_lanes);
    vec_free(&pass->heirs);
    map64_free(&pass->block_paths);
    value_pool_free(&pass->values);
    path_matches_fini(&pass->matches);
    starts_destroy(pass->starts);
    tracks_destroy(pass->tracks);
    origins_destroy(pass->origins);
    own_spans_destroy(pass->own_spans);
    merge_destroy(pass->merge);
    sample_merge_destroy(pass->samples_merge);
    free(pass->inherited);
    free(pass);
}

int pass_step(struct pass *pass)
{
    return pass->merge ? step_in_time(pass) : step_in_lanes(pass);
}

int pass_run(struct pass *pass)
{
    int status;
    do
        status = pass_step(pass);
    while (status == 1);
    return status;
}

int pass_read(const struct pass_source *source, const struct pass_selection *selection,
              const struct sink *sinks, unsigned sink_count)
{
    struct pass *pass = pass_create(source, selection, sinks, sink_count);
    int status = pass ? pass_run(pass) : -ENOMEM;
    pass_destroy(pass);
    return status;
}

int64_t pass_samples_settled_ns(const struct pass *pass)
{
    if (trace_session_get(pass->source.trace)->end_ns == 0) /* see samples_settle */
        return INT64_MIN;
    int64_t settled_ns = time_earliest(pass->samples_settled_ns, edge_before(pass->settled_ns));
    for (size_t i = 0; i < pass->heirs.count; i++)
        settled_ns = time_earliest(settled_ns, pass->heirs.items[i].sample.time_ns);
    return settled_ns;
}

const struct pass_counts *pass_counts(struct pass *pass)
{
    pass->counts.late = pass->late_samples;
    if (pass->own_spans)
        pass->counts.late += own_spans_late_count(pass->own_spans);
    if (pass->merge)
        pass->counts.late += merge_late_count(pass->merge);
    if (pass->samples_merge)
        pass->counts.late += sample_merge_late_count(pass->samples_merge);
    return &pass->counts;
}

bool pass_thread_span(const struct pass *pass, uint32_t thread, int64_t *ret_first_ns,
                      int64_t *ret_last_ns)
{
    if (thread >= pass->lanes.count)
        return false;
    const struct lane *lane = &pass->lanes.items[thread];
    *ret_first_ns = lane->first_ns;
    *ret_last_ns = lane->last_told_ns;
    return lane->first_ns <= lane->last_told_ns;
}

/* ---- Selections ------------------------------------------------------------------------------ */

struct pass_selection pass_select_block(const struct trace *trace)
{
    struct pass_selection selection = PASS_SELECT_ALL;
    (void)trace_block(trace, &selection.samples_from_ns, &selection.samples_to_ns);
    return selection;
}

bool pass_selects_all(const struct pass_selection *selection)
{
    return selection->from_ns == INT64_MIN && selection->to_ns == INT64_MAX && !selection->range &&
           !selection->flags && !selection->wants;
}

bool pass_selects_thread(const struct pass_selection *selection, uint32_t thread)
{
    return !selection->wants || selection->wants(selection->context, thread);
}

bool pass_selects_time(const struct pass_selection *selection, int64_t time_ns)
{
    return time_ns >= selection->from_ns && time_ns < selection->to_ns;
}

/* Counted by the program itself, and collected after its block. */
static bool is_counted(const struct sample_sets *sets, const struct sample *sample)
{
    enum sample_role role = sample_role(sets, sample);
    return role == SAMPLE_ROLE_CALLS || role == SAMPLE_ROLE_LINES;
}

bool pass_selects_sample(const struct pass_selection *selection, const struct sample_sets *sets,
                         struct sample *sample, int64_t values[SAMPLE_VALUES_MAX])
{
    int64_t from_ns = selection->from_ns, to_ns = selection->to_ns;
    if (selection->samples_to_ns != 0 && !is_counted(sets, sample)) {
        from_ns = time_latest(from_ns, selection->samples_from_ns);
        to_ns = time_earliest(to_ns, selection->samples_to_ns);
    }
    return (sample->flags & selection->flags) == selection->flags &&
           pass_selects_thread(selection, sample->thread) &&
           sample_cut(sets, sample, from_ns, to_ns, values);
}

/* Parents precede their children. */
int path_matches(struct path_matches *matches, const struct trace *trace, const char *range,
                 uint32_t path)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    while (matches->count <= path) {
        uint32_t next = matches->count;
        const struct range_path *entry = stacks_get_path(stacks, next);
        bool inside = next != 0 && matches->items[entry->parent];
        size_t capacity = matches->capacity;
        if (vec_grow((void **)&matches->items, &capacity, (size_t)next + 1, 1) != 0)
            return -ENOMEM;
        matches->capacity = (uint32_t)capacity;
        bool named = next != 0 && text_matches(range, trace_string(trace, entry->name)->bytes);
        matches->items[next] = inside || named;
        matches->count++;
    }
    return matches->items[path];
}

bool stack_is_inside(const struct trace *trace, const char *range, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    for (; stack != 0; stack = stacks_get_stack(stacks, stack)->parent) {
        const struct frame *frame =
            stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame);
        const struct label *label = stacks_get_label(stacks, frame->label);
        if (label->flags & LABEL_RANGE &&
            text_matches(range, trace_string(trace, label->text)->bytes))
            return true;
    }
    return false;
}

void path_matches_fini(struct path_matches *matches)
{
    free(matches->items);
    *matches = (struct path_matches){0};
}

/* ---- Recording source ------------------------------------------------------------------------ */

/* A recording as a pass reads it. */

static int next_stored_events(void *context, struct event_batch *ret_batch)
{
    return store_reader_next(context, ret_batch);
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    int status = store_reader_next_samples(context, &ret_batch->samples, &ret_batch->count);
    ret_batch->settled_ns = store_reader_samples_settled_ns(context);
    return status;
}

static int seek_stored(void *context, int64_t from_ns, bool nested, bool in_time)
{
    return store_reader_seek(context, from_ns, nested, in_time);
}

struct pass_source recording_pass_source(struct store_reader *reader)
{
    captures_read(reader);
    return (struct pass_source){.trace = store_reader_trace(reader),
                                .next_events = next_stored_events,
                                .next_samples = next_samples,
                                .context = reader,
                                .begin_ns = store_reader_begin_ns(reader),
                                .seek = seek_stored};
}

/* ---- Samples with their paths ---------------------------------------------------------------- */

struct sample_feed {
    struct pass *pass;
    VEC(struct sample) ready; /* of the last step */
    struct value_pool values;
};

static int take(void *context, const struct item *item)
{
    struct sample_feed *feed = context;
    struct sample kept = *item->sample;
    return value_pool_keep(&feed->values, &kept) != 0 ? -ENOMEM : vec_push(&feed->ready, kept);
}

struct sample_feed *sample_feed_create(const struct pass_source *source,
                                       const struct pass_selection *selection)
{
    struct sample_feed *feed = calloc(1, sizeof(*feed));
    if (!feed)
        return NULL;
    const struct sink sink = {take, feed, WANT_SAMPLES | WANT_PATHS};
    feed->pass = pass_create(source, selection, &sink, 1);
    if (feed->pass)
        return feed;
    free(feed);
    return NULL;
}

void sample_feed_destroy(struct sample_feed *feed)
{
    if (!feed)
        return;
    pass_destroy(feed->pass);
    vec_free(&feed->ready);
    value_pool_free(&feed->values);
    free(feed);
}

int sample_feed_next(void *context, struct sample_batch *ret_batch)
{
    struct sample_feed *feed = context;
    int status = 1;
    while (feed->ready.count > 0)
        value_pool_drop(&feed->values, &feed->ready.items[--feed->ready.count]);
    while (status == 1 && feed->ready.count == 0)
        status = pass_step(feed->pass);
    if (status < 0 || feed->ready.count == 0)
        return status;
    *ret_batch = (struct sample_batch){.samples = feed->ready.items,
                                       .count = (uint32_t)feed->ready.count,
                                       .settled_ns = pass_samples_settled_ns(feed->pass)};
    return 1;
}
