/* SPDX-License-Identifier: MIT */
/* Chrome traces (JSON): of VizTracer, torch.profiler, JAX, py-spy, browsers, and of annot itself.
 *
 * The document is an array of events, or an object with one as "traceEvents". It is read as a
 * stream, in an object also after the events. An array need not be closed: the format allows
 * programs to end without that. */
#include "from_chrome.h"

#include "from_chrome_samples.h"
#include "hash.h"
#include "import_formats.h"
#include "json_reader.h"
#include "sink.h"
#include "sorter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- Members of an event, in any order ------------------------------------------------------- */

/* ---- Values ---------------------------------------------------------------------------------- */

static const struct {
    const char *text, *becomes;
    uint8_t key;
} known_keys[] = {
    {"correlation", NULL, CHROME_KEY_CORRELATION},
    {"correlation_id", NULL, CHROME_KEY_CORRELATION},
    {"device", NULL, CHROME_KEY_DEVICE},
    {"stream", NULL, CHROME_KEY_STREAM},
    {"context", NULL, CHROME_KEY_CONTEXT},
    {"line", NULL, CHROME_KEY_LINE},
    {"file", NULL, CHROME_KEY_FILE},
    {"name", NULL, CHROME_KEY_META},
    {"labels", NULL, CHROME_KEY_META},
    {"data", NULL, CHROME_KEY_DATA},
    {"kernel_details", NULL, CHROME_KEY_KERNEL},
    {"memcpy_details", NULL, CHROME_KEY_COPY},
    {"memset_details", NULL, CHROME_KEY_SET},
    {"grid", QUEUE_KEY_GRID, CHROME_KEY_GRID},
    {"block", QUEUE_KEY_BLOCK, CHROME_KEY_BLOCK},
    {"registers per thread", QUEUE_KEY_REGISTERS, CHROME_KEY_REGISTERS},
    {"shared memory", QUEUE_KEY_SHARED, CHROME_KEY_SHARED},
    {"est. achieved occupancy %", QUEUE_KEY_OCCUPANCY, CHROME_KEY_OCCUPANCY},
    {"bytes", QUEUE_KEY_BYTES, CHROME_KEY_BYTES},
    {"External id", "external id", CHROME_KEY_EXTERNAL},
};

enum { KNOWN_KEYS = sizeof(known_keys) / sizeof(*known_keys) };

static uint8_t look_up_key(const struct from_chrome_reader *reader, uint32_t key)
{
    const char *text = trace_string(reader->sink->trace, key)->bytes;
    for (size_t i = 0; i < KNOWN_KEYS; i++)
        if (strcmp(known_keys[i].text, text) == 0)
            return known_keys[i].key;
    return CHROME_KEY_PLAIN;
}

/* The meaning of a string as a key, cached, and its name in recordings: mostly the string
 * itself. */
static enum from_chrome_key from_chrome_key_of(struct from_chrome_reader *reader, uint32_t key)
{
    static const uint8_t none;
    while (reader->keys.count <= key)
        if (vec_push(&reader->keys, none) != 0) {
            reader->sink->error = -ENOMEM;
            return CHROME_KEY_PLAIN;
        }
    uint8_t *known = &reader->keys.items[key];
    if (!*known)
        *known = look_up_key(reader, key);
    return (enum from_chrome_key) * known;
}

uint32_t from_chrome_key_becomes(struct from_chrome_reader *reader, uint32_t key)
{
    enum from_chrome_key known = from_chrome_key_of(reader, key);
    for (size_t i = 0; known >= CHROME_KEY_GRID && i < KNOWN_KEYS; i++)
        if (known_keys[i].key == known)
            return import_text(reader->sink, known_keys[i].becomes);
    return key;
}

/* "[64,1,1]" as "64,1,1". */
static uint32_t text_without_brackets(struct from_chrome_reader *reader, const struct text *text)
{
    size_t inner = text->length >= 2 && text->buffer[0] == '[' ? 1 : 0;
    return import_string(reader->sink, text->buffer + inner, text->length - 2 * inner);
}

