/* SPDX-License-Identifier: MIT */
/* Makes recordings by hand: one list of events in the order of the calls. */
#include "trace_maker.h"

#include "vec.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_EVENTS_MAX = 500, BATCH_SAMPLES_MAX = 100 };

struct maker {
    struct trace *trace;
    VEC(struct event) events;
    VEC(struct arg) args; /* of the events */
    VEC(struct sample) samples;
    struct value_pool values; /* of the samples */
    VEC(uint32_t) depths;     /* by thread */
    size_t next;              /* next event to return */
    size_t next_sample;
};

static void must(bool done)
{
    if (!done)
        abort();
}

struct maker *maker_create(void)
{
    struct maker *maker = calloc(1, sizeof(*maker));
    must(maker != NULL);
    maker->trace = trace_create();
    must(maker->trace != NULL);
    trace_session(maker->trace)->begin_ns = MAKER_BEGIN_NS;
    return maker;
}

void maker_destroy(struct maker *maker)
{
    trace_destroy(maker->trace);
    vec_free(&maker->events);
    vec_free(&maker->args);
    vec_free(&maker->samples);
    value_pool_free(&maker->values);
    vec_free(&maker->depths);
    free(maker);
}

struct trace *maker_trace(struct maker *maker)
{
    return maker->trace;
}

uint32_t maker_string(struct maker *maker, const char *text)
{
    int64_t ordinal = trace_string_add(maker->trace, text, strlen(text));
    must(ordinal >= 0);
    return (uint32_t)ordinal;
}

uint32_t maker_scope(struct maker *maker, const char *domain, const char *category)
{
    const struct scope scope = {.domain = maker_string(maker, domain ? domain : ""),
                                .category = maker_string(maker, category ? category : "")};
    int64_t ordinal = trace_scope_add(maker->trace, &scope);
    must(ordinal >= 0);
    return (uint32_t)ordinal;
}

uint32_t maker_observed(struct maker *maker, const char *category, enum observer observer,
                        unsigned role)
{
    const struct scope scope = {.domain = maker_string(maker, "python"),
                                .category = maker_string(maker, category),
                                .observer = (uint16_t)observer,
                                .role = (uint16_t)role};
    int64_t ordinal = trace_scope_add(maker->trace, &scope);
    must(ordinal >= 0);
    return (uint32_t)ordinal;
}

uint32_t maker_process(struct maker *maker, int32_t pid, int32_t parent, const char *cmdline,
                       int64_t start)
{
    int64_t ordinal = trace_process_add(maker->trace);
    must(ordinal >= 0);
    struct trace_process *process = trace_process(maker->trace, (uint32_t)ordinal);
    process->pid = process->ns_pid = pid;
    process->parent = parent;
    process->identity = (uint64_t)ordinal + 1;
    process->start_ns = MAKER_BEGIN_NS + start;
    process->cmdline = maker_string(maker, cmdline);
    return (uint32_t)ordinal;
}

uint32_t maker_thread(struct maker *maker, uint32_t process, int32_t tid, const char *name)
{
    int64_t ordinal = trace_thread_add(maker->trace, process);
    must(ordinal >= 0 && vec_push(&maker->depths, 0) == 0);
    struct trace_thread *thread = trace_thread(maker->trace, (uint32_t)ordinal);
    thread->serial = (uint32_t)ordinal + 1;
    thread->tid = tid;
    thread->name = maker_string(maker, name);
    return (uint32_t)ordinal;
}

void maker_event(struct maker *maker, const struct event *event)
{
    struct event copy = *event;
    struct trace_thread *thread = trace_thread(maker->trace, event->thread);
    copy.time_ns += MAKER_BEGIN_NS;
    if (event->kind == EVENT_LOST)
        copy.end_ns += MAKER_BEGIN_NS;
    if (event->kind == EVENT_PUSH)
        maker->depths.items[event->thread]++;
    if (event->kind == EVENT_POP)
        maker->depths.items[event->thread] = (uint32_t)event->depth;
    if (thread->first_ns == 0)
        thread->first_ns = copy.time_ns;
    thread->last_ns = event->kind == EVENT_LOST ? copy.end_ns : copy.time_ns;
    thread->event_count++;
    trace_process(maker->trace, thread->process)->event_count++;
    must(vec_push(&maker->events, copy) == 0);
}

