/* SPDX-License-Identifier: MIT */
/* Random traces and events: implements sample_events.h. */
#include "sample_events.h"

#include "random_samples.h"
#include "test.h"

#include <stdio.h>

enum { TRACKS = 16, SCOPES = 40 };

uint64_t sample_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint32_t add_text(struct trace *trace, const char *prefix, unsigned number)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "%s %u", prefix, number);
    return (uint32_t)trace_string_add(trace, text, (size_t)length);
}

static void fill_process(struct trace *trace, uint32_t ordinal)
{
    struct trace_process *process = trace_process(trace, ordinal);
    process->pid = 1000 + (int32_t)ordinal;
    process->ppid = 1;
    process->ns_pid = 7 + (int32_t)ordinal;
    process->pid_ns = 4026531836;
    process->identity = UINT64_C(0xfedcba9876543210) + ordinal;
    process->parent = (int32_t)ordinal - 1;
    process->forked = ordinal != 0;
    process->start_ns = 1000000 + ordinal;
    process->end_ns = (INT64_C(1) << 61) - ordinal;
    process->fork_ns = -5;
    process->fork_thread = 3 * ordinal;
    process->end = PROCESS_SIGNALED;
    process->end_value = 9;
    process->uid = UINT32_MAX;
    process->name = add_text(trace, "process name", ordinal);
    process->comm = add_text(trace, "comm", ordinal);
    process->cmdline = add_text(trace, "python3 script.py", ordinal);
    process->runtime_version = 0x000100;
    for (int i = 0; i < LOSS_COUNT; i++)
        process->lost[i] = (uint64_t)i * 1000;
    for (int i = 0; i < MISUSE_COUNT; i++)
        process->misuse[i] = (uint64_t)i + 1;
    process->peak_bytes = UINT64_MAX;
    process->event_count = 123456789;
    process->note = add_text(trace, "last word", ordinal);
    process->note_thread = ordinal;
    process->note_ns = 1999999 - ordinal;
}

static void fill_thread(struct trace *trace, uint32_t ordinal, uint32_t serial)
{
    struct trace_thread *thread = trace_thread(trace, ordinal);
    thread->serial = serial + 1;
    thread->tid = 7 + (int32_t)serial;
    thread->name = add_text(trace, "thread", serial);
    thread->comm = add_text(trace, "comm", serial);
    thread->first_ns = 5;
    thread->last_ns = -(INT64_C(1) << 61);
    thread->event_count = ordinal;
    for (int i = 0; i < LOSS_COUNT; i++)
        thread->lost[i] = (uint64_t)i << 60;
}

/* Some are below others, also of larger ordinals; some counters have units. */
static void fill_tracks(struct trace *trace, unsigned processes, unsigned strings)
{

    for (uint32_t i = 0; i < TRACKS; i++) {
        CHECK_INT(trace_lane_add(trace, UINT64_C(0xabcde) << 44 | i * i), i);
        struct trace_lane *track = trace_lane(trace, i);
        track->process = i % processes;
        track->name = 1 + i % strings;
    }
    for (uint32_t i = 0; i + 7 < TRACKS; i += 7)
        for (uint32_t child = 0; child < 7; child++)
            CHECK(child == 5 || trace_lane_set_parent(trace, i + child, i + 5));
    for (uint32_t i = 1; i < strings; i += 15)
        CHECK_INT(trace_unit_set(trace, i % 2, i, strings - i), 0);
}

/* Includes ordinals of missing strings. */
static void fill_scopes(struct trace *trace)
{
    for (uint32_t i = 1; i < SCOPES; i++) {
        const struct scope scope = {.domain = i,
                                    .category = i % 3 ? 0 : UINT32_MAX - i,
                                    .observer = (uint16_t)(i % 5),
                                    .role = (uint16_t)(i % 7 ? 0 : UINT16_MAX - i)};
        CHECK_INT(trace_scope_add(trace, &scope), i);
    }
}

static void fill_session(struct trace *trace)
{
    struct trace_session *session = trace_session(trace);
    session->revision++;
    session->id = UINT64_MAX;
    session->parent_id = 1;
    session->hostname = add_text(trace, "host", 1);
    session->kernel = add_text(trace, "kernel", 6);
    session->command = add_text(trace, "command", 1);
    session->annot_version = add_text(trace, "annot", 1);
    session->clock = add_text(trace, "tsc", 1);
    session->begin_ns = 1000000;
    session->end_ns = 2000000;
    session->begin_realtime_ns = 1700000000000000000;
    session->command_status = -1;
    session->recovered = true;
    session->peak_bytes = 1 << 20;
    session->nested = add_text(trace, "nested", 1);
}