static int take_value(struct from_chrome_reader *reader, const struct json_token *token,
                      struct arg *arg)
{
    bool nested = token->kind == JSON_OBJECT || token->kind == JSON_ARRAY;
    struct text text = text_init(reader->copy, sizeof(reader->copy));
    if (!nested)
        return import_scalar(reader->sink, token, arg);
    enum from_chrome_key key = from_chrome_key_of(reader, arg->key);
    bool data = key == CHROME_KEY_DATA && token->kind == JSON_OBJECT;
    int error =
        data ? from_chrome_data_read(reader, &text) : json_copy(&reader->json, token, &text);
    if (error)
        return error;
    arg->kind = VALUE_STRING;
    if (text.length + 1 >= text.size)
        reader->sink->left[LEFT_VALUES]++;
    arg->value.string = key == CHROME_KEY_GRID || key == CHROME_KEY_BLOCK
                            ? text_without_brackets(reader, &text)
                            : import_string(reader->sink, text.buffer, text.length);
    return 1;
}

/* Reads an integer; XLA writes them as texts. */
static void note_int(const struct from_chrome_reader *reader, const struct arg *arg,
                     int64_t *ret_value, bool *ret_has)
{
    *ret_value = arg->kind == VALUE_INT64 ? arg->value.int64 : 0;
    *ret_has = arg->kind == VALUE_INT64;
    if (arg->kind != VALUE_STRING)
        return;
    const struct trace_string *text = trace_string(reader->sink->trace, arg->value.string);
    const struct json_token digits = {JSON_STRING, false, text->bytes, text->length};
    *ret_has = json_int(&digits, ret_value);
}

/* Notes values with a further meaning. */
static void note_known(struct from_chrome_reader *reader, const struct arg *arg)
{
    struct from_chrome_event *event = &reader->event;
    struct from_chrome_known *known = &event->known;
    enum from_chrome_key key = from_chrome_key_of(reader, arg->key);
    bool text = arg->kind == VALUE_STRING, ignored;
    switch (key) {
    case CHROME_KEY_CORRELATION:
        note_int(reader, arg, &known->correlation, &known->has_correlation);
        break;
    case CHROME_KEY_DEVICE:
        note_int(reader, arg, &known->device, &known->has_device);
        break;
    case CHROME_KEY_STREAM:
        note_int(reader, arg, &known->stream, &known->has_stream);
        break;
    case CHROME_KEY_CONTEXT:
        note_int(reader, arg, &known->context, &known->has_context);
        break;
    case CHROME_KEY_LINE:
        note_int(reader, arg, &known->line, &ignored);
        break;
    case CHROME_KEY_FILE:
        known->file = text ? arg->value.string : known->file;
        break;
    case CHROME_KEY_META:
        event->meta = text ? arg->value.string : event->meta;
        break;
    case CHROME_KEY_KERNEL:
    case CHROME_KEY_COPY:
    case CHROME_KEY_SET:
        known->what = key;
        known->details = text ? arg->value.string : 0;
        break;
    default:
        break;
    }
}

static int read_arg(struct from_chrome_reader *reader, const struct json_token *key)
{
    struct json_token token;
    struct arg arg = {.key = import_string(reader->sink, key->text, key->length)};
    int more = json_next(&reader->json, &token);
    if (more < 0)
        return more;
    int kept = take_value(reader, &token, &arg);
    if (kept < 0)
        return kept;
    note_known(reader, &arg);
    if (token.kind == JSON_NULL)
        return 0;
    if (!kept || reader->args.count >= SINK_ARGS_MAX) {
        reader->sink->left[LEFT_VALUES]++;
        return 0;
    }
    return vec_push(&reader->args, arg);
}

static int read_args(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token token;
    if (first->kind != JSON_OBJECT)
        return json_skip(&reader->json, first);
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0)
            return more;
        if (token.kind == JSON_OBJECT_END)
            return 0;
        int error = read_arg(reader, &token);
        if (error)
            return error;
    }
}

