/* SPDX-License-Identifier: MIT */
/* See firefox_parts.h. */
#include "firefox_parts.h"

#include "json_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_SIZE = 64, SORT_BYTES = 4 << 20 };

int firefox_init(struct firefox *fx, const struct export_job *job)
{
    fx->job = job;
    fx->trace = job->source->trace;
    fx->begin_ns = trace_begin_ns(fx->trace);
    fx->text = out_stream_memory();
    fx->values = sorter_create(NULL, SORT_BYTES);
    spool_init(&fx->spool);
    int error = export_ids_init(&fx->ids, fx->trace);
    if (!error)
        error = profile_frames_init(&fx->frames, job);
    return error || !fx->text || !fx->values ? -ENOMEM : 0;
}

void firefox_fini(struct firefox *fx)
{
    for (size_t i = 0; i < fx->threads.count; i++)
        free(fx->threads.items[i].name);
    vec_free(&fx->threads);
    vec_free(&fx->counters);
    vec_free(&fx->node_frames);
    vec_free(&fx->node_prefixes);
    wide_map_free(&fx->by_counter);
    map64_free(&fx->by_node);
    map64_free(&fx->by_stack);
    export_ids_fini(&fx->ids);
    profile_frames_fini(&fx->frames);
    spool_fini(&fx->spool);
    out_stream_abandon(fx->text);
    sorter_destroy(fx->values);
}

