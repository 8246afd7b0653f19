/* SPDX-License-Identifier: MIT */
/* Chrome traces (JSON): of VizTracer, torch.profiler, JAX, py-spy, browsers, and of annot itself.
 *
 * The document is an array of events, or an object that has one as "traceEvents". It is read as a
 * stream; of an object, what is behind the events as well. An array need not be closed: the format
 * allows programs to end without that. */
#include "from_chrome_parts.h"
#include "sorter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- Members of the document ----------------------------------------------------------------- */

/* [{"id": 0, "name": "NVIDIA H100"}, ...]: one of them. */
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
    int error = read_document(&reader);
    if (error == -EBADMSG)
        import_problem(sink, reader.json.problem, json_offset(&reader.json));
    if (!error)
        error = from_chrome_open_finish(&reader);
    if (!error)
        error = from_chrome_gpu_finish(&reader);
    if (!error)
        error = from_chrome_samples_finish(&reader);
    if (!error)
        error = v8_profiles_tell(&reader.profiles);
    if (!error)
        error = from_chrome_metas_finish(&reader);
    fini(&reader);
    return error;
}

/* An object with the member, or an array of objects with a phase, as far as can be seen. */
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
