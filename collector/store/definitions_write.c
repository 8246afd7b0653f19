/* SPDX-License-Identifier: MIT */
/* From a trace to definition entries. An entry is always whole: a later one of the same ordinal
 * replaces it. Thread-safety: none. */
#include "definitions.h"
#include "format.h"
#include "text.h"
#include "varint.h"

#include <errno.h>
#include <string.h>

enum { BODY_MAX = 1024 };

void definitions_state_free(struct definitions_state *state)
{
    vec_free(&state->process_revisions);
    vec_free(&state->thread_revisions);
    vec_free(&state->fact_revisions);
    vec_free(&state->track_revisions);
    vec_free(&state->unit_revisions);
}

int definitions_put(struct definitions_buffer *buffer, unsigned type, const void *body, size_t size)
{
    if (vec_reserve(&buffer->bytes, size + (size_t)2 * VARINT_MAX) != 0)
        return -ENOMEM;
    uint8_t *at = buffer->bytes.items + buffer->bytes.count;
    at = varint_put(at, type);
    at = varint_put(at, size);
    if (size)
        memcpy(at, body, size);
    buffer->bytes.count = (size_t)(at + size - buffer->bytes.items);
    buffer->count++;
    return 0;
}

/* Ordinals of strings are those of their order, so the body is the text alone, led by the ordinal
 * that shows a reader what a damaged chunk took. */
static int put_string(struct definitions_buffer *buffer, const struct trace *trace,
                      uint32_t ordinal)
{
    const struct trace_string *string = trace_string(trace, ordinal);
    size_t length = utf8_cut(string->bytes, string->length, STORE_STRING_MAX);
    uint8_t number[VARINT_MAX];
    size_t number_size = (size_t)(varint_put(number, ordinal) - number);
    if (vec_reserve(&buffer->bytes, length + (size_t)3 * VARINT_MAX) != 0)
        return -ENOMEM;
    uint8_t *at = buffer->bytes.items + buffer->bytes.count;
    at = varint_put(at, STORE_DEFINE_STRING);
    at = varint_put(at, number_size + length);
    at = varint_put(at, ordinal);
    memcpy(at, string->bytes, length);
    buffer->bytes.count = (size_t)(at + length - buffer->bytes.items);
    buffer->count++;
    return 0;
}

static uint8_t *put_array(uint8_t *at, const uint64_t *values, size_t count)
{
    at = varint_put(at, count);
    for (size_t i = 0; i < count; i++)
        at = varint_put(at, values[i]);
    return at;
}

static int put_session(struct definitions_buffer *buffer, const struct trace_session *session)
{
    uint8_t body[BODY_MAX], *at = body;
    at = varint_put(at, session->id);
    at = varint_put(at, session->parent_id);
    at = varint_put(at, session->hostname);
    at = varint_put(at, session->kernel);
    at = varint_put(at, session->command);
    at = varint_put(at, session->annot_version);
    at = varint_put(at, session->clock);
    at = varint_put(at, zigzag(session->begin_ns));
    at = varint_put(at, zigzag(session->end_ns));
    at = varint_put(at, zigzag(session->begin_realtime_ns));
    at = varint_put(at, zigzag(session->command_status));
    at = varint_put(at, session->recovered);
    at = varint_put(at, session->peak_bytes);
    at = varint_put(at, session->nested);
    return definitions_put(buffer, STORE_DEFINE_SESSION, body, (size_t)(at - body));
}

