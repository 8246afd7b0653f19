/* SPDX-License-Identifier: MIT */
/* Exports CTF 1.8, the Common Trace Format: a folder with the description of the trace ("metadata")
 * and one stream of events in order of time ("stream"), for babeltrace2 and Trace Compass.
 *
 * The recording is read lane by lane; a sort puts its events in order. Thread-safety: none. */
#include "call_path.h"
#include "ctf_records.h"
#include "export_facts.h"
#include "export_rows.h"
#include "json_writer.h"
#include "profile_frames.h"
#include "stacks.h"
#include "thread_states.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of struct range_begin and range_end. */
enum ctf_range_kind { CTF_PUSHED = 0, CTF_OVERLAPPING = 1, CTF_TRACK = 2, CTF_QUEUE = 3 };

enum ctf_range_end { CTF_ENDED = 0, CTF_UNFINISHED = 1, CTF_END_LOST = 2 };

/* Numbers of open ranges by depth, or 0. */
struct open_numbers {
    uint64_t *items;
    size_t count, capacity;
};

struct state {
    const struct export_job *job;
    const struct trace *trace;
    struct ctf_records records;
    struct thread_states states;
    bool has_states;
    struct open_numbers *open; /* of threads, then of lanes */
    uint32_t thread_count, lane_count;
    struct wide_map open_elsewhere; /* numbers of ranges that may overlap, by key_of() */
    uint64_t last_number;
    uint64_t (*lost)[LOSS_COUNT]; /* by process: losses reported as events */
};

struct gap {
    uint64_t count;
    enum loss cause;
    int64_t begin_ns, end_ns;
};