struct trace *sample_trace(unsigned processes, unsigned threads, unsigned strings)
{
    struct trace *trace = trace_create();
    CHECK(trace);
    for (unsigned i = 0; i < strings; i++)
        add_text(trace, "range \xc3\xa4", i);
    for (unsigned p = 0; p < processes; p++) {
        CHECK_INT(trace_process_add(trace), p);
        fill_process(trace, p);
        for (unsigned t = 0; t < threads; t++)
            fill_thread(trace, (uint32_t)trace_thread_add(trace, p), t);
    }
    fill_scopes(trace);
    fill_session(trace);
    struct trace_refusal refusal = {77, add_text(trace, "comm", 0), add_text(trace, "why", 0)};
    CHECK_INT(trace_refusal_add(trace, &refusal), 0);
    struct trace_filter first = {-5, add_text(trace, "+io -io/noise", 0)}, last = {1000, 0};
    CHECK_INT(trace_filter_add(trace, &first), 0);
    CHECK_INT(trace_filter_add(trace, &last), 1);
    random_stacks(trace, strings, 20);
    fill_tracks(trace, processes, strings);
    return trace;
}

static uint64_t any_value(uint64_t *random)
{
    uint64_t value = sample_random(random);
    return value >> (value & 63);
}

static int64_t any_step(uint64_t *random)
{
    static const unsigned widths[] = {4, 8, 12, 16, 20, 24, 28, 40};
    uint64_t choice = sample_random(random);
    return (int64_t)(sample_random(random) & ((UINT64_C(1) << widths[choice % 8]) - 1));
}

#define ARG(i)                                                                                     \
    {.key = 1 + (i) % 5, .kind = 1 + (i) % 5, .value.uint64 = UINT64_C(0x9e3779b97f4a7c15) >> (i)},
#define ARGS(i) ARG(i) ARG((i) + 1) ARG((i) + 2) ARG((i) + 3){.key = 2},

const struct arg sample_args[] = {ARGS(7) ARGS(1) ARGS(20) ARGS(43)};

static void fill_args(struct event *event, uint64_t *random)
{
    uint32_t size = sizeof(sample_args) / sizeof(sample_args[0]);
    event->args = (uint32_t)(sample_random(random) % size);
    event->arg_count = (uint16_t)(1 + sample_random(random) % (size - event->args));
}

static void fill_attributes(struct event *event, uint32_t strings, uint64_t *random)
{
    event->name = (uint32_t)(sample_random(random) % strings);
    event->level = (uint8_t)(sample_random(random) % 8);
    if (sample_random(random) % 8 == 0) {
        event->scope = (uint32_t)(sample_random(random) % (SCOPES + 3)); /* some are unknown */
    }
    if (sample_random(random) % 8 == 0) {
        event->flags |= EVENT_HAS_COLOR;
        event->color = (uint32_t)any_value(random);
    }
    if (sample_random(random) % 8 == 0 && event_can_continue(event->kind))
        event->flags |= EVENT_CONTINUES;
    if (sample_random(random) % 8 == 0)
        fill_args(event, random);
    if (event_has_lane(event->kind))
        event->lane = sample_random(random) % TRACKS;
    else if (event->kind >= EVENT_FLOW_BEGIN && event->kind <= EVENT_FLOW_END)
        event->id = any_value(random);
    else if (sample_random(random) % 4 == 0 || event->kind == EVENT_COUNTER) {
        event->value_kind = (uint8_t)(1 + sample_random(random) % VALUE_STRING);
        event->value.uint64 = any_value(random);
    }
}

void sample_events(struct sample_source *source, uint32_t thread, struct event *events,
                   uint32_t count)
{
    int64_t *time_ns = &source->times[thread];
    uint64_t *random = &source->random;
    uint32_t strings = source->strings;
    uint64_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t choice = sample_random(random);
        struct event *event = &events[i];
        *event = (struct event){.thread = thread, .time_ns = *time_ns += any_step(random)};
        event->kind = choice % 4 == 0            ? (uint8_t)(1 + (choice >> 8) % (EVENT_KINDS - 1))
                      : choice % 4 == 1 && depth ? EVENT_POP
                                                 : EVENT_PUSH;
        if (event->kind == EVENT_POP)
            event->depth = choice >> 60 == 0 ? any_value(random) : depth - 1;
        else if (event->kind == EVENT_START || event->kind == EVENT_END)
            event->id = UINT64_C(0xabcde) << 44 | (choice >> 40);
        if (event->kind == EVENT_LOST) {
            event->level = (uint8_t)(choice >> 8 & 7);
            event->depth = choice >> 58;
            event->end_ns = *time_ns + any_step(random);
            event->value.uint64 = any_value(random);
        } else if (event->kind != EVENT_POP && event->kind != EVENT_EDGE) {
            fill_attributes(event, strings, random);
        }
        depth = event_depth_after(event, depth);
    }
}

static void check_args(const struct event_batch *batch, const struct event *actual,
                       const struct event *expected)
{
    const struct args args = event_args(batch, actual);
    CHECK_INT(args.count, expected->arg_count);
    for (uint32_t i = 0; i < args.count; i++)
        CHECK(memcmp(&args.items[i], &sample_args[expected->args + i], sizeof(struct arg)) == 0);
}

