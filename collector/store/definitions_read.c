/* SPDX-License-Identifier: MIT */
/* From definition entries to a trace. Foreign bytes: entries are bounded by their length, unknown
 * types and further fields are skipped, and ordinals may run ahead only so far that a damaged
 * chunk explains it. Thread-safety: none. */
#include "definitions.h"
#include "format.h"
#include "varint.h"

#include <errno.h>
#include <stdio.h>

enum { STRING_HOLES_MAX = 1 << 20, ENTRY_HOLES_MAX = 1 << 16 };

/* Integers behind the end of a body are 0: an older writer did not know them. */
static uint64_t take(struct varint_reader *body)
{
    return body->at == body->end ? 0 : varint_get(body);
}

static int64_t take_signed(struct varint_reader *body)
{
    return unzigzag(take(body));
}

static int64_t take_time(struct varint_reader *body)
{
    return store_time(take_signed(body));
}

static void take_array(struct varint_reader *body, uint64_t *values, size_t count)
{
    uint64_t stored = take(body);
    for (uint64_t i = 0; i < stored && body->at && body->at < body->end; i++) {
        uint64_t value = varint_get(body);
        if (i < count)
            values[i] = value;
    }
}

static int apply_string(struct trace *trace, struct definitions_holes *holes,
                        struct varint_reader *body)
{
    uint64_t ordinal = varint_get(body);
    if (!body->at)
        return -EBADMSG;
    uint64_t count = trace_string_count(trace);
    if (ordinal < count)
        return 0;
    if (ordinal - count > STRING_HOLES_MAX - holes->strings)
        return -EBADMSG;
    holes->strings += (uint32_t)(ordinal - count);
    for (; count < ordinal; count++) {
        char text[32];
        int length = snprintf(text, sizeof(text), "<unknown name %u>", (unsigned)count);
        if (trace_string_append(trace, text, (size_t)length) < 0)
            return -ENOMEM;
    }
    int64_t added =
        trace_string_append(trace, (const char *)body->at, (size_t)(body->end - body->at));
    return added < 0 ? -ENOMEM : 0;
}

static int apply_session(struct trace *trace, struct varint_reader *body)
{
    struct trace_session *session = trace_session(trace);
    session->revision++;
    session->id = take(body);
    session->parent_id = take(body);
    session->hostname = (uint32_t)take(body);
    session->kernel = (uint32_t)take(body);
    session->command = (uint32_t)take(body);
    session->annot_version = (uint32_t)take(body);
    session->clock = (uint32_t)take(body);
    session->begin_ns = take_time(body);
    session->end_ns = take_time(body);
    session->begin_realtime_ns = take_time(body);
    session->command_status = (int32_t)take_signed(body);
    session->recovered = take(body) != 0;
    session->peak_bytes = take(body);
    session->nested = (uint32_t)take(body);
    return 0;
}

static int fill_processes(struct trace *trace, struct definitions_holes *holes, uint64_t ordinal)
{
    uint64_t count = trace_process_count(trace);
    if (ordinal < count)
        return 0;
    if (ordinal - count > ENTRY_HOLES_MAX - holes->processes)
        return -EBADMSG;
    holes->processes += (uint32_t)(ordinal - count);
    for (; count <= ordinal; count++)
        if (trace_process_add(trace) < 0)
            return -ENOMEM;
    return 0;
}

static int apply_process(struct trace *trace, struct definitions_holes *holes,
                         struct varint_reader *body)
{
    uint64_t ordinal = varint_get(body);
    int error = body->at ? fill_processes(trace, holes, ordinal) : -EBADMSG;
    if (error)
        return error;
    struct trace_process *process = trace_process(trace, (uint32_t)ordinal);
    process->revision++;
    process->pid = (int32_t)take_signed(body);
    process->ppid = (int32_t)take_signed(body);
    process->ns_pid = (int32_t)take_signed(body);
    process->pid_ns = take(body);
    process->identity = take(body);
    process->parent = (int32_t)take_signed(body);
    process->forked = take(body) != 0;
    process->start_ns = take_time(body);
    process->end_ns = take_time(body);
    process->fork_ns = take_time(body);
    process->end = (uint8_t)take(body);
    process->end_value = (int32_t)take_signed(body);
    process->uid = (uint32_t)take(body);
    process->name = (uint32_t)take(body);
    process->comm = (uint32_t)take(body);
    process->cmdline = (uint32_t)take(body);
    process->runtime_version = (uint32_t)take(body);
    take_array(body, process->lost, LOSS_COUNT);
    take_array(body, process->misuse, MISUSE_COUNT);
    process->peak_bytes = take(body);
    process->event_count = take(body);
    process->fork_thread = (uint32_t)take(body);
    process->note = (uint32_t)take(body);
    process->note_thread = (uint32_t)take(body);
    process->note_ns = take_time(body);
    return 0;
}