void maker_push(struct maker *maker, uint32_t thread, int64_t time, const char *name)
{
    maker_event(maker, &(struct event){.kind = EVENT_PUSH,
                                       .thread = thread,
                                       .time_ns = time,
                                       .name = maker_string(maker, name)});
}

void maker_pop(struct maker *maker, uint32_t thread, int64_t time)
{
    uint32_t depth = maker->depths.items[thread];
    must(depth > 0);
    maker_event(
        maker,
        &(struct event){.kind = EVENT_POP, .thread = thread, .time_ns = time, .depth = depth - 1});
}

void maker_mark(struct maker *maker, uint32_t thread, int64_t time, const char *name)
{
    maker_event(maker, &(struct event){.kind = EVENT_MARK,
                                       .thread = thread,
                                       .time_ns = time,
                                       .name = maker_string(maker, name)});
}

void maker_counter(struct maker *maker, uint32_t thread, int64_t time, const char *name,
                   double value)
{
    maker_event(maker, &(struct event){.kind = EVENT_COUNTER,
                                       .thread = thread,
                                       .time_ns = time,
                                       .name = maker_string(maker, name),
                                       .value_kind = VALUE_DOUBLE,
                                       .value.float64 = value});
}

void maker_start(struct maker *maker, uint32_t thread, int64_t time, const char *name, uint64_t id)
{
    maker_event(maker, &(struct event){.kind = EVENT_START,
                                       .thread = thread,
                                       .time_ns = time,
                                       .name = maker_string(maker, name),
                                       .id = id});
}

void maker_end(struct maker *maker, uint32_t thread, int64_t time, uint64_t id)
{
    maker_event(maker,
                &(struct event){.kind = EVENT_END, .thread = thread, .time_ns = time, .id = id});
}

void maker_point(struct maker *maker, uint32_t thread, int64_t time,
                 const struct maker_point *point)
{
    bool track = event_has_lane((uint8_t)point->kind);
    maker_event(maker, &(struct event){.kind = (uint8_t)point->kind,
                                       .thread = thread,
                                       .time_ns = time,
                                       .name = maker_string(maker, point->name ? point->name : ""),
                                       .id = track ? 0 : point->id,
                                       .lane = track ? (uint32_t)point->id : 0});
}

uint32_t maker_track(struct maker *maker, uint32_t process, uint64_t id, const char *name,
                     int64_t parent)
{
    int64_t ordinal = trace_lane_add(maker->trace, id);
    must(ordinal >= 0);
    struct trace_lane *track = trace_lane(maker->trace, (uint32_t)ordinal);
    track->process = process;
    track->name = maker_string(maker, name);
    must(parent < 0 || trace_lane_set_parent(maker->trace, (uint32_t)ordinal, (uint32_t)parent));
    return (uint32_t)ordinal;
}

void maker_value(struct maker *maker, const char *key, enum value_kind kind, union value value)
{
    must(maker->events.count > 0);
    struct event *last = &maker->events.items[maker->events.count - 1];
    if (last->arg_count++ == 0)
        last->args = (uint32_t)maker->args.count;
    struct arg arg = {.key = maker_string(maker, key), .kind = kind, .value = value};
    must(vec_push(&maker->args, arg) == 0);
}

void maker_value_int(struct maker *maker, const char *key, int64_t value)
{
    maker_value(maker, key, VALUE_INT64, (union value){.int64 = value});
}

void maker_value_text(struct maker *maker, const char *key, const char *value)
{
    maker_value(maker, key, VALUE_STRING, (union value){.string = maker_string(maker, value)});
}

void maker_log(struct maker *maker, uint32_t thread, int64_t time, const char *severity,
               const char *text)
{
    maker_mark(maker, thread, time, text);
    maker_severity(maker, severity);
}

