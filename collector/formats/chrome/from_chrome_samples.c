/* SPDX-License-Identifier: MIT */
/* Samples in Chrome traces: events of phase P, and the document's "samples". They contain their
 * stack, or refer to a leaf of the tree "stackFrames", which mostly comes after them. */
#include "from_chrome_samples.h"

#include "from_chrome.h"
#include "hash.h"
#include "import.h"
#include "json_reader.h"
#include "number.h"
#include "sink.h"
#include "sorter.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SORT_BYTES = 16 << 20, DEPTH_MAX = 1024, WEIGHT_MAX = 1000000000 };

/* A sample waiting for the tree. */
struct waiting {
    int64_t time_ns, tid;
    int64_t weight;  /* number of samples that it stands for */
    uint64_t frame;  /* id; 0: unset */
    uint32_t thread; /* NO_THREAD: identified by `tid` only */
    uint32_t stack;
};

#define NO_THREAD UINT32_MAX

/* ---- The tree -------------------------------------------------------------------------------- */

uint64_t from_chrome_id(const struct json_token *token)
{
    bool is_id = token->kind == JSON_NUMBER || token->kind == JSON_STRING;
    return is_id ? hash_bytes(token->text, token->length) | 1 : 0;
}

static int read_frame(struct from_chrome_reader *reader, uint64_t id)
{
    struct from_chrome_frame frame = {0};
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more;
    while ((more = json_member(&reader->json, key, &token)) == 1) {
        if (strcmp(key, "name") == 0 && token.kind == JSON_STRING)
            frame.name = import_string(reader->sink, token.text, token.length);
        else if (strcmp(key, "parent") == 0)
            frame.parent = from_chrome_id(&token);
        int error = json_skip(&reader->json, &token);
        if (error)
            return error;
    }
    if (more < 0 || vec_push(&reader->frames, frame) != 0)
        return more < 0 ? more : -ENOMEM;
    return map64_put(&reader->frame_index, id, reader->frames.count);
}

/* {"5": {"name": "main"}, "7": {"name": "load", "parent": "5"}} */
int from_chrome_frames_read(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token key, token;
    if (first->kind != JSON_OBJECT)
        return json_skip(&reader->json, first);
    for (;;) {
        int more = json_next(&reader->json, &key);
        if (more < 0 || key.kind == JSON_OBJECT_END)
            return more < 0 ? more : 0;
        const struct json_token name = {JSON_STRING, false, key.text, key.length};
        uint64_t id = from_chrome_id(&name);
        more = json_next(&reader->json, &token);
        int error = more < 0                    ? more
                    : token.kind == JSON_OBJECT ? read_frame(reader, id)
                                                : json_skip(&reader->json, &token);
        if (error)
            return error;
    }
}

static uint32_t push(struct from_chrome_reader *reader, uint32_t stack, uint32_t name)
{
    const struct import_frame frame = {
        .function = name ? name : import_text(reader->sink, "[unknown]"), .kind = FRAME_NATIVE};
    return import_stack(reader->sink, stack, import_frame(reader->sink, &frame));
}

/* ["main", "load"]: the outermost first. */
int from_chrome_stack_read(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token token;
    if (first->kind != JSON_ARRAY)
        return json_skip(&reader->json, first);
    reader->event.has_stack = true;
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_ARRAY_END)
            return more < 0 ? more : 0;
        if (token.kind == JSON_STRING)
            reader->event.stack = push(reader, reader->event.stack,
                                       import_string(reader->sink, token.text, token.length));
        int error = json_skip(&reader->json, &token);
        if (error)
            return error;
    }
}

