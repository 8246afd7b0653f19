/* SPDX-License-Identifier: MIT */
/* Members of a CPU profile of V8: see v8_profile.h. */
#include "v8_profile.h"

#include <errno.h>
#include <string.h>

enum { CHUNK_MAX = 1 << 16 };

typedef int (*read_item)(struct v8_reader *reader, const struct json_token *token,
                         struct v8_node *node);

static int read_array(struct v8_reader *reader, const struct json_token *first, read_item read,
                      struct v8_node *node)
{
    struct json_token token;
    if (first->kind != JSON_ARRAY)
        return json_skip(reader->json, first);
    for (;;) {
        int more = json_next(reader->json, &token);
        if (more <= 0 || token.kind == JSON_ARRAY_END)
            return more < 0 ? more : 0;
        int error = read(reader, &token, node);
        if (error)
            return error;
    }
}

/* A full chunk goes to its profile, if that is known. 1: there is room; 0: there is none. */
static int make_room(struct v8_reader *reader, size_t count)
{
    if (count < CHUNK_MAX)
        return 1;
    if (reader->profile >= 0) {
        int error = v8_profile_take(reader->profiles, (uint32_t)reader->profile, reader->chunk);
        return error ? error : 1;
    }
    reader->sink->left[LEFT_VALUES]++;
    return 0;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static int read_frame(struct v8_reader *reader, const struct json_token *first,
                      struct v8_node *node)
{
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more, error = 0;
    if (first->kind != JSON_OBJECT)
        return json_skip(reader->json, first);
    while (!error && (more = json_member(reader->json, key, &token)) == 1) {
        int64_t line;
        if (strcmp(key, "functionName") == 0 && token.kind == JSON_STRING && token.length > 0)
            node->function = import_string(reader->sink, token.text, token.length);
        else if (strcmp(key, "url") == 0 && token.kind == JSON_STRING && token.length > 0)
            node->file = import_string(reader->sink, token.text, token.length);
        else if (strcmp(key, "lineNumber") == 0 && json_int(&token, &line) && line >= 0 &&
                 line < INT32_MAX)
            node->line = (int32_t)line + 1;
        error = json_skip(reader->json, &token);
    }
    return error ? error : more < 0 ? more : 0;
}

/* Nodes count from 1; 0 is none. */
static uint64_t id_of(const struct json_token *token)
{
    int64_t id;
    return json_int(token, &id) && id > 0 ? (uint64_t)id : 0;
}

static int read_child(struct v8_reader *reader, const struct json_token *token,
                      struct v8_node *node)
{
    const struct v8_edge edge = {node->id, id_of(token)};
    int room = edge.child ? make_room(reader, reader->chunk->edges.count) : 0;
    int error = room < 0 ? room : room ? vec_push(&reader->chunk->edges, edge) : 0;
    return error ? error : json_skip(reader->json, token);
}

/* {"line": 5, "ticks": 3} */
static int read_tick(struct v8_reader *reader, const struct json_token *first, struct v8_node *node)
{
    struct v8_tick tick = {0};
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more = 0, error = 0;
    (void)node;
    if (first->kind != JSON_OBJECT)
        return json_skip(reader->json, first);
    while (!error && (more = json_member(reader->json, key, &token)) == 1) {
        int64_t value;
        bool good = json_int(&token, &value) && value > 0 && value < INT32_MAX;
        if (good && strcmp(key, "line") == 0)
            tick.line = (int32_t)value;
        else if (good && strcmp(key, "ticks") == 0)
            tick.count = (uint32_t)value;
        error = json_skip(reader->json, &token);
    }
    if (error || more < 0)
        return error ? error : more;
    if (reader->chunk->ticks.count >= CHUNK_MAX) {
        reader->sink->left[LEFT_VALUES]++;
        return 0;
    }
    return vec_push(&reader->chunk->ticks, tick);
}

/* Its children name it by its id, which stands before them. */
static int read_node(struct v8_reader *reader, const struct json_token *first,
                     struct v8_node *unused)
{
    struct v8_chunk *chunk = reader->chunk;
    struct v8_node node = {0};
    char key[JSON_KEY_SIZE];
    struct json_token token;
    int more = 0, error = 0, room = make_room(reader, chunk->nodes.count);
    (void)unused;
    if (room < 0 || first->kind != JSON_OBJECT)
        return room < 0 ? room : json_skip(reader->json, first);
    if (room > 0 && chunk->ticks.count > CHUNK_MAX / 2 && reader->profile >= 0)
        error = v8_profile_take(reader->profiles, (uint32_t)reader->profile, chunk);
    node.tick_at = (uint32_t)chunk->ticks.count;
    while (!error && (more = json_member(reader->json, key, &token)) == 1) {
        if (strcmp(key, "callFrame") == 0)
            error = read_frame(reader, &token, &node);
        else if (strcmp(key, "children") == 0)
            error = read_array(reader, &token, read_child, &node);
        else if (strcmp(key, "positionTicks") == 0)
            error = read_array(reader, &token, read_tick, &node);
        else {
            if (strcmp(key, "id") == 0)
                node.id = id_of(&token);
            else if (strcmp(key, "parent") == 0)
                node.parent = id_of(&token);
            error = json_skip(reader->json, &token);
        }
    }
    if (error || more < 0)
        return error ? error : more;
    node.tick_end = (uint32_t)chunk->ticks.count;
    for (size_t i = chunk->edges.count; i > 0 && chunk->edges.items[i - 1].parent == 0; i--)
        chunk->edges.items[i - 1].parent = node.id; /* they stood before the id */
    reader->sink->left[LEFT_MALFORMED] += node.id == 0;
    return node.id && room ? vec_push(&chunk->nodes, node) : 0;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int add_value(struct v8_reader *reader, const struct json_token *token, enum v8_value kind)
{
    int64_t value = 0;
    bool good = kind == V8_DELTA ? json_time(token, 1000, &value) : json_int(token, &value);
    int room = make_room(reader, reader->chunk->values[kind].count);
    int error = room < 0 ? room : room ? vec_push(&reader->chunk->values[kind], value) : 0;
    reader->sink->left[LEFT_MALFORMED] += !good; /* it counts all the same: others have places */
    return error ? error : json_skip(reader->json, token);
}

static int read_sample(struct v8_reader *reader, const struct json_token *token,
                       struct v8_node *unused)
{
    (void)unused;
    return add_value(reader, token, V8_NODE);
}

static int read_delta(struct v8_reader *reader, const struct json_token *token,
                      struct v8_node *unused)
{
    (void)unused;
    return add_value(reader, token, V8_DELTA);
}

static int read_line(struct v8_reader *reader, const struct json_token *token,
                     struct v8_node *unused)
{
    (void)unused;
    return add_value(reader, token, V8_LINE);
}

int v8_read_member(struct v8_reader *reader, const char *key, const struct json_token *value)
{
    static const struct {
        const char *key;
        read_item read;
    } arrays[] = {{"nodes", read_node},
                  {"samples", read_sample},
                  {"timeDeltas", read_delta},
                  {"lines", read_line}};
    struct v8_chunk *chunk = reader->chunk;
    bool begin = strcmp(key, "startTime") == 0, end = strcmp(key, "endTime") == 0;
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        if (strcmp(arrays[i].key, key) == 0 && value->kind == JSON_ARRAY) {
            int error = read_array(reader, value, arrays[i].read, NULL);
            return error ? error : 1;
        }
    if (begin && json_time(value, 1000, &chunk->begin_ns))
        chunk->has_begin = true;
    else if (end && json_time(value, 1000, &chunk->end_ns))
        chunk->has_end = true;
    else
        return 0;
    return 1;
}