void maker_severity(struct maker *maker, const char *severity)
{
    static const char *const names[] = {"debug", "info", "warning", "error", "fatal"};
    struct event *last = &maker->events.items[maker->events.count - 1];
    struct scope scope = *trace_scope(maker->trace, last->scope);
    for (uint16_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i], severity) == 0) {
            scope.observer = OBSERVER_LOG;
            scope.role = i + 1;
        }
    int64_t ordinal = trace_scope_add(maker->trace, &scope);
    must(ordinal >= 0);
    last->scope = (uint32_t)ordinal;
    maker_value_text(maker, "severity", severity);
}

void maker_unit(struct maker *maker, const char *counter, const char *unit)
{
    must(trace_unit_set(maker->trace, 0, maker_string(maker, counter), maker_string(maker, unit)) ==
         0);
}

void maker_note(struct maker *maker, uint32_t thread, int64_t time, const char *text)
{
    uint32_t ordinal = trace_thread(maker->trace, thread)->process;
    struct trace_process *process = trace_process(maker->trace, ordinal);
    process->note = maker_string(maker, text);
    process->note_thread = thread + 1;
    process->note_ns = MAKER_BEGIN_NS + time;
}

void maker_lost(struct maker *maker, uint32_t thread, const struct maker_gap *gap)
{
    struct trace_thread *entry = trace_thread(maker->trace, thread);
    entry->lost[gap->cause] += gap->lost;
    trace_process(maker->trace, entry->process)->lost[gap->cause] += gap->lost;
    maker->depths.items[thread] = (uint32_t)gap->depth;
    maker_event(maker, &(struct event){.kind = EVENT_LOST,
                                       .thread = thread,
                                       .time_ns = gap->begin,
                                       .end_ns = gap->end,
                                       .level = (uint8_t)gap->cause,
                                       .value.uint64 = gap->lost,
                                       .depth = gap->depth});
}

static uint32_t string_of(struct trace *trace, const char *text)
{
    int64_t ordinal = text ? trace_string_add(trace, text, strlen(text)) : 0;
    must(ordinal >= 0);
    return (uint32_t)ordinal;
}

static uint32_t module_of(struct trace *trace, const char *path)
{
    const struct code_module module = {.path = string_of(trace, path), .kind = MODULE_ELF};
    int64_t ordinal = module.path ? stacks_module(trace_stacks(trace), &module) : 0;
    must(ordinal >= 0);
    return (uint32_t)ordinal;
}

static uint32_t source_of(struct trace *trace, const char *path)
{
    const struct source source = {.path = string_of(trace, path)};
    int64_t ordinal = source.path ? stacks_source(trace_stacks(trace), &source) : 0;
    must(ordinal >= 0);
    return (uint32_t)ordinal;
}

uint32_t maker_frame_of(struct trace *trace, const struct maker_frame *frame)
{
    bool python = frame->kind == FRAME_PYTHON;
    const char *text = frame->function ? frame->function : "";
    bool place = !python && (*text == '[' || strstr(text, "+0x"));
    const struct label like = {
        .source = source_of(trace, frame->file),
        .module = python ? 0 : module_of(trace, frame->module),
        .first_line = frame->first_line == 0 && python ? frame->line : frame->first_line,
        .kind = (uint8_t)frame->kind,
        .flags = place ? LABEL_PLACE : 0,
    };
    int64_t label = trace_label_add(trace, &like, text);
    must(label >= 0);
    const struct frame made = {.kind = like.kind,
                               .label = (uint32_t)label,
                               .module = module_of(trace, frame->module),
                               .line = frame->line,
                               .address = frame->address};
    int64_t ordinal = stacks_frame(trace_stacks(trace), &made);
    must(ordinal > 0);
    return (uint32_t)ordinal;
}

uint32_t maker_stack(struct maker *maker, uint32_t parent, const struct maker_frame *frame)
{
    uint32_t made = maker_frame_of(maker->trace, frame);
    int64_t ordinal = stacks_push(trace_stacks(maker->trace), parent, made);
    must(ordinal > 0);
    return (uint32_t)ordinal;
}

uint32_t maker_path(struct maker *maker, uint32_t parent, const char *name)
{
    return maker_path_of_kind(maker, parent, name, RANGE_PATH_THREAD);
}