/* From the leaf up to a frame with a known stack, and down again. */
static uint32_t stack_of(struct from_chrome_reader *reader, uint64_t leaf)
{
    uint64_t ids[DEPTH_MAX];
    size_t count = 0;
    uint32_t stack = 0;
    for (uint64_t id = leaf; id && count < DEPTH_MAX;) {
        const uint64_t *index = map64_find(&reader->frame_index, id);
        const uint64_t *known = map64_find(&reader->frame_stacks, id);
        stack = known ? (uint32_t)*known : 0;
        if (known || !index)
            break;
        ids[count++] = id;
        id = reader->frames.items[*index - 1].parent;
    }
    reader->sink->left[LEFT_DEEP] += count == DEPTH_MAX;
    while (count > 0) {
        uint64_t id = ids[--count];
        const uint64_t *index = map64_find(&reader->frame_index, id);
        stack = push(reader, stack, reader->frames.items[*index - 1].name);
        if (map64_put(&reader->frame_stacks, id, stack) != 0)
            reader->sink->error = -ENOMEM;
    }
    return stack;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int keep(struct from_chrome_reader *reader, const struct waiting *waiting)
{
    const struct sorter_key key = {0}; /* in order of arrival */
    if (!reader->samples)
        reader->samples = sorter_create(reader->sink->folder, SORT_BYTES);
    return reader->samples ? sorter_add(reader->samples, key, waiting, sizeof(*waiting)) : -ENOMEM;
}

int from_chrome_sample_add(struct from_chrome_reader *reader, const struct event *event)
{
    const struct from_chrome_event *read = &reader->event;
    const struct waiting waiting = {.time_ns = event->time_ns,
                                    .weight = 1,
                                    .frame = read->frame,
                                    .thread = event->thread,
                                    .stack = read->stack};
    return keep(reader, &waiting);
}

/* {"cpu": 0, "tid": 1, "ts": 1000.0, "name": "cycles", "sf": 3, "weight": 1}; '{' was taken. */
static int read_sample(struct from_chrome_reader *reader)
{
    struct waiting waiting = {.thread = NO_THREAD, .weight = 1};
    bool has_time = false, has_thread = false;
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more;
    while ((more = json_member(&reader->json, key, &token)) == 1) {
        if (strcmp(key, "ts") == 0)
            has_time = json_time(&token, 1000, &waiting.time_ns);
        else if (strcmp(key, "tid") == 0)
            has_thread = json_int(&token, &waiting.tid);
        else if (strcmp(key, "sf") == 0)
            waiting.frame = from_chrome_id(&token);
        else if (strcmp(key, "weight") == 0 && !json_int(&token, &waiting.weight))
            waiting.weight = 0;
        int error = json_skip(&reader->json, &token);
        if (error)
            return error;
    }
    if (more < 0)
        return more;
    bool good = has_time && has_thread && waiting.time_ns <= IMPORT_TIME_MAX &&
                waiting.weight > 0 && waiting.weight <= WEIGHT_MAX;
    reader->sink->left[LEFT_MALFORMED] += !good;
    return good ? keep(reader, &waiting) : 0;
}

int from_chrome_samples_read(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token token;
    if (first->kind != JSON_ARRAY)
        return json_skip(&reader->json, first);
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_ARRAY_END)
            return more < 0 ? more : 0;
        int error =
            token.kind == JSON_OBJECT ? read_sample(reader) : json_skip(&reader->json, &token);
        if (error)
            return error;
    }
}

/* The thread of that number, in any process; else one in a new process. */
static uint32_t look_up_thread(struct from_chrome_reader *reader, int64_t tid)
{
    struct trace *trace = reader->sink->trace;
    const struct import_id id = {.number = tid};
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        if (trace_thread_get(trace, i)->tid == tid)
            return i;
    return import_thread(reader->sink, import_process(reader->sink, &id), &id);
}

static uint32_t find_thread(struct from_chrome_reader *reader, int64_t tid)
{
    uint64_t key = tid == -1 ? UINT64_MAX : 1 + (uint64_t)tid;
    const uint64_t *found = map64_find(&reader->sampled, key);
    if (found)
        return (uint32_t)*found;
    uint32_t thread = look_up_thread(reader, tid);
    if (map64_put(&reader->sampled, key, thread) != 0)
        reader->sink->error = -ENOMEM;
    return thread;
}

static int emit_sample(struct from_chrome_reader *reader, const struct waiting *waiting)
{
    struct import_sink *sink = reader->sink;
    int64_t unit_ns = import_unit_ns(sink, IMPORT_SAMPLE_NS);
    int64_t value;
    if (__builtin_mul_overflow(unit_ns, waiting->weight, &value) || value > IMPORT_TIME_MAX)
        value = IMPORT_TIME_MAX;
    struct sample sample = {.time_ns = waiting->time_ns,
                            .set = SAMPLE_SET_CPU,
                            .stack = waiting->stack,
                            .values = &value,
                            .value_count = 1};
    sample.thread = waiting->thread;
    if (waiting->thread == NO_THREAD)
        sample.thread = find_thread(reader, waiting->tid);
    if (waiting->frame)
        sample.stack = stack_of(reader, waiting->frame);
    return sink->error ? sink->error : import_sample(sink, &sample);
}

int from_chrome_samples_finish(struct from_chrome_reader *reader)
{
    char text[160], unit[NUMBER_TEXT_SIZE];
    const struct import_options *options = reader->sink->options;
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int more = 0, error = reader->samples ? sorter_finish(reader->samples) : 0;
    if (error || !reader->samples)
        return error;
    while (!error && (more = sorter_next(reader->samples, &key, &bytes, &size)) == 1) {
        struct waiting waiting;
        memcpy(&waiting, bytes, sizeof(waiting));
        error = emit_sample(reader, &waiting);
    }
    snprintf(text, sizeof(text), "a sample of weight 1 is taken as %s of CPU time%s",
             number_time_short((uint64_t)import_unit_ns(reader->sink, IMPORT_SAMPLE_NS), unit),
             options->unit_ns ? "" : " (--unit says otherwise)");
    import_note(reader->sink, text);
    return error ? error : more;
}