static int fill_threads(struct trace *trace, struct definitions_holes *holes, uint64_t ordinal)
{
    uint64_t count = trace_thread_count(trace);
    if (ordinal < count)
        return 0;
    if (ordinal - count > ENTRY_HOLES_MAX - holes->threads)
        return -EBADMSG;
    holes->threads += (uint32_t)(ordinal - count);
    for (; count <= ordinal; count++)
        if (trace_thread_add(trace, 0) < 0)
            return -ENOMEM;
    return 0;
}

static int apply_thread(struct trace *trace, struct definitions_holes *holes,
                        struct varint_reader *body)
{
    uint64_t ordinal = varint_get(body);
    uint64_t process = take(body);
    int error = body->at ? fill_processes(trace, holes, process) : -EBADMSG;
    if (!error)
        error = fill_threads(trace, holes, ordinal);
    if (error)
        return error;
    struct trace_thread *thread = trace_thread(trace, (uint32_t)ordinal);
    thread->revision++;
    thread->process = (uint32_t)process;
    thread->serial = (uint32_t)take(body);
    thread->tid = (int32_t)take_signed(body);
    thread->name = (uint32_t)take(body);
    thread->comm = (uint32_t)take(body);
    thread->first_ns = take_time(body);
    thread->last_ns = take_time(body);
    thread->event_count = take(body);
    take_array(body, thread->lost, LOSS_COUNT);
    return 0;
}

static int apply_refusal(struct trace *trace, struct varint_reader *body)
{
    struct trace_refusal refusal = {.pid = (int32_t)take_signed(body)};
    refusal.comm = (uint32_t)take(body);
    refusal.reason = (uint32_t)take(body);
    return trace_refusal_add(trace, &refusal) < 0 ? -ENOMEM : 0;
}

static int apply_filter(struct trace *trace, struct varint_reader *body)
{
    struct trace_filter filter = {.time_ns = take_time(body)};
    filter.rules = (uint32_t)take(body);
    return trace_filter_add(trace, &filter) < 0 ? -ENOMEM : 0;
}

static int apply_sampling(struct trace *trace, struct varint_reader *body)
{
    struct trace_sampling *sampling = trace_sampling(trace);
    sampling->revision++;
    sampling->rung = (uint8_t)take(body);
    sampling->off_cpu = take(body) != 0;
    sampling->frequency_hz = (uint32_t)take(body);
    sampling->off_cpu_threshold_ns = take_time(body);
    sampling->reason = (uint32_t)take(body);
    sampling->hint = (uint32_t)take(body);
    return 0;
}

static int apply_fact(struct trace *trace, struct varint_reader *body)
{
    uint64_t index = varint_get(body);
    while (body->at && index >= trace_fact_count(trace)) {
        int64_t added = trace_fact_add(trace);
        if (added < 0)
            return added == -ENOMEM ? -ENOMEM : -EBADMSG;
    }
    if (!body->at)
        return -EBADMSG;
    struct trace_fact *fact = trace_fact(trace, (uint32_t)index);
    fact->revision++;
    fact->name = (uint32_t)take(body);
    fact->kind = (uint8_t)take(body);
    fact->value = take(body);
    return 0;
}

static int apply_entry(struct trace *trace, struct definitions_holes *holes, uint64_t type,
                       struct varint_reader *body)
{
    switch (type) {
    case STORE_DEFINE_STRING:
        return apply_string(trace, holes, body);
    case STORE_DEFINE_SESSION:
        return apply_session(trace, body);
    case STORE_DEFINE_PROCESS:
        return apply_process(trace, holes, body);
    case STORE_DEFINE_THREAD:
        return apply_thread(trace, holes, body);
    case STORE_DEFINE_REFUSAL:
        return apply_refusal(trace, body);
    case STORE_DEFINE_FILTER:
        return apply_filter(trace, body);
    case STORE_DEFINE_SAMPLING:
        return apply_sampling(trace, body);
    case STORE_DEFINE_FACT:
        return apply_fact(trace, body);
    case STORE_DEFINE_FRAMES:
    case STORE_DEFINE_STACKS:
    case STORE_DEFINE_PATHS:
        return definitions_apply_stacks(trace, holes, (unsigned)type, body);
    case STORE_DEFINE_TRACKS:
        return definitions_apply_tracks(trace, body);
    case STORE_DEFINE_UNIT:
        return definitions_apply_unit(trace, body);
    default:
        return 0;
    }
}

int definitions_apply(struct trace *trace, struct definitions_holes *holes, const uint8_t *payload,
                      size_t size)
{
    struct varint_reader reader = {payload, payload + size};
    int error = 0;
    while (!error && reader.at < reader.end) {
        uint64_t type = varint_get(&reader);
        uint64_t length = varint_get(&reader);
        if (!reader.at || length > (uint64_t)(reader.end - reader.at))
            return -EBADMSG;
        struct varint_reader body = {reader.at, reader.at + length};
        error = apply_entry(trace, holes, type, &body);
        if (!error && !body.at)
            error = -EBADMSG;
        reader.at += length;
    }
    return error;
}
