/* SPDX-License-Identifier: MIT */
/* CPU profiles of V8 in Chrome traces: events "Profile" and "ProfileChunk". What they have stands
 * in "data", as values of other events do, mostly before the event says what it is. */
#include "from_chrome_parts.h"

#include <errno.h>
#include <string.h>

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

/* 1: what the member has is no text; 0: it is copied; as json_next. */
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
    return event->phase == 'P' && event->has_id &&
           (strcmp(name, "Profile") == 0 || strcmp(name, "ProfileChunk") == 0);
}

/* The profiler's own thread tells the pieces; "Profile", which comes first, is of the one that is
 * profiled. */
int from_chrome_profile_take(struct from_chrome_reader *reader)
{
    const struct from_chrome_event *event = &reader->event;
    uint64_t key =
        from_chrome_mix(event->id, from_chrome_mix(event->pid.text, (uint64_t)event->pid.number));
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