/* ---- Members --------------------------------------------------------------------------------- */

static void take_id(struct from_chrome_reader *reader, const struct json_token *token,
                    struct import_id *id, bool *ret_has)
{
    *ret_has = token->kind == JSON_NUMBER || token->kind == JSON_STRING;
    *id = (struct import_id){0};
    if (*ret_has && !json_int(token, &id->number))
        id->text = import_string(reader->sink, token->text, token->length);
}

/* Numbers and texts: 12 and "12" are equal, "0xc" and "12" are not. */
static void take_pair_id(struct from_chrome_event *event, const struct json_token *token,
                         bool local)
{
    if (token->kind != JSON_NUMBER && token->kind != JSON_STRING)
        return;
    event->has_id = true;
    event->id_local = local;
    event->id = hash_bytes(token->text, token->length);
}

static int read_id2(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token token;
    if (first->kind != JSON_OBJECT)
        return json_skip(&reader->json, first);
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_OBJECT_END)
            return more < 0 ? more : 0;
        bool local = token.length == strlen("local") && memcmp(token.text, "local", 5) == 0;
        more = json_next(&reader->json, &token);
        if (more < 0)
            return more;
        take_pair_id(&reader->event, &token, local);
        int error = json_skip(&reader->json, &token);
        if (error)
            return error;
    }
}

enum member {
    MEMBER_OTHER,
    MEMBER_PHASE,
    MEMBER_NAME,
    MEMBER_CATEGORY,
    MEMBER_PID,
    MEMBER_TID,
    MEMBER_TS,
    MEMBER_DUR,
    MEMBER_ID,
    MEMBER_ID2,
    MEMBER_ARGS,
    MEMBER_FRAME,
    MEMBER_STACK,
    MEMBER_BIND,
    MEMBER_FLOW_IN,
    MEMBER_FLOW_OUT,
};

#define WORD(a, b, c, d)                                                                           \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

static enum member member_of_long(const struct json_token *key)
{
    static const struct {
        const char *key;
        enum member member;
    } known[] = {{"stack", MEMBER_STACK},
                 {"bind_id", MEMBER_BIND},
                 {"flow_in", MEMBER_FLOW_IN},
                 {"flow_out", MEMBER_FLOW_OUT}};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (key->length == strlen(known[i].key) &&
            memcmp(key->text, known[i].key, key->length) == 0)
            return known[i].member;
    return MEMBER_OTHER;
}

static enum member member_of(const struct json_token *key)
{
    const uint8_t *text = (const uint8_t *)key->text;
    if (key->length < 2 || key->length > 4)
        return member_of_long(key);
    switch (WORD(text[0], text[1], key->length > 2 ? text[2] : 0, key->length > 3 ? text[3] : 0)) {
    case WORD('p', 'h', 0, 0):
        return MEMBER_PHASE;
    case WORD('n', 'a', 'm', 'e'):
        return MEMBER_NAME;
    case WORD('c', 'a', 't', 0):
        return MEMBER_CATEGORY;
    case WORD('p', 'i', 'd', 0):
        return MEMBER_PID;
    case WORD('t', 'i', 'd', 0):
        return MEMBER_TID;
    case WORD('t', 's', 0, 0):
        return MEMBER_TS;
    case WORD('d', 'u', 'r', 0):
        return MEMBER_DUR;
    case WORD('a', 'r', 'g', 's'):
        return MEMBER_ARGS;
    case WORD('i', 'd', 0, 0):
        return MEMBER_ID;
    case WORD('s', 'f', 0, 0):
        return MEMBER_FRAME;
    case WORD('i', 'd', '2', 0):
        return MEMBER_ID2;
    default:
        return MEMBER_OTHER;
    }
}

static void take_text(struct from_chrome_reader *reader, const struct json_token *token,
                      uint32_t *ret_text)
{
    if (token->kind == JSON_STRING || token->kind == JSON_NUMBER)
        *ret_text = import_string(reader->sink, token->text, token->length);
}

