/* SPDX-License-Identifier: MIT */
/* Imports files of V8's CPU profiler (.cpuprofile): of node --cpu-prof and of browsers' developer
 * tools. */
#include "import_formats.h"
#include "json_reader.h"
#include "sink.h"
#include "v8_profile.h"

#include <errno.h>
#include <string.h>

static int read_document(struct v8_reader *reader)
{
    struct json_token token;
    char key[JSON_KEY_SIZE];
    bool any = false;
    int status = json_next(reader->json, &token);
    if (status < 0 || token.kind != JSON_OBJECT)
        return status < 0 ? status : -EBADMSG;
    while ((status = json_member(reader->json, key, &token)) == 1) {
        status = v8_read_member(reader, key, &token);
        any = any || status == 1;
        if (status == 0)
            status = json_skip(reader->json, &token);
        if (status < 0)
            return status;
    }
    status = status == 0 ? json_next(reader->json, &token) : status;
    if (status == 0 && !any)
        import_problem(reader->sink, "there are no samples of V8", json_offset(reader->json));
    return status < 0 || any ? status : -EBADMSG;
}

static int read_v8(struct import_input *input, struct import_sink *sink)
{
    const struct import_id one = {.number = 1};
    struct json_reader json;
    struct v8_chunk chunk = {0};
    struct v8_profiles profiles = {.sink = sink};
    struct v8_reader reader = {&json, sink, &profiles, 0, &chunk};
    json_reader_init(&json, input);
    reader.profile =
        v8_profile_add(&profiles, import_thread(sink, import_process(sink, &one), &one));
    int error =
        reader.profile < 0 ? (int)reader.profile : json_end(&json, sink, read_document(&reader));
    if (!error)
        error = v8_profile_take(&profiles, (uint32_t)reader.profile, &chunk);
    if (!error)
        error = v8_profiles_emit(&profiles);
    v8_profiles_fini(&profiles);
    v8_chunk_fini(&chunk);
    json_reader_fini(&json);
    return error;
}

/* Looks for the first nodes, which stand at the start of the file. */
static bool sniff(const char *bytes, size_t size)
{
    return size > 0 && bytes[0] == '{' && memmem(bytes, size, "\"nodes\"", strlen("\"nodes\"")) &&
           memmem(bytes, size, "\"callFrame\"", strlen("\"callFrame\"")) &&
           !memmem(bytes, size, "\"traceEvents\"", strlen("\"traceEvents\""));
}

const struct importer import_v8 = {
    .format = {.name = "v8",
               .summary = "V8's CPU profiles (.cpuprofile)",
               .from = "node --cpu-prof, Chrome's developer tools"},
    .sniff = sniff,
    .read = read_v8,
};