static int put_process(struct definitions_buffer *buffer, uint32_t ordinal,
                       const struct trace_process *process)
{
    uint8_t body[BODY_MAX], *at = body;
    at = varint_put(at, ordinal);
    at = varint_put(at, zigzag(process->pid));
    at = varint_put(at, zigzag(process->ppid));
    at = varint_put(at, zigzag(process->ns_pid));
    at = varint_put(at, process->pid_ns);
    at = varint_put(at, process->identity);
    at = varint_put(at, zigzag(process->parent));
    at = varint_put(at, process->forked);
    at = varint_put(at, zigzag(process->start_ns));
    at = varint_put(at, zigzag(process->end_ns));
    at = varint_put(at, zigzag(process->fork_ns));
    at = varint_put(at, process->end);
    at = varint_put(at, zigzag(process->end_value));
    at = varint_put(at, process->uid);
    at = varint_put(at, process->name);
    at = varint_put(at, process->comm);
    at = varint_put(at, process->cmdline);
    at = varint_put(at, process->runtime_version);
    at = put_array(at, process->lost, LOSS_COUNT);
    at = put_array(at, process->misuse, MISUSE_COUNT);
    at = varint_put(at, process->peak_bytes);
    at = varint_put(at, process->event_count);
    at = varint_put(at, process->fork_thread);
    at = varint_put(at, process->note);
    at = varint_put(at, process->note_thread);
    at = varint_put(at, zigzag(process->note_ns));
    return definitions_put(buffer, STORE_DEFINE_PROCESS, body, (size_t)(at - body));
}

static int put_thread(struct definitions_buffer *buffer, uint32_t ordinal,
                      const struct trace_thread *thread)
{
    uint8_t body[BODY_MAX], *at = body;
    at = varint_put(at, ordinal);
    at = varint_put(at, thread->process);
    at = varint_put(at, thread->serial);
    at = varint_put(at, zigzag(thread->tid));
    at = varint_put(at, thread->name);
    at = varint_put(at, thread->comm);
    at = varint_put(at, zigzag(thread->first_ns));
    at = varint_put(at, zigzag(thread->last_ns));
    at = varint_put(at, thread->event_count);
    at = put_array(at, thread->lost, LOSS_COUNT);
    return definitions_put(buffer, STORE_DEFINE_THREAD, body, (size_t)(at - body));
}

static int put_refusal(struct definitions_buffer *buffer, const struct trace_refusal *refusal)
{
    uint8_t body[BODY_MAX], *at = body;
    at = varint_put(at, zigzag(refusal->pid));
    at = varint_put(at, refusal->comm);
    at = varint_put(at, refusal->reason);
    return definitions_put(buffer, STORE_DEFINE_REFUSAL, body, (size_t)(at - body));
}

static int put_filter(struct definitions_buffer *buffer, const struct trace_filter *filter)
{
    uint8_t body[BODY_MAX], *at = body;
    at = varint_put(at, zigzag(filter->time_ns));
    at = varint_put(at, filter->rules);
    return definitions_put(buffer, STORE_DEFINE_FILTER, body, (size_t)(at - body));
}

static int put_sampling(struct definitions_buffer *buffer, const struct trace_sampling *sampling)
{
    uint8_t body[BODY_MAX], *at = body;
    at = varint_put(at, sampling->rung);
    at = varint_put(at, sampling->off_cpu);
    at = varint_put(at, sampling->frequency_hz);
    at = varint_put(at, zigzag(sampling->off_cpu_threshold_ns));
    at = varint_put(at, sampling->reason);
    at = varint_put(at, sampling->hint);
    return definitions_put(buffer, STORE_DEFINE_SAMPLING, body, (size_t)(at - body));
}

static int put_fact(struct definitions_buffer *buffer, uint32_t index,
                    const struct trace_fact *fact)
{
    uint8_t body[BODY_MAX], *at = body;
    at = varint_put(at, index);
    at = varint_put(at, fact->name);
    at = varint_put(at, fact->kind);
    at = varint_put(at, fact->value);
    return definitions_put(buffer, STORE_DEFINE_FACT, body, (size_t)(at - body));
}

/* Each collect_... stops at the limit: the state says how far it came. */