static bool is_true(const struct json_token *token)
{
    int64_t number;
    return token->kind == JSON_TRUE || (json_int(token, &number) && number != 0);
}

static int take_member(struct from_chrome_reader *reader, enum member member,
                       const struct json_token *token)
{
    struct from_chrome_event *event = &reader->event;
    switch (member) {
    case MEMBER_PHASE:
        if (token->kind == JSON_STRING && token->length == 1)
            event->phase = token->text[0];
        break;
    case MEMBER_NAME:
        take_text(reader, token, &event->name);
        break;
    case MEMBER_CATEGORY:
        take_text(reader, token, &event->category);
        break;
    case MEMBER_PID:
        take_id(reader, token, &event->pid, &event->has_pid);
        break;
    case MEMBER_TID:
        take_id(reader, token, &event->tid, &event->has_tid);
        break;
    case MEMBER_TS:
        event->has_ts = json_time(token, 1000, &event->ts_ns);
        break;
    case MEMBER_DUR:
        event->has_dur = json_time(token, 1000, &event->dur_ns);
        break;
    case MEMBER_ID:
        take_pair_id(event, token, false);
        break;
    case MEMBER_FRAME:
        event->frame = from_chrome_id(token);
        break;
    case MEMBER_BIND:
        event->bind = from_chrome_id(token);
        break;
    case MEMBER_FLOW_IN:
        event->flow_in = is_true(token);
        break;
    case MEMBER_FLOW_OUT:
        event->flow_out = is_true(token);
        break;
    case MEMBER_STACK:
        return from_chrome_stack_read(reader, token);
    case MEMBER_ID2:
        return read_id2(reader, token);
    case MEMBER_ARGS:
        return read_args(reader, token);
    default:
        break;
    }
    return json_skip(&reader->json, token);
}

/* Reads the members of an event after its '{'. 0 or as json_next. */
static int from_chrome_event_read(struct from_chrome_reader *reader)
{
    struct json_token token;
    reader->event = (struct from_chrome_event){.empty = true};
    reader->args.count = 0;
    v8_chunk_clear(&reader->chunk);
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_OBJECT_END)
            return more < 0 ? more : reader->sink->error;
        enum member member = member_of(&token);
        reader->event.empty = false;
        more = json_next(&reader->json, &token);
        int error = more < 0 ? more : take_member(reader, member, &token);
        if (error)
            return error;
    }
}

/* ---- Members of the document ----------------------------------------------------------------- */

/* An entry of [{"id": 0, "name": "NVIDIA H100"}, ...]. */
static int read_device(struct from_chrome_reader *reader)
{
    struct from_chrome_device device = {0};
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more;
    while ((more = json_member(&reader->json, key, &token)) == 1) {
        if (strcmp(key, "id") == 0)
            json_int(&token, &device.number);
        else if (strcmp(key, "name") == 0 && token.kind == JSON_STRING)
            device.name = import_string(reader->sink, token.text, token.length);
        int error = json_skip(&reader->json, &token);
        if (error)
            return error;
    }
    return more < 0 ? more : vec_push(&reader->devices, device);
}

static int read_devices(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token token;
    if (first->kind != JSON_ARRAY)
        return json_skip(&reader->json, first);
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_ARRAY_END)
            return more < 0 ? more : 0;
        int error =
            token.kind == JSON_OBJECT ? read_device(reader) : json_skip(&reader->json, &token);
        if (error)
            return error;
    }
}

static int read_events(struct from_chrome_reader *reader)
{
    struct json_token token;
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_ARRAY_END)
            return more < 0 ? more : 0;
        int error = token.kind == JSON_OBJECT ? from_chrome_event_read(reader)
                                              : json_skip(&reader->json, &token);
        if (!error && token.kind == JSON_OBJECT)
            error = from_chrome_event_take(reader);
        else if (!error)
            reader->sink->left[LEFT_MALFORMED]++;
        if (error)
            return error;
    }
}