int64_t firefox_add_thread(struct firefox *fx, const struct firefox_thread *like, const char *name)
{
    struct firefox_thread thread = *like;
    thread.name = strdup(name);
    for (unsigned i = 0; i < FIREFOX_COLUMNS; i++)
        thread.streams[i] = spool_add(&fx->spool);
    if (thread.name && vec_push(&fx->threads, thread) == 0)
        return (int64_t)fx->threads.count - 1;
    free(thread.name);
    return -ENOMEM;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static int64_t add_node(struct firefox *fx, int64_t prefix, uint32_t frame)
{
    uint64_t key = ((uint64_t)(prefix + 1) << 32 | frame) + 1;
    const uint64_t *known = map64_find(&fx->by_node, key);
    if (known)
        return (int64_t)*known - 1;
    if (vec_push(&fx->node_frames, frame) != 0 ||
        vec_push(&fx->node_prefixes, (uint32_t)(prefix + 1)) != 0 ||
        map64_put(&fx->by_node, key, fx->node_frames.count) != 0)
        return -ENOMEM;
    return (int64_t)fx->node_frames.count - 1;
}

int64_t firefox_stack(struct firefox *fx, uint32_t stack)
{
    uint32_t frames[PROFILE_DEPTH_MAX];
    const uint64_t *known = map64_find(&fx->by_stack, stack + UINT64_C(1));
    if (known)
        return (int64_t)*known - 1;
    int64_t count = profile_frames_stack(&fx->frames, stack, frames), node = -1;
    for (int64_t i = 0; i < count && (i == 0 || node >= 0); i++)
        node = add_node(fx, node, frames[i]);
    if (node < 0 || map64_put(&fx->by_stack, stack + UINT64_C(1), (uint64_t)node + 1) != 0)
        return -ENOMEM;
    return node;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Nanoseconds as milliseconds, exactly. */
static uint8_t *put_ms(uint8_t *at, int64_t time_ns)
{
    uint64_t rest = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
    if (time_ns < 0)
        *at++ = '-';
    at = json_put_uint(at, rest / 1000000);
    *at++ = '.';
    for (uint64_t unit = 100000, part = rest % 1000000; unit > 0; unit /= 10)
        *at++ = (uint8_t)('0' + part / unit % 10);
    return at;
}

static uint8_t *begin_cell(uint8_t *at, bool first)
{
    if (!first)
        *at++ = ',';
    return at;
}

static void put_time(struct firefox *fx, uint32_t stream, bool first, int64_t time_ns)
{
    uint8_t text[CELL_SIZE], *at = put_ms(begin_cell(text, first), time_ns);
    spool_write(&fx->spool, stream, text, (size_t)(at - text));
}

static void put_number(struct firefox *fx, uint32_t stream, bool first, uint64_t number)
{
    uint8_t text[CELL_SIZE], *at = json_put_uint(begin_cell(text, first), number);
    spool_write(&fx->spool, stream, text, (size_t)(at - text));
}

static void put_value(struct json_doc *doc, const struct trace *trace, uint32_t kind,
                      union value value)
{
    if (kind == VALUE_STRING)
        json_doc_text(doc, NULL, trace_string(trace, value.string)->bytes);
    else if (kind == VALUE_DOUBLE)
        json_doc_double(doc, NULL, value.float64);
    else if (kind == VALUE_BOOL)
        json_doc_bool(doc, NULL, value.uint64 != 0);
    else if (kind == VALUE_INT64)
        json_doc_int(doc, NULL, value.int64);
    else
        json_doc_uint(doc, NULL, value.uint64);
}

/* Key-values as one text, {"rows":3}: their names are not known before, as a schema wants them. */
static void put_details(struct firefox *fx, const struct firefox_marker *marker)
{
    const struct event *event = marker->event;
    struct out_stream *inner = out_stream_memory();
    struct json_doc doc = {.out = inner};
    size_t size;
    if (!inner) {
        fx->spool.error = -ENOMEM;
        return;
    }
    json_doc_object(&doc, NULL);
    if (event->value_kind) {
        json_doc_key(&doc, "payload", strlen("payload"), "");
        put_value(&doc, fx->trace, event->value_kind, event->value);
    }
    for (uint32_t i = 0; i < marker->args->count; i++) {
        const struct arg *arg = &marker->args->items[i];
        const struct trace_string *key = trace_string(fx->trace, arg->key);
        json_doc_key(&doc, key->bytes, key->length, "");
        put_value(&doc, fx->trace, arg->kind, arg->value);
    }
    json_doc_close(&doc);
    const char *bytes = (const char *)out_stream_memory_bytes(inner, &size);
    out_text(fx->text, ",\"values\":");
    json_string(fx->text, bytes, size);
    out_stream_abandon(inner);
}

static void put_data(struct firefox *fx, const struct firefox_marker *marker)
{
    uint8_t number[CELL_SIZE];
    out_text(fx->text, marker->event ? "{\"type\":\"Range\"" : "{\"type\":\"Wait\"");
    if (marker->event && (marker->event->value_kind || marker->args->count))
        put_details(fx, marker);
    if (marker->stack >= 0) {
        out_text(fx->text, ",\"cause\":{\"stack\":");
        out_write(fx->text, number, (size_t)(json_put_int(number, marker->stack) - number));
        out_text(fx->text, "}");
    }
    out_text(fx->text, "}");
}

void firefox_put_marker(struct firefox *fx, uint32_t thread, const struct firefox_marker *marker)
{
    static const char plain[] = "{\"type\":\"Range\"}";
    struct firefox_thread *entry = &fx->threads.items[thread];
    bool first = entry->markers++ == 0;
    size_t size;
    spool_write(&fx->spool, entry->streams[MARKER_DATA], ",", !first);
    if (marker->event && !marker->event->value_kind && !marker->args->count) {
        spool_write(&fx->spool, entry->streams[MARKER_DATA], plain, sizeof(plain) - 1);
    } else {
        out_stream_memory_reset(fx->text);
        put_data(fx, marker);
        const uint8_t *bytes = out_stream_memory_bytes(fx->text, &size);
        spool_write(&fx->spool, entry->streams[MARKER_DATA], bytes, size);
    }
    put_number(fx, entry->streams[MARKER_NAME], first, marker->name);
    put_time(fx, entry->streams[MARKER_BEGIN], first, marker->begin_ns - fx->begin_ns);
    if (marker->instant)
        spool_write(&fx->spool, entry->streams[MARKER_END], first ? "null" : ",null",
                    first ? 4 : 5);
    else
        put_time(fx, entry->streams[MARKER_END], first, marker->end_ns - fx->begin_ns);
    put_number(fx, entry->streams[MARKER_PHASE], first, !marker->instant);
    put_number(fx, entry->streams[MARKER_CATEGORY], first, marker->category);
}

void firefox_put_sample(struct firefox *fx, uint32_t thread, const struct sample *sample,
                        uint32_t stack)
{
    struct firefox_thread *entry = &fx->threads.items[thread];
    bool first = entry->samples++ == 0;
    int64_t cpu_ns = (int64_t)sample_cpu_ns(trace_sets_get(fx->trace), sample);
    put_number(fx, entry->streams[SAMPLE_STACK], first, stack);
    put_time(fx, entry->streams[SAMPLE_TIME], first, sample->time_ns - fx->begin_ns);
    put_time(fx, entry->streams[SAMPLE_WEIGHT], first, cpu_ns);
    put_number(fx, entry->streams[SAMPLE_CPU], first, (uint64_t)cpu_ns);
}

/* ---- Counters -------------------------------------------------------------------------------- */

static int64_t find_counter(struct firefox *fx, const struct event *event)
{
    const struct trace_thread *thread = trace_thread_get(fx->trace, event->thread);
    struct firefox_counter counter = {.process = thread ? thread->process : UINT32_MAX,
                                      .name = event->name,
                                      .domain = trace_scope_domain(fx->trace, event->scope)};
    const struct wide_key *key = WIDE_KEY(counter.process, counter.name, counter.domain);
    const uint64_t *known = wide_map_find(&fx->by_counter, key);
    if (known)
        return (int64_t)*known;
    counter.times = spool_add(&fx->spool);
    counter.values = spool_add(&fx->spool);
    if (wide_map_put(&fx->by_counter, key, fx->counters.count) != 0 ||
        vec_push(&fx->counters, counter) != 0)
        return -ENOMEM;
    return (int64_t)fx->counters.count - 1;
}

int firefox_put_value(struct firefox *fx, const struct event *event)
{
    int64_t counter = find_counter(fx, event);
    if (counter < 0)
        return (int)counter;
    double value = event->value_kind == VALUE_DOUBLE   ? event->value.float64
                   : event->value_kind == VALUE_UINT64 ? (double)event->value.uint64
                                                       : (double)event->value.int64;
    if (!(value - value == 0)) /* no number: JSON has none for it */
        return 0;
    struct sorter_key key = {.first = counter, .second = event->time_ns};
    return sorter_add(fx->values, key, &value, sizeof(value));
}

/* The profile has what a counter changed by, which viewers add up: by what their sum is off, where
 * it has too few digits, the next change is other. */
static void put_change(struct firefox *fx, const struct sorter_key *key, const void *bytes)
{
    struct firefox_counter *counter = &fx->counters.items[key->first];
    uint8_t text[CELL_SIZE], *at;
    double value;
    memcpy(&value, bytes, sizeof(value));
    bool first = counter->count++ == 0;
    put_time(fx, counter->times, first, key->second - fx->begin_ns);
    double change = value - counter->sum;
    at = json_put_double(begin_cell(text, first), change);
    spool_write(&fx->spool, counter->values, text, (size_t)(at - text));
    counter->sum += change;
}

int firefox_finish_values(struct firefox *fx)
{
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int got = sorter_finish(fx->values);
    if (got < 0)
        return got;
    while ((got = sorter_next(fx->values, &key, &bytes, &size)) == 1)
        put_change(fx, &key, bytes);
    return got;
}