static int collect_strings(const struct trace *trace, struct definitions_state *state, size_t limit,
                           struct definitions_buffer *buffer)
{
    int error = 0;
    if (state->string_count == 0)
        state->string_count = 1; /* 0 is the empty string everywhere */
    while (!error && state->string_count < trace_string_count(trace) &&
           buffer->bytes.count < limit) {
        error = put_string(buffer, trace, state->string_count);
        state->string_count += !error;
    }
    return error;
}

static int collect_processes(const struct trace *trace, struct definitions_state *state,
                             size_t limit, struct definitions_buffer *buffer)
{
    uint32_t count = trace_process_count(trace);
    for (uint32_t i = 0; i < count && buffer->bytes.count < limit; i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (i >= state->process_revisions.count && vec_push(&state->process_revisions, 0) != 0)
            return -ENOMEM;
        if (state->process_revisions.items[i] == process->revision)
            continue;
        if (put_process(buffer, i, process) != 0)
            return -ENOMEM;
        state->process_revisions.items[i] = process->revision;
    }
    return 0;
}

static int collect_threads(const struct trace *trace, struct definitions_state *state, size_t limit,
                           struct definitions_buffer *buffer)
{
    uint32_t count = trace_thread_count(trace);
    for (uint32_t i = 0; i < count && buffer->bytes.count < limit; i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        if (i >= state->thread_revisions.count && vec_push(&state->thread_revisions, 0) != 0)
            return -ENOMEM;
        if (state->thread_revisions.items[i] == thread->revision)
            continue;
        if (put_thread(buffer, i, thread) != 0)
            return -ENOMEM;
        state->thread_revisions.items[i] = thread->revision;
    }
    return 0;
}

static int collect_rest(const struct trace *trace, struct definitions_state *state, size_t limit,
                        struct definitions_buffer *buffer)
{
    const struct trace_session *session = trace_session_get(trace);
    int error = 0;
    if (!state->session_written || state->session_revision != session->revision) {
        error = put_session(buffer, session);
        state->session_written = !error;
        state->session_revision = session->revision;
    }
    while (!error && state->refusal_count < trace_refusal_count(trace) &&
           buffer->bytes.count < limit) {
        error = put_refusal(buffer, trace_refusal_get(trace, state->refusal_count));
        state->refusal_count += !error;
    }
    while (!error && state->filter_count < trace_filter_count(trace) &&
           buffer->bytes.count < limit) {
        error = put_filter(buffer, trace_filter_get(trace, state->filter_count));
        state->filter_count += !error;
    }
    return error;
}

static int collect_facts(const struct trace *trace, struct definitions_state *state, size_t limit,
                         struct definitions_buffer *buffer)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    if (state->sampling_revision != sampling->revision && put_sampling(buffer, sampling) != 0)
        return -ENOMEM;
    state->sampling_revision = sampling->revision;
    uint32_t count = trace_fact_count(trace);
    for (uint32_t i = 0; i < count && buffer->bytes.count < limit; i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        if (i >= state->fact_revisions.count && vec_push(&state->fact_revisions, 0) != 0)
            return -ENOMEM;
        if (state->fact_revisions.items[i] == fact->revision)
            continue;
        if (put_fact(buffer, i, fact) != 0)
            return -ENOMEM;
        state->fact_revisions.items[i] = fact->revision;
    }
    return 0;
}

int definitions_collect(const struct trace *trace, struct definitions_state *state, size_t limit,
                        struct definitions_buffer *buffer)
{
    int error = collect_strings(trace, state, limit, buffer);
    if (!error)
        error = collect_rest(trace, state, limit, buffer);
    if (!error)
        error = collect_processes(trace, state, limit, buffer);
    if (!error)
        error = collect_threads(trace, state, limit, buffer);
    if (!error)
        error = collect_facts(trace, state, limit, buffer);
    if (!error)
        error = definitions_collect_tracks(trace, state, limit, buffer);
    if (!error)
        error = definitions_collect_stacks(trace_stacks_get(trace), state, limit, buffer);
    return error ? error : buffer->bytes.count >= limit;
}