void sample_check_event(const struct event_batch *batch, uint32_t index,
                        const struct event *expected)
{
    const struct event *actual = &batch->events[index];
    check_args(batch, actual, expected);
    CHECK_INT(actual->kind, expected->kind);
    CHECK_INT(actual->thread, expected->thread);
    CHECK_INT(actual->time_ns, expected->time_ns);
    CHECK_INT(actual->level, expected->level);
    CHECK_INT(actual->value_kind, expected->value_kind);
    CHECK_INT(actual->flags, expected->flags);
    CHECK_INT(actual->name, expected->name);
    CHECK_INT(actual->scope, expected->scope);
    CHECK_INT(actual->color, expected->color);
    CHECK_INT(actual->value.uint64, expected->value.uint64);
    CHECK_INT(actual->id, expected->id);
    CHECK_INT(actual->lane, expected->lane);
    CHECK_INT(actual->end_ns, expected->end_ns);
}

static void check_text(const struct trace *actual, uint32_t actual_ordinal,
                       const struct trace *expected, uint32_t ordinal)
{
    CHECK_INT(actual_ordinal, ordinal);
    CHECK_STR(trace_string(actual, ordinal)->bytes, trace_string(expected, ordinal)->bytes);
}

static void check_process(const struct trace *actual, const struct trace *expected, uint32_t i)
{
    struct trace_process a = *trace_process_get(actual, i), e = *trace_process_get(expected, i);
    check_text(actual, a.name, expected, e.name);
    check_text(actual, a.comm, expected, e.comm);
    check_text(actual, a.cmdline, expected, e.cmdline);
    check_text(actual, a.note, expected, e.note);
    a.revision = e.revision;
    CHECK_INT(a.pid, e.pid);
    CHECK_INT(a.parent, e.parent);
    CHECK_INT(a.identity, e.identity);
    CHECK_INT(a.event_count, e.event_count);
    CHECK(memcmp(&a, &e, sizeof(a)) == 0);
}

static void check_thread(const struct trace *actual, const struct trace *expected, uint32_t i)
{
    struct trace_thread a = *trace_thread_get(actual, i), e = *trace_thread_get(expected, i);
    check_text(actual, a.name, expected, e.name);
    a.revision = e.revision;
    CHECK_INT(a.process, e.process);
    CHECK_INT(a.serial, e.serial);
    CHECK(memcmp(&a, &e, sizeof(a)) == 0);
}

static void check_tracks(const struct trace *actual, const struct trace *expected)
{
    CHECK_INT(trace_lane_count(actual), trace_lane_count(expected));
    for (uint32_t i = 0; i < trace_lane_count(expected); i++) {
        struct trace_lane a = *trace_lane_get(actual, i), e = *trace_lane_get(expected, i);
        CHECK_INT(a.process, e.process);
        CHECK_INT(a.id, e.id);
        CHECK_INT(a.name, e.name);
        CHECK_INT(a.parent, e.parent);
        CHECK_INT(a.levels, e.levels);
        CHECK_INT(trace_lane_find(actual, e.id), i);
    }
    CHECK_INT(trace_unit_count(actual), trace_unit_count(expected));
    for (uint32_t i = 0; i < trace_unit_count(expected); i++) {
        const struct trace_unit *unit = trace_unit_get(expected, i);
        CHECK_INT(trace_unit_find(actual, unit->domain, unit->counter), unit->unit);
    }
}

void sample_check_trace(const struct trace *actual, const struct trace *expected)
{
    CHECK_INT(trace_string_count(actual), trace_string_count(expected));
    CHECK_INT(trace_process_count(actual), trace_process_count(expected));
    CHECK_INT(trace_thread_count(actual), trace_thread_count(expected));
    CHECK_INT(trace_refusal_count(actual), trace_refusal_count(expected));
    for (uint32_t i = 0; i < trace_string_count(expected); i++)
        CHECK_STR(trace_string(actual, i)->bytes, trace_string(expected, i)->bytes);
    for (uint32_t i = 0; i < trace_process_count(expected); i++)
        check_process(actual, expected, i);
    for (uint32_t i = 0; i < trace_thread_count(expected); i++)
        check_thread(actual, expected, i);
    for (uint32_t i = 0; i < trace_refusal_count(expected); i++)
        CHECK(memcmp(trace_refusal_get(actual, i), trace_refusal_get(expected, i),
                     sizeof(struct trace_refusal)) == 0);
    CHECK_INT(trace_filter_count(actual), trace_filter_count(expected));
    for (uint32_t i = 0; i < trace_filter_count(expected); i++) {
        CHECK_INT(trace_filter_get(actual, i)->time_ns, trace_filter_get(expected, i)->time_ns);
        CHECK_INT(trace_filter_get(actual, i)->rules, trace_filter_get(expected, i)->rules);
    }
    CHECK_INT(trace_scope_count(actual), trace_scope_count(expected));
    for (uint32_t i = 0; i < trace_scope_count(expected); i++)
        CHECK(memcmp(trace_scope(actual, i), trace_scope(expected, i), sizeof(struct scope)) == 0);
    random_check_stacks(actual, expected);
    check_tracks(actual, expected);
    struct trace_session a = *trace_session_get(actual), e = *trace_session_get(expected);
    a.revision = e.revision;
    CHECK(memcmp(&a, &e, sizeof(a)) == 0);
}