static int read_member(struct from_chrome_reader *reader, const char *key,
                       const struct json_token *token, bool *ret_events)
{
    if (strcmp(key, "traceEvents") == 0 && token->kind == JSON_ARRAY) {
        *ret_events = true;
        return read_events(reader);
    }
    if (strcmp(key, "deviceProperties") == 0)
        return read_devices(reader, token);
    if (strcmp(key, "stackFrames") == 0)
        return from_chrome_frames_read(reader, token);
    if (strcmp(key, "samples") == 0)
        return from_chrome_samples_read(reader, token);
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        json_int(token, &reader->sink->realtime_ns);
    return json_skip(&reader->json, token);
}

static int fail(struct from_chrome_reader *reader, const char *problem)
{
    struct import_result *result = reader->sink->result;
    if (!result->problem[0])
        snprintf(result->problem, sizeof(result->problem), "%s", problem);
    return -EBADMSG;
}

static int read_document(struct from_chrome_reader *reader)
{
    struct json_token token;
    char key[JSON_KEY_SIZE];
    bool events = false;
    int status = json_next(&reader->json, &token);
    if (status < 0)
        return status;
    if (token.kind == JSON_ARRAY) {
        status = read_events(reader);
        bool open = status == -EBADMSG && reader->json.depth == 1 && reader->json.cut;
        return open && sorter_count(reader->sink->events) ? 0 : status;
    }
    if (token.kind != JSON_OBJECT)
        return fail(reader, "there are no traceEvents");
    while ((status = json_member(&reader->json, key, &token)) == 1) {
        int error = read_member(reader, key, &token, &events);
        if (error)
            return error;
    }
    if (status < 0)
        return status;
    return events ? json_next(&reader->json, &token) : fail(reader, "there are no traceEvents");
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void init(struct from_chrome_reader *reader, struct import_input *input,
                 struct import_sink *sink)
{
    const char *with = sink->options->with;
    json_reader_init(&reader->json, input);
    reader->sink = reader->profiles.sink = sink;
    reader->with = with ? import_text(sink, with) : 0;
}

static void fini(struct from_chrome_reader *reader)
{
    for (size_t i = 0; i < reader->open.count; i++) {
        vec_free(&reader->open.items[i].begins);
        vec_free(&reader->open.items[i].args);
    }
    vec_free(&reader->open);
    vec_free(&reader->args);
    vec_free(&reader->metas);
    vec_free(&reader->devices);
    vec_free(&reader->keys);
    map64_free(&reader->meta_index);
    map64_free(&reader->classes);
    map64_free(&reader->calls);
    map64_free(&reader->profile_index);
    v8_profiles_fini(&reader->profiles);
    v8_chunk_fini(&reader->chunk);
    sorter_destroy(reader->work);
    from_chrome_samples_fini(reader);
    json_reader_fini(&reader->json);
}

static int read_chrome(struct import_input *input, struct import_sink *sink)
{
    struct from_chrome_reader reader = {0};
    init(&reader, input, sink);
    int error = json_end(&reader.json, sink, read_document(&reader));
    if (!error)
        error = from_chrome_open_finish(&reader);
    if (!error)
        error = from_chrome_gpu_finish(&reader);
    if (!error)
        error = from_chrome_samples_finish(&reader);
    if (!error)
        error = v8_profiles_emit(&reader.profiles);
    if (!error)
        error = from_chrome_metas_finish(&reader);
    fini(&reader);
    return error;
}

/* True for an object with the member, or an array of objects with a phase, within the first
 * bytes. */
static bool sniff(const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", bytes[at]) && bytes[at])
        at++;
    if (at == size || (bytes[at] != '{' && bytes[at] != '['))
        return false;
    if (memmem(bytes, size, "\"traceEvents\"", strlen("\"traceEvents\"")))
        return true;
    return bytes[at] == '[' && memmem(bytes, size, "\"ph\"", strlen("\"ph\""));
}

const struct importer import_chrome = {
    .format = {.name = "chrome",
               .summary = "Chrome trace events (JSON)",
               .from = "viztracer, torch.profiler, JAX, py-spy, annot"},
    .sniff = sniff,
    .read = read_chrome,
};