/* 0 if the times are reversed; they may be arbitrary. */
static uint64_t length_ns(int64_t begin_ns, int64_t end_ns)
{
    return end_ns > begin_ns ? (uint64_t)end_ns - (uint64_t)begin_ns : 0;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static void put_names(struct state *s, const struct event *event)
{
    uint32_t scope = event->scope;
    if (event->name)
        ctf_put_string(&s->records, event->name);
    else
        ctf_put_text(&s->records, EXPORT_UNNAMED, strlen(EXPORT_UNNAMED));
    ctf_put_string(&s->records, scope ? trace_scope_domain(s->trace, scope) : 0);
    ctf_put_string(&s->records, scope ? trace_scope_category(s->trace, scope) : 0);
}

static void put_look(struct state *s, const struct event *event)
{
    ctf_put_uint8(&s->records, event->level);
    ctf_put_uint32(&s->records, event->flags & EVENT_HAS_COLOR ? event->color : 0);
}

static bool has_lane(const struct item *item)
{
    return item->lane == LANE_TRACK || item->lane == LANE_QUEUE;
}

static void put_lane(struct state *s, const struct item *item)
{
    char label[CALL_LABEL_SIZE];
    if (!has_lane(item)) {
        ctf_put_string(&s->records, 0);
        return;
    }
    trace_lane_path(s->trace, item->event->lane, label, sizeof(label));
    ctf_put_text(&s->records, label, strlen(label));
}

/* Source file and line of a call's function. */
static void put_function(struct state *s, const struct event *event)
{
    const struct stacks *stacks = trace_stacks_get(s->trace);
    const struct label *label = stacks_get_label(stacks, trace_name_label(s->trace, event->name));
    ctf_put_string(&s->records, stacks_get_source(stacks, label->source)->path);
    ctf_put_uint32(&s->records, label->first_line > 0 ? (uint32_t)label->first_line : 0);
}

/* Writes a JSON object, payload first. Without `event`, no payload. */
static void put_args(struct state *s, const struct event *event, const struct args *args)
{
    struct json_doc doc = {.out = s->records.made};
    bool payload = event && event->value_kind;
    if (!payload && !args->count) {
        ctf_put_text(&s->records, "{}", strlen("{}"));
        return;
    }
    json_doc_object(&doc, NULL);
    if (payload) {
        json_doc_key(&doc, "payload", strlen("payload"), "");
        rows_put_value(&doc, s->trace, event->value_kind, event->value);
    }
    rows_put_values(&doc, s->trace, args);
    json_doc_close(&doc);
    ctf_put_made(&s->records);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static enum ctf_range_kind kind_of(const struct item *item)
{
    return item->lane == LANE_PROCESS ? CTF_OVERLAPPING
           : item->lane == LANE_TRACK ? CTF_TRACK
           : item->lane == LANE_QUEUE ? CTF_QUEUE
                                      : CTF_PUSHED;
}

/* Key of an open range without a depth slot: by process and the program's number, or by depth. */
static struct wide_key key_of(const struct state *s, const struct item *item)
{
    const struct event *event = item->event;
    const struct trace_thread *thread = trace_thread_get(s->trace, event->thread);
    uint32_t process = thread ? thread->process : UINT32_MAX;
    bool overlaps = item->lane == LANE_PROCESS;
    return (struct wide_key){.words = {item->lane,
                                       overlaps         ? process
                                       : has_lane(item) ? event->lane
                                                        : event->thread,
                                       overlaps ? event->id : item->depth}};
}

/* The slot for the number of an open range of a thread or lane. NULL if it has no slot or if out of
 * memory. */
static uint64_t *place_of(struct state *s, const struct item *item)
{
    uint32_t of = has_lane(item) ? item->event->lane : item->event->thread;
    bool known = of < (has_lane(item) ? s->lane_count : s->thread_count);
    if (item->lane == LANE_PROCESS || !known)
        return NULL;
    struct open_numbers *open = &s->open[has_lane(item) ? s->thread_count + of : of];
    while (open->count <= item->depth)
        if (vec_push(open, 0) != 0)
            return NULL;
    return &open->items[item->depth];
}

static int note_number(struct state *s, const struct item *item, uint64_t number)
{
    uint64_t *place = place_of(s, item);
    const struct wide_key key = key_of(s, item);
    if (!place)
        return wide_map_put(&s->open_elsewhere, &key, number);
    *place = number;
    return 0;
}

/* Returns and clears the number of a range that ends; 0 if it has no number. Spans of queues arrive
 * complete, without a begin. */
static uint64_t take_number(struct state *s, const struct item *item)
{
    uint64_t *place = item->lane == LANE_QUEUE ? NULL : place_of(s, item);
    uint64_t number = place ? *place : 0;
    if (place)
        *place = 0;
    if (number || item->lane == LANE_QUEUE)
        return number;
    const struct wide_key key = key_of(s, item);
    return wide_map_take(&s->open_elsewhere, &key, &number) ? number : 0;
}

/* Key of the fields that most begins or ends of a name share. */
static struct wide_key begin_key(const struct item *item)
{
    const struct event *event = item->event;
    uint64_t lane = has_lane(item) ? event->lane + UINT64_C(1) : 0;
    uint64_t color = event->flags & EVENT_HAS_COLOR ? event->color : 0;
    return (struct wide_key){.words = {event->name | (uint64_t)event->scope << 32,
                                       CTF_RANGE_BEGIN | (uint64_t)kind_of(item) << 8 |
                                           (uint64_t)event->level << 16 | color << 32,
                                       item->depth, lane}};
}

static void put_begin_common(struct state *s, const struct item *item)
{
    const struct wide_key key = begin_key(item);
    if (ctf_put_known(&s->records, &key))
        return;
    ctf_put_uint8(&s->records, kind_of(item));
    put_names(s, item->event);
    ctf_put_uint32(&s->records, item->depth);
    put_look(s, item->event);
    put_lane(s, item);
    put_function(s, item->event);
    ctf_keep(&s->records, &key);
}

static int put_begin(struct state *s, const struct item *item, uint64_t number)
{
    const struct event *event = item->event;
    uint32_t end_count = item->kind == ITEM_SPAN ? item->end_arg_count : 0;
    const struct args args = {item->args.items, item->args.count - end_count};
    ctf_begin(&s->records, CTF_RANGE_BEGIN, event->thread);
    ctf_put_uint64(&s->records, number);
    put_begin_common(s, item);
    put_args(s, event, &args);
    ctf_end(&s->records, item->begin_ns, 0);
    return s->records.error;
}

static void put_end_common(struct state *s, const struct item *item)
{
    const struct wide_key key = {.words = {item->event->name | (uint64_t)item->event->scope << 32,
                                           CTF_RANGE_END | (uint64_t)kind_of(item) << 8}};
    if (ctf_put_known(&s->records, &key))
        return;
    ctf_put_uint8(&s->records, kind_of(item));
    put_names(s, item->event);
    ctf_keep(&s->records, &key);
}

static int put_end(struct state *s, const struct item *item, uint64_t number)
{
    bool lacks = item->flags & ITEM_LACKS_END;
    const struct args args = item_end_args(item);
    ctf_begin(&s->records, CTF_RANGE_END, lacks ? item->event->thread : item->end_thread);
    ctf_put_uint64(&s->records, number);
    put_end_common(s, item);
    ctf_put_uint64(&s->records, length_ns(item->begin_ns, item->end_ns));
    ctf_put_uint8(&s->records, item->flags & ITEM_UNFINISHED ? CTF_UNFINISHED
                               : item->flags & ITEM_END_LOST ? CTF_END_LOST
                                                             : CTF_ENDED);
    put_args(s, NULL, &args);
    ctf_end(&s->records, item->end_ns, 0);
    return s->records.error;
}

static int take_begin(struct state *s, const struct item *item)
{
    int error = note_number(s, item, ++s->last_number);
    return error ? error : put_begin(s, item, s->last_number);
}

/* Writes the launch of a queue's span, on the launching thread. */
static int put_launch(struct state *s, const struct item *item, uint64_t number)
{
    const struct event *event = item->event;
    if (event->origin_ns == EVENT_NO_ORIGIN ||
        !pass_selects_time(s->job->selection, event->origin_ns))
        return 0;
    ctf_begin(&s->records, CTF_LAUNCH, event->thread);
    ctf_put_uint64(&s->records, number);
    put_names(s, event);
    put_lane(s, item);
    ctf_end(&s->records, event->origin_ns, 0);
    return s->records.error;
}

static int take_span(struct state *s, const struct item *item)
{
    uint64_t number = take_number(s, item);
    int error = 0;
    if (!number) {
        number = ++s->last_number;
        error = put_begin(s, item, number);
    }
    if (!error && item->lane == LANE_QUEUE)
        error = put_launch(s, item, number);
    return error ? error : put_end(s, item, number);
}

/* ---- Points ---------------------------------------------------------------------------------- */

static int take_mark(struct state *s, const struct item *item)
{
    static const char *const severities[] = {"debug", "info", "warning", "error", "fatal", ""};
    const struct event *event = item->event;
    const char *severity = severities[export_severity(s->trace, event->scope)];
    ctf_begin(&s->records, CTF_MARK, event->thread);
    put_names(s, event);
    ctf_put_text(&s->records, severity, strlen(severity));
    put_look(s, event);
    put_lane(s, item);
    put_args(s, event, &item->args);
    ctf_end(&s->records, event->time_ns, 0);
    return s->records.error;
}

static int take_counter(struct state *s, const struct event *event)
{
    bool is_float = event->value_kind == VALUE_DOUBLE;
    union value value = event->value;
    uint32_t domain = trace_scope_domain(s->trace, event->scope);
    if (event->value_kind == VALUE_UINT64 && value.uint64 > INT64_MAX) {
        value.float64 = (double)value.uint64;
        is_float = true;
    }
    ctf_begin(&s->records, is_float ? CTF_COUNTER_FLOAT : CTF_COUNTER, event->thread);
    put_names(s, event);
    ctf_put_uint64(&s->records, value.uint64);
    ctf_put_string(&s->records, trace_unit_find(s->trace, domain, event->name));
    ctf_end(&s->records, event->time_ns, 0);
    return s->records.error;
}

static int take_flow(struct state *s, const struct event *event)
{
    ctf_begin(&s->records, CTF_FLOW, event->thread);
    ctf_put_uint8(&s->records, (uint8_t)(event->kind - EVENT_FLOW_BEGIN));
    ctf_put_uint64(&s->records, event->id);
    put_names(s, event);
    ctf_end(&s->records, event->time_ns, 0);
    return s->records.error;
}

/* Completes the record begun by the caller: lost events of the gap that ends at its time. */
static void put_lost(struct state *s, const struct gap *gap)
{
    const char *text = loss_name(gap->cause);
    ctf_put_uint64(&s->records, gap->count);
    ctf_put_text(&s->records, text, strlen(text));
    ctf_put_uint64(&s->records, length_ns(gap->begin_ns, gap->end_ns));
    ctf_end(&s->records, gap->end_ns, gap->count);
}

static int take_lost(struct state *s, const struct event *event)
{
    const struct trace_thread *thread = trace_thread_get(s->trace, event->thread);
    const struct gap gap = {event->value.uint64, (enum loss)event->level, event->time_ns,
                            event_order_ns(event)};
    if (thread && thread->process < trace_process_count(s->trace) && gap.cause < LOSS_COUNT)
        s->lost[thread->process][gap.cause] += gap.count;
    ctf_begin(&s->records, CTF_LOST, event->thread);
    put_lost(s, &gap);
    return s->records.error;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void put_values(struct state *s, const struct sample *sample)
{
    const struct sample_set *set = sample_set_get(trace_sets_get(s->trace), sample->set);
    uint32_t count = sample->value_count < set->count ? sample->value_count : set->count;
    char buffer[16];
    ctf_put_uint32(&s->records, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = trace_value_name(s->trace, set->types[i], buffer);
        ctf_put_text(&s->records, name, strlen(name));
        ctf_put_uint64(&s->records, (uint64_t)sample->values[i]);
    }
}

/* Writes the functions from the root. */
static void put_stack(struct state *s, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(s->trace);
    uint32_t frames[PROFILE_DEPTH_MAX];
    uint32_t count = stacks_frames(stacks, stack, frames, PROFILE_DEPTH_MAX);
    ctf_put_uint32(&s->records, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t text = stacks_label_of(stacks, frames[i])->text;
        if (text)
            ctf_put_string(&s->records, text);
        else
            ctf_put_text(&s->records, "?", 1);
    }
}

static int take_sample(struct state *s, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(s->trace);
    bool waits = sample_role(sets, sample) == SAMPLE_ROLE_OFF_CPU;
    const char *reason = waits ? wait_reason_name((enum wait_reason)sample->reason) : "";
    char buffer[16];
    const char *set = trace_set_name(s->trace, sample->set, buffer);
    ctf_begin(&s->records, CTF_SAMPLE, sample->thread);
    ctf_put_text(&s->records, set, strlen(set));
    ctf_put_uint32(&s->records, sample->cpu);
    ctf_put_uint64(&s->records, length_ns(sample->time_ns, sample_order_ns(sample)));
    ctf_put_text(&s->records, reason, strlen(reason));
    put_values(s, sample);
    if (sample->path)
        call_put_path(s->trace, sample->path, s->records.made);
    ctf_put_made(&s->records);
    put_stack(s, sample->stack);
    ctf_end(&s->records, sample->time_ns, 0);
    if (s->has_states && !s->records.error)
        return thread_states_add(&s->states, sample);
    return s->records.error;
}

static int take_stretch(void *context, const struct thread_stretch *stretch)
{
    struct state *s = context;
    const char *reason =
        stretch->wait ? wait_reason_name((enum wait_reason)stretch->wait->reason) : "";
    ctf_begin(&s->records, CTF_THREAD_STATE, stretch->thread);
    ctf_put_uint8(&s->records, stretch->state);
    ctf_put_text(&s->records, reason, strlen(reason));
    ctf_put_uint64(&s->records, length_ns(stretch->begin_ns, stretch->end_ns));
    ctf_end(&s->records, stretch->begin_ns, 0);
    return s->records.error;
}

/* ---- Facts of the recording ------------------------------------------------------------------ */

static void put_fact(void *context, const struct fact *fact)
{
    struct state *s = context;
    const struct pass_selection *selection = s->job->selection;
    int64_t begin_ns = trace_begin_ns(s->trace);
    char number[32];
    const char *text = fact->text;
    if (fact->kind != VALUE_STRING) {
        snprintf(number, sizeof(number), "%" PRIu64, fact->value.uint64);
        text = number;
    }
    ctf_begin(&s->records, CTF_SESSION_FACT, UINT32_MAX);
    ctf_put_text(&s->records, fact->name, strlen(fact->name));
    ctf_put_text(&s->records, text, strlen(text));
    ctf_end(&s->records, selection->from_ns > begin_ns ? selection->from_ns : begin_ns, 0);
}

static void put_last_word(struct state *s, uint32_t process)
{
    const struct trace_process *entry = trace_process_get(s->trace, process);
    int64_t time_ns = export_note_time_ns(s->trace, process);
    if (!entry->note)
        return;
    if (entry->note_thread)
        ctf_begin(&s->records, CTF_LAST_WORD, entry->note_thread - 1);
    else
        ctf_begin_process(&s->records, CTF_LAST_WORD, process);
    ctf_put_string(&s->records, entry->note);
    ctf_end(&s->records, time_ns, 0);
}

static void put_process_end(struct state *s, uint32_t process)
{
    const struct trace_process *entry = trace_process_get(s->trace, process);
    char how[EXPORT_NOTE_SIZE];
    if (entry->end == PROCESS_RUNNING || entry->end == PROCESS_UNRECORDED || !entry->end_ns)
        return;
    trace_process_end_label(s->trace, process, how, sizeof(how));
    ctf_begin_process(&s->records, CTF_PROCESS_END, process);
    ctf_put_text(&s->records, how, strlen(how));
    ctf_end(&s->records, entry->end_ns, 0);
}

/* Writes losses of a process with unknown time. */
static void put_rest_lost(struct state *s, uint32_t process)
{
    const struct trace_process *entry = trace_process_get(s->trace, process);
    int64_t begin_ns = entry->start_ns ? entry->start_ns : trace_begin_ns(s->trace);
    int64_t end_ns = range_end_ns(s->trace, process, session_end_ns(s->trace));
    struct gap gap = {.begin_ns = begin_ns, .end_ns = end_ns};
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++) {
        if (entry->lost[cause] <= s->lost[process][cause])
            continue;
        gap.cause = (enum loss)cause;
        gap.count = entry->lost[cause] - s->lost[process][cause];
        ctf_begin_process(&s->records, CTF_LOST, process);
        put_lost(s, &gap);
    }
}

/* Writes process events only for a complete recording, not for a selection. */
static void put_processes(struct state *s)
{
    bool all = pass_selects_all(s->job->selection);
    for (uint32_t i = 0; all && i < trace_process_count(s->trace); i++) {
        put_last_word(s, i);
        put_process_end(s, i);
        put_rest_lost(s, i);
    }
}

/* ---- The exporter ---------------------------------------------------------------------------- */

static int take_on_thread(struct state *s, const struct item *item)
{
    switch (item->kind) {
    case ITEM_COUNTER:
        return take_counter(s, item->event);
    case ITEM_FLOW:
        return take_flow(s, item->event);
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
    switch (item->kind) {
    case ITEM_OPENED:
        return take_begin(s, item);
    case ITEM_SPAN:
        return take_span(s, item);
    case ITEM_INSTANT:
        return take_mark(s, item);
    default:
        return take_on_thread(s, item);
    }
}

static int begin(void *state, const struct export_job *job)
{
    /* The clock of a merge is that of its first host; others may have begun earlier. */
    const int64_t before_ns = INT64_C(3600000000000), earliest_ns = INT64_MIN / 4;
    struct state *s = state;
    const struct thread_states_sink sink = {take_stretch, s};
    s->job = job;
    s->trace = job->source->trace;
    s->has_states = trace_sampling_get(s->trace)->off_cpu;
    int64_t begin_ns = trace_begin_ns(s->trace);
    int error = ctf_records_init(&s->records, s->trace);
    if (begin_ns < 0)
        s->records.origin_ns = begin_ns < earliest_ns ? earliest_ns : begin_ns - before_ns;
    s->lost = calloc(trace_process_count(s->trace) + 1u, sizeof(*s->lost));
    s->thread_count = trace_thread_count(s->trace);
    s->lane_count = trace_lane_count(s->trace);
    s->open = calloc((size_t)s->thread_count + s->lane_count + 1, sizeof(*s->open));
    if (!s->lost || !s->open)
        error = -ENOMEM;
    if (!error && s->has_states)
        error = thread_states_init(&s->states, s->trace, job->selection, &sink);
    if (!error)
        session_facts(s->trace, put_fact, s);
    return error ? error : s->records.error;
}

static int end(void *state)
{
    struct state *s = state;
    int error = s->has_states ? thread_states_finish(&s->states) : 0;
    put_processes(s);
    if (!error)
        error = s->records.error;
    if (!error && s->job->metadata)
        ctf_put_metadata(s->trace, s->records.origin_ns, s->job->metadata);
    return error ? error : ctf_put_packets(&s->records, s->job->out);
}

static void destroy(void *state)
{
    struct state *s = state;
    ctf_records_fini(&s->records);
    thread_states_fini(&s->states);
    for (size_t i = 0; s->open && i < (size_t)s->thread_count + s->lane_count; i++)
        vec_free(&s->open[i]);
    free(s->open);
    wide_map_free(&s->open_elsewhere);
    free(s->lost);
}

static const char *const files[] = {"stream", "metadata", NULL};

extern const struct exporter export_ctf;
const struct exporter export_ctf = {
    .name = "ctf",
    .extension = ".ctf",
    .summary = "Common Trace Format 1.8: a folder, for babeltrace2",
    .carries = "ranges, calls, marks, counters, flows, samples, thread states",
    .viewer = "with babeltrace2",
    .binary = true,
    .tells_missing = true,
    .waits = true,
    .files = files,
    .wants = WANT_EVENTS | WANT_BEGINS | WANT_SAMPLES | WANT_PATHS,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