uint32_t maker_path_of_kind(struct maker *maker, uint32_t parent, const char *name, uint32_t kind)
{
    struct range_path path = {.parent = parent, .name = maker_string(maker, name), .kind = kind};
    int64_t ordinal = stacks_path_add(trace_stacks(maker->trace), &path);
    must(ordinal > 0);
    return (uint32_t)ordinal;
}

void maker_sample(struct maker *maker, const struct sample *sample)
{
    struct sample copy = *sample;
    copy.time_ns += MAKER_BEGIN_NS;
    copy.end_ns += copy.end_ns ? MAKER_BEGIN_NS : 0;
    must(value_pool_keep(&maker->values, &copy) == 0 && vec_push(&maker->samples, copy) == 0);
}

void maker_wait(struct maker *maker, const struct sample *sample, int64_t wake)
{
    struct sample wait = *sample;
    int64_t values[2];
    sample_set_wait(&wait, wake, values);
    maker_sample(maker, &wait);
}

void maker_finish(struct maker *maker, int64_t time)
{
    struct trace_session *session = trace_session(maker->trace);
    session->id = 1;
    session->end_ns = MAKER_BEGIN_NS + time;
    session->begin_realtime_ns = MAKER_REALTIME_NS;
    session->hostname = maker_string(maker, "workshop");
    session->kernel = maker_string(maker, "6.1.0");
    session->command = maker_string(maker, "python pipeline.py --workers 2");
    session->annot_version = maker_string(maker, "0.1.0");
    session->clock = maker_string(maker, "tsc");
    session->revision++;
    for (uint32_t i = 0; i < trace_process_count(maker->trace); i++)
        trace_process(maker->trace, i)->revision++;
    for (uint32_t i = 0; i < trace_thread_count(maker->trace); i++)
        trace_thread(maker->trace, i)->revision++;
}

/* Counters of the collector come in a declared stream. */
static bool is_late(const struct maker *maker, const struct event *event)
{
    return event->kind == EVENT_COUNTER && event->scope != 0 &&
           trace_scope(maker->trace, event->scope)->observer == OBSERVER_MEMORY;
}

int maker_next(void *context, struct event_batch *ret_batch)
{
    struct maker *maker = context;
    size_t begin = maker->next, end = begin;
    if (begin == maker->events.count) {
        maker->next = 0;
        return 0;
    }
    const struct event *first = &maker->events.items[begin];
    bool late = is_late(maker, first);
    while (end < maker->events.count && end - begin < BATCH_EVENTS_MAX &&
           maker->events.items[end].thread == first->thread &&
           is_late(maker, &maker->events.items[end]) == late)
        end++;
    maker->next = end;
    *ret_batch = (struct event_batch){.thread = first->thread,
                                      .count = (uint32_t)(end - begin),
                                      .events = first,
                                      .args = maker->args.items,
                                      .late = late};
    return 1;
}

int maker_next_samples(void *context, const struct sample **ret_samples, uint32_t *ret_count)
{
    struct maker *maker = context;
    size_t begin = maker->next_sample, left = maker->samples.count - begin;
    size_t count = left < BATCH_SAMPLES_MAX ? left : BATCH_SAMPLES_MAX;
    maker->next_sample = count ? begin + count : 0;
    *ret_samples = maker->samples.items + begin;
    *ret_count = (uint32_t)count;
    return count > 0;
}

int maker_rewind(void *context)
{
    struct maker *maker = context;
    maker->next = maker->next_sample = 0;
    return 0;
}

void maker_forget(struct maker *maker)
{
    maker->samples.count = 0;
    value_pool_free(&maker->values);
    maker->next_sample = 0;
    maker->events.count = maker->args.count = 0;
    maker->next = 0;
}

static int next_sample_batch(void *context, struct sample_batch *ret_batch)
{
    ret_batch->settled_ns = INT64_MIN;
    return maker_next_samples(context, &ret_batch->samples, &ret_batch->count);
}

struct pass_source maker_pass_source(struct maker *maker)
{
    return (struct pass_source){.trace = maker_trace(maker),
                                .next_events = maker_next,
                                .next_samples = next_sample_batch,
                                .context = maker};
}