void from_chrome_samples_fini(struct from_chrome_reader *reader)
{
    sorter_destroy(reader->samples);
    vec_free(&reader->frames);
    map64_free(&reader->frame_index);
    map64_free(&reader->frame_stacks);
    map64_free(&reader->sampled);
}

/* ---- CPU profiles of V8 ---------------------------------------------------------------------- */

/* Events "Profile" and "ProfileChunk", in Chrome up to 66 one event "CpuProfile". Their content is
 * in "data", like the values of other events, mostly before the event's name. */

/* {"nodes": [...], "samples": [...]} */
static int read_profile(struct v8_reader *reader)
{
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more;
    while ((more = json_member(reader->json, key, &token)) == 1) {
        int taken = v8_read_member(reader, key, &token);
        if (taken == 0)
            taken = json_skip(reader->json, &token);
        if (taken < 0)
            return taken;
    }
    return more;
}

/* 1: the member was consumed; 0: its text is to be copied; as json_next. */
static int read_member(struct v8_reader *reader, const char *key, const struct json_token *value,
                       bool *profile)
{
    if (strcmp(key, "cpuProfile") == 0 && value->kind == JSON_OBJECT) {
        int error = read_profile(reader);
        *profile = true;
        return error ? error : 1;
    }
    bool array = value->kind == JSON_ARRAY;
    bool known = array ? *profile && (strcmp(key, "timeDeltas") == 0 || strcmp(key, "lines") == 0)
                       : strcmp(key, "startTime") == 0 || strcmp(key, "endTime") == 0;
    int taken = known ? v8_read_member(reader, key, value) : 0;
    return taken < 0 || array ? taken : 0;
}

int from_chrome_data_read(struct from_chrome_reader *reader, struct text *copy)
{
    struct v8_reader v8 = {&reader->json, reader->sink, &reader->profiles, -1, &reader->chunk};
    struct json_token token;
    bool profile = false;
    text_add(copy, "{", 1);
    for (;;) {
        char key[JSON_KEY_SIZE];
        size_t before = copy->length;
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_OBJECT_END) {
            text_add(copy, "}", 1);
            return more < 0 ? more : 0;
        }
        size_t length = token.length < sizeof(key) ? token.length : sizeof(key) - 1;
        memcpy(key, token.text, length);
        key[length] = '\0';
        text_add(copy, ",", before > 1);
        json_copy_text(copy, token.text, token.length);
        text_add(copy, ":", 1);
        more = json_next(&reader->json, &token);
        int taken = more < 0 ? more : read_member(&v8, key, &token, &profile);
        if (taken == 0)
            taken = json_copy(&reader->json, &token, copy);
        else if (taken == 1)
            copy->buffer[copy->length = before] = '\0';
        if (taken < 0)
            return taken;
    }
}

bool from_chrome_is_profile(const struct from_chrome_reader *reader)
{
    const struct from_chrome_event *event = &reader->event;
    const char *name = trace_string(reader->sink->trace, event->name)->bytes;
    bool pieces = event->phase == 'P' && event->has_id &&
                  (strcmp(name, "Profile") == 0 || strcmp(name, "ProfileChunk") == 0);
    return pieces || (reader->chunk.nodes.count && strcmp(name, "CpuProfile") == 0);
}

void from_chrome_profile_leave(struct from_chrome_reader *reader)
{
    struct v8_chunk *chunk = &reader->chunk;
    reader->sink->left[LEFT_SAMPLES] += chunk->values[V8_NODE].count;
}

/* The profiler's own thread reports the pieces; "Profile", which comes first, is on the profiled
 * one. */
int from_chrome_profile_take(struct from_chrome_reader *reader)
{
    const struct from_chrome_event *event = &reader->event;
    uint64_t key =
        from_chrome_mix(event->id, from_chrome_mix(event->pid.text, (uint64_t)event->pid.number));
    if (!event->has_id) /* it belongs to its thread */
        key = from_chrome_mix(key, from_chrome_mix(event->tid.text, (uint64_t)event->tid.number));
    const uint64_t *found = map64_find(&reader->profile_index, key | 1);
    struct v8_chunk *chunk = &reader->chunk;
    int64_t profile =
        found ? (int64_t)*found : v8_profile_add(&reader->profiles, from_chrome_thread(reader));
    if (profile == -EMSGSIZE) {
        reader->sink->left[LEFT_SAMPLES]++;
        return 0;
    }
    if (profile < 0 ||
        (!found && map64_put(&reader->profile_index, key | 1, (uint64_t)profile) != 0))
        return -ENOMEM;
    if (!found && !chunk->has_begin)
        chunk->begin_ns = event->ts_ns;
    chunk->has_begin = chunk->has_begin || !found;
    chunk->begin_ns += reader->base_ns;
    chunk->end_ns += reader->base_ns;
    return v8_profile_take(&reader->profiles, (uint32_t)profile, chunk);
}
