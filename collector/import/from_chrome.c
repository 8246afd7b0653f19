/* SPDX-License-Identifier: MIT */
/* Chrome traces (JSON): of VizTracer, torch.profiler, JAX, py-spy, browsers, and of annot itself.
 *
 * The document is an array of events, or an object that has one as "traceEvents". It is read as a
 * stream; of an object, what is behind the events as well. An array need not be closed: the format
 * allows programs to end without that. */
#include "from_chrome_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- Members of the document ----------------------------------------------------------------- */

/* [{"id": 0, "name": "NVIDIA H100"}, ...]: a member of one of them. */
static int read_device_member(struct from_chrome_reader *reader, struct from_chrome_device *device)
{
    struct json_token token;
    int more = json_next(&reader->json, &token);
    if (more < 0)
        return more;
    if (token.kind == JSON_OBJECT_END)
        return 1;
    bool id = token.length == 2 && memcmp(token.text, "id", 2) == 0;
    bool name = token.length == 4 && memcmp(token.text, "name", 4) == 0;
    more = json_next(&reader->json, &token);
    if (more < 0)
        return more;
    if (id)
        json_int(&token, &device->number);
    if (name && token.kind == JSON_STRING)
        device->name = import_string(reader->sink, token.text, token.length);
    return json_skip(&reader->json, &token);
}

static int read_devices(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token token;
    if (first->kind != JSON_ARRAY)
        return json_skip(&reader->json, first);
    for (;;) {
        int status = json_next(&reader->json, &token);
        if (status < 0 || token.kind == JSON_ARRAY_END)
            return status < 0 ? status : 0;
        struct from_chrome_device device = {0};
        if (token.kind != JSON_OBJECT)
            status = json_skip(&reader->json, &token);
        else
            while ((status = read_device_member(reader, &device)) == 0)
                ;
        if (status < 0)
            return status;
        if (status == 1 && vec_push(&reader->devices, device) != 0)
            return -ENOMEM;
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

static int read_member(struct from_chrome_reader *reader, bool *ret_events)
{
    struct json_token token;
    char key[32];
    int more = json_next(&reader->json, &token);
    if (more < 0 || token.kind == JSON_OBJECT_END)
        return more < 0 ? more : 1;
    size_t length = token.length < sizeof(key) ? token.length : sizeof(key) - 1;
    memcpy(key, token.text, length);
    key[length] = 0;
    more = json_next(&reader->json, &token);
    if (more < 0)
        return more;
    if (strcmp(key, "traceEvents") == 0 && token.kind == JSON_ARRAY) {
        *ret_events = true;
        return read_events(reader);
    }
    if (strcmp(key, "deviceProperties") == 0)
        return read_devices(reader, &token);
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        json_int(&token, &reader->sink->realtime_ns);
    return json_skip(&reader->json, &token);
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
    while ((status = read_member(reader, &events)) == 0)
        ;
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
    reader->sink = sink;
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
    map64_free(&reader->meta_index);
    map64_free(&reader->classes);
    map64_free(&reader->calls);
    wide_map_free(&reader->named);
    sorter_destroy(reader->work);
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
