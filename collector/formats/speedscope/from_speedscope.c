/* SPDX-License-Identifier: MIT */
/* speedscope's own format (JSON): of py-spy, speedscope, annot and others.
 *
 * A profile has samples and their weights in two arrays, or begins and ends of frames; what the
 * frames are called may stand behind all profiles. So everything goes to a sorter first, by its
 * profile and its place there, and is told when all is known. */
#include "from_speedscope_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PROFILES_MAX = 1 << 20, NODES_MAX = SINK_STACKS_MAX };

#define INDEX_MAX (INT64_C(1) << 40)

/* ---- Arrays ---------------------------------------------------------------------------------- */

typedef int (*read_item)(struct from_speedscope *reader, const struct json_token *token,
                         int64_t index);

static int read_array(struct from_speedscope *reader, const struct json_token *first,
                      read_item read)
{
    struct json_token token;
    if (first->kind != JSON_ARRAY)
        return json_skip(&reader->json, first);
    for (int64_t index = 0;; index++) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_ARRAY_END)
            return more < 0 ? more : 0;
        int error = index < INDEX_MAX ? read(reader, &token, index) : -EMSGSIZE;
        if (error)
            return error;
    }
}

static int add(struct from_speedscope *reader, int64_t index,
               const struct from_speedscope_record *record)
{
    int64_t profile = (int64_t)reader->profiles.count - 1;
    const struct sorter_key key = {profile * INDEX_MAX + index, record->kind, 0};
    return sorter_add(reader->records, key, record, sizeof(*record));
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* 1 + its index; 0 and -ENOMEM in *ret_error. Beyond the limit the parent's. */
static uint32_t find_node(struct from_speedscope *reader, uint32_t parent, uint32_t frame,
                          int *ret_error)
{
    uint64_t key = ((uint64_t)parent << 32 | frame) + 1;
    const uint64_t *found = map64_find(&reader->node_index, key);
    const struct from_speedscope_node node = {parent, frame};
    if (found)
        return (uint32_t)*found;
    if (reader->nodes.count >= NODES_MAX) {
        reader->sink->left[LEFT_STACKS]++;
        return parent;
    }
    if (vec_push(&reader->nodes, node) != 0 ||
        map64_put(&reader->node_index, key, reader->nodes.count) != 0) {
        *ret_error = -ENOMEM;
        return 0;
    }
    return (uint32_t)reader->nodes.count;
}

static bool is_index(const struct json_token *token, int64_t *ret_index)
{
    return json_int(token, ret_index) && *ret_index >= 0 && *ret_index < UINT32_MAX;
}

/* [0, 4, 7]: frames, the outermost first. */
static int read_sample(struct from_speedscope *reader, const struct json_token *first,
                       int64_t index)
{
    struct from_speedscope_record record = {.kind = SPEEDSCOPE_SAMPLE};
    struct json_token token;
    int error = 0;
    if (first->kind != JSON_ARRAY) {
        reader->sink->left[LEFT_MALFORMED]++;
        return json_skip(&reader->json, first);
    }
    while (!error) {
        int64_t frame;
        int more = json_next(&reader->json, &token);
        if (more < 0)
            return more;
        if (token.kind == JSON_ARRAY_END)
            return add(reader, index, &record);
        if (is_index(&token, &frame))
            record.node = find_node(reader, record.node, (uint32_t)frame, &error);
        else
            error = json_skip(&reader->json, &token);
    }
    return error;
}

static int read_weight(struct from_speedscope *reader, const struct json_token *token,
                       int64_t index)
{
    struct from_speedscope_record record = {.kind = SPEEDSCOPE_WEIGHT};
    if (!json_double(token, &record.value)) {
        reader->sink->left[LEFT_MALFORMED]++;
        return json_skip(&reader->json, token);
    }
    return add(reader, index, &record);
}

/* ---- Begins and ends ------------------------------------------------------------------------- */

/* {"type": "O", "frame": 0, "at": 12} */
static int read_event(struct from_speedscope *reader, const struct json_token *first, int64_t index)
{
    struct from_speedscope_record record = {.kind = SPEEDSCOPE_SAMPLE};
    bool has_frame = false, has_time = false;
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more = 0, error = 0;
    if (first->kind != JSON_OBJECT)
        return json_skip(&reader->json, first);
    while (!error && (more = json_member(&reader->json, key, &token)) == 1) {
        int64_t frame = 0;
        if (strcmp(key, "type") == 0)
            record.kind = json_is(&token, "O")   ? SPEEDSCOPE_OPEN
                          : json_is(&token, "C") ? SPEEDSCOPE_CLOSE
                                                 : SPEEDSCOPE_SAMPLE;
        else if (strcmp(key, "frame") == 0)
            has_frame = is_index(&token, &frame), record.node = (uint32_t)frame;
        else if (strcmp(key, "at") == 0)
            has_time = json_double(&token, &record.value);
        error = json_skip(&reader->json, &token);
    }
    if (error || more < 0)
        return error ? error : more;
    if (has_frame && has_time && record.kind != SPEEDSCOPE_SAMPLE)
        return add(reader, index, &record);
    reader->sink->left[LEFT_MALFORMED]++;
    return 0;
}

/* ---- Profiles and frames --------------------------------------------------------------------- */

static void take_unit(struct from_speedscope_profile *profile, const struct json_token *token)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {
        {"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};

    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (json_is(token, units[i].name))
            profile->scale = units[i].ns;
    profile->bytes = json_is(token, "bytes");
    profile->none = !profile->bytes && profile->scale == 0;
}

static int read_profile(struct from_speedscope *reader, const struct json_token *first,
                        int64_t index)
{
    const struct from_speedscope_profile fresh = {.none = true};
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more = 0, error = 0;
    if (first->kind != JSON_OBJECT || index >= PROFILES_MAX)
        return json_skip(&reader->json, first);
    if (vec_push(&reader->profiles, fresh) != 0)
        return -ENOMEM;
    while (!error && (more = json_member(&reader->json, key, &token)) == 1) {
        struct from_speedscope_profile *profile =
            &reader->profiles.items[reader->profiles.count - 1];
        if (strcmp(key, "samples") == 0)
            error = read_array(reader, &token, read_sample);
        else if (strcmp(key, "weights") == 0)
            error = read_array(reader, &token, read_weight);
        else if (strcmp(key, "events") == 0)
            error = read_array(reader, &token, read_event);
        else
            error = json_skip(&reader->json, &token);
        if (strcmp(key, "unit") == 0)
            take_unit(profile, &token);
        else if (strcmp(key, "startValue") == 0 && !json_double(&token, &profile->start))
            profile->start = 0;
        else if (strcmp(key, "name") == 0 && token.kind == JSON_STRING)
            profile->name = import_string(reader->sink, token.text, token.length);
    }
    return error ? error : more;
}

static int read_frame(struct from_speedscope *reader, const struct json_token *first, int64_t index)
{
    struct from_speedscope_frame frame = {0};
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more = 0, error = 0;
    (void)index;
    if (first->kind != JSON_OBJECT) {
        error = json_skip(&reader->json, first);
        return error ? error : vec_push(&reader->frames, frame);
    }
    while (!error && (more = json_member(&reader->json, key, &token)) == 1) {
        int64_t line;
        bool text = token.kind == JSON_STRING;
        if (strcmp(key, "name") == 0 && text)
            frame.name = import_string(reader->sink, token.text, token.length);
        else if (strcmp(key, "file") == 0 && text)
            frame.file = import_string(reader->sink, token.text, token.length);
        else if (strcmp(key, "line") == 0 && json_int(&token, &line) && line > 0 &&
                 line <= INT32_MAX)
            frame.line = (int32_t)line;
        error = json_skip(&reader->json, &token);
    }
    return error || more < 0 ? (error ? error : more) : vec_push(&reader->frames, frame);
}

/* ---- The document ---------------------------------------------------------------------------- */

static int read_shared(struct from_speedscope *reader, const struct json_token *first)
{
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more = 0, error = 0;
    if (first->kind != JSON_OBJECT)
        return json_skip(&reader->json, first);
    while (!error && (more = json_member(&reader->json, key, &token)) == 1)
        error = strcmp(key, "frames") == 0 ? read_array(reader, &token, read_frame)
                                           : json_skip(&reader->json, &token);
    return error ? error : more;
}

static int read_members(struct from_speedscope *reader)
{
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more = 0, error = 0;
    while (!error && (more = json_member(&reader->json, key, &token)) == 1) {
        if (strcmp(key, "profiles") == 0) {
            reader->has_profiles = token.kind == JSON_ARRAY;
            error = read_array(reader, &token, read_profile);
        } else if (strcmp(key, "shared") == 0) {
            error = read_shared(reader, &token);
        } else {
            error = json_skip(&reader->json, &token);
        }
        if (strcmp(key, "exporter") == 0 && token.kind == JSON_STRING) {
            reader->by_annot = token.length >= 5 && memcmp(token.text, "annot", 5) == 0;
            reader->by_memray = token.length >= 6 && memcmp(token.text, "memray", 6) == 0;
        }
        if (strcmp(key, "name") == 0 && token.kind == JSON_STRING)
            reader->name = import_string(reader->sink, token.text, token.length);
    }
    return error ? error : more;
}

static int read_document(struct from_speedscope *reader)
{
    struct json_token token;
    int more = json_next(&reader->json, &token);
    if (more < 0)
        return more;
    int error = token.kind == JSON_OBJECT ? read_members(reader) : json_skip(&reader->json, &token);
    if (error)
        return error;
    more = json_next(&reader->json, &token); /* the end */
    if (more == 0 && !reader->has_profiles) {
        import_problem(reader->sink, "there are no profiles", json_offset(&reader->json));
        return -EBADMSG;
    }
    return more;
}

static int read_speedscope(struct import_input *input, struct import_sink *sink)
{
    struct from_speedscope reader = {.sink = sink};
    json_reader_init(&reader.json, input);
    reader.records = sorter_create(sink->folder, 32 << 20);
    int error = reader.records ? read_document(&reader) : -ENOMEM;
    if (error == -EBADMSG)
        import_problem(sink, reader.json.problem, json_offset(&reader.json));
    if (!error)
        error = from_speedscope_tell(&reader);
    json_reader_fini(&reader.json);
    sorter_destroy(reader.records);
    vec_free(&reader.profiles);
    vec_free(&reader.frames);
    vec_free(&reader.nodes);
    map64_free(&reader.node_index);
    return error;
}

static bool sniff(const char *bytes, size_t size)
{
    static const char schema[] = "speedscope.app/file-format-schema";
    return size && (bytes[0] == '{' || bytes[0] == ' ' || bytes[0] == '\n') &&
           memmem(bytes, size, schema, strlen(schema));
}

const struct importer import_speedscope = {
    .format = {.name = "speedscope",
               .summary = "speedscope's JSON",
               .from = "py-spy speedscope, memray, speedscope, annot"},
    .sniff = sniff,
    .read = read_speedscope,
};
