/* SPDX-License-Identifier: MIT */
/* Builds the samples of V8 profiles once all input is read: see v8_profile.h. */
#include "v8_profile.h"

#include "json_reader.h"
#include "sink.h"
#include "sorter.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SORT_BYTES = 16 << 20, DEPTH_MAX = 1024 };

/* One value of a sample; the sorter key has its index. */
struct record {
    int64_t value;
};

/* A sample with its time. */
struct met {
    uint64_t node; /* node id */
    int64_t time_ns;
    int32_t line; /* 0 if unknown */
};

void v8_chunk_clear(struct v8_chunk *chunk)
{
    chunk->nodes.count = chunk->edges.count = chunk->ticks.count = 0;
    for (int kind = 0; kind < V8_VALUES; kind++)
        chunk->values[kind].count = 0;
    chunk->has_begin = chunk->has_end = false;
}

void v8_chunk_fini(struct v8_chunk *chunk)
{
    vec_free(&chunk->nodes);
    vec_free(&chunk->edges);
    vec_free(&chunk->ticks);
    for (int kind = 0; kind < V8_VALUES; kind++)
        vec_free(&chunk->values[kind]);
}

void v8_profiles_fini(struct v8_profiles *profiles)
{
    sorter_destroy(profiles->records);
    sorter_destroy(profiles->samples);
    vec_free(&profiles->items);
    vec_free(&profiles->nodes);
    vec_free(&profiles->ticks);
    wide_map_free(&profiles->node_index);
    wide_map_free(&profiles->parents);
}

int64_t v8_profile_add(struct v8_profiles *profiles, uint32_t thread)
{
    const struct v8_profile profile = {
        .thread = thread, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    if (profiles->items.count >= V8_PROFILES_MAX)
        return -EMSGSIZE;
    return vec_push(&profiles->items, profile) == 0 ? (int64_t)profiles->items.count - 1 : -ENOMEM;
}

/* ---- Joining values -------------------------------------------------------------------------- */

static int take_nodes(struct v8_profiles *profiles, uint32_t profile, const struct v8_chunk *chunk)
{
    int error = 0;
    for (size_t i = 0; i < chunk->nodes.count && !error; i++) {
        struct v8_node node = chunk->nodes.items[i];
        uint32_t shift = (uint32_t)profiles->ticks.count;
        if (profiles->nodes.count >= SINK_STACKS_MAX) {
            profiles->sink->left[LEFT_STACKS]++;
            continue;
        }
        for (uint32_t at = node.tick_at; at < node.tick_end && !error; at++)
            error = vec_push(&profiles->ticks, chunk->ticks.items[at]);
        node.tick_end = shift + (node.tick_end - node.tick_at);
        node.tick_at = shift;
        if (!error)
            error = vec_push(&profiles->nodes, node);
        if (!error)
            error = wide_map_put(&profiles->node_index, WIDE_KEY(1 + profile, node.id),
                                 profiles->nodes.count);
    }
    for (size_t i = 0; i < chunk->edges.count && !error; i++)
        if (profiles->parents.count < SINK_STACKS_MAX)
            error =
                wide_map_put(&profiles->parents, WIDE_KEY(1 + profile, chunk->edges.items[i].child),
                             chunk->edges.items[i].parent);
    return error;
}

static int take_values(struct v8_profiles *profiles, uint32_t profile, const struct v8_chunk *chunk)
{
    struct v8_profile *of = &profiles->items.items[profile];
    int error = 0;
    if (!profiles->records)
        profiles->records = sorter_create(profiles->sink->folder, SORT_BYTES);
    if (!profiles->records)
        return -ENOMEM;
    for (int kind = 0; kind < V8_VALUES; kind++)
        for (size_t i = 0; i < chunk->values[kind].count && !error; i++) {
            const struct record record = {chunk->values[kind].items[i]};
            const struct sorter_key key = {profile, (int64_t)of->counts[kind]++, kind};
            error = sorter_add(profiles->records, key, &record, sizeof(record));
        }
    return error;
}

int v8_profile_take(struct v8_profiles *profiles, uint32_t profile, struct v8_chunk *chunk)
{
    struct v8_profile *of = &profiles->items.items[profile];
    if (chunk->has_begin && !of->has_begin)
        of->begin_ns = chunk->begin_ns;
    if (chunk->has_end)
        of->end_ns = chunk->end_ns;
    of->has_begin = of->has_begin || chunk->has_begin;
    of->has_end = of->has_end || chunk->has_end;
    int error = take_nodes(profiles, profile, chunk);
    if (!error)
        error = take_values(profiles, profile, chunk);
    v8_chunk_clear(chunk);
    return error;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static struct v8_node *find_node(const struct v8_profiles *profiles, uint32_t profile, uint64_t id)
{
    const uint64_t *index = wide_map_find(&profiles->node_index, WIDE_KEY(1 + profile, id));
    return index ? &profiles->nodes.items[*index - 1] : NULL;
}

static uint64_t parent_of(const struct v8_profiles *profiles, uint32_t profile,
                          const struct v8_node *node)
{
    const uint64_t *listed = wide_map_find(&profiles->parents, WIDE_KEY(1 + profile, node->id));
    return node->parent ? node->parent : listed ? *listed : 0;
}

static bool is_called(const struct v8_profiles *profiles, const struct v8_node *node,
                      const char *name)
{
    return strcmp(trace_string(profiles->sink->trace, node->function)->bytes, name) == 0;
}

static uint32_t frame_of(const struct v8_profiles *profiles, const struct v8_node *node,
                         int32_t line)
{
    struct import_sink *sink = profiles->sink;
    struct import_frame frame = {.function = node->function,
                                 .file = node->file,
                                 .first_line = node->line,
                                 .line = line,
                                 .kind = node->file ? FRAME_JIT : FRAME_NATIVE};
    if (!frame.function)
        frame.function = import_text(sink, "(anonymous)");
    if (is_called(profiles, node, "(garbage collector)"))
        frame.kind = FRAME_COLLECTOR;
    return import_frame(sink, &frame);
}

/* Interns the stack of the node's ancestors, without "(root)", then with the node itself. */
static uint32_t stack_of(struct v8_profiles *profiles, uint32_t profile, struct v8_node *leaf)
{
    struct v8_node *path[DEPTH_MAX];
    size_t count = 0;
    uint32_t stack = 0;
    for (struct v8_node *node = leaf; node && !node->made && count < DEPTH_MAX;) {
        path[count++] = node;
        node = find_node(profiles, profile, parent_of(profiles, profile, node));
        stack = node && node->made ? node->stack : 0;
    }
    profiles->sink->left[LEFT_DEEP] += count == DEPTH_MAX;
    while (count > 0) {
        struct v8_node *node = path[--count];
        bool root = stack == 0 && is_called(profiles, node, "(root)");
        node->stack = root ? 0 : import_stack(profiles->sink, stack, frame_of(profiles, node, 0));
        node->made = true;
        stack = node->stack;
    }
    return leaf->stack;
}

/* Takes a line from the node's line ticks, so that in the end each line has as many samples as
 * ticks. */
static int32_t next_line(struct v8_profiles *profiles, struct v8_node *node)
{
    while (node->tick_at < node->tick_end) {
        struct v8_tick *tick = &profiles->ticks.items[node->tick_at];
        if (tick->count > 0) {
            tick->count--;
            return tick->line;
        }
        node->tick_at++;
    }
    return 0;
}

static uint32_t stack_at(struct v8_profiles *profiles, uint32_t profile, struct v8_node *node,
                         int32_t line)
{
    uint32_t stack = stack_of(profiles, profile, node);
    line = line ? line : next_line(profiles, node);
    if (line <= 0 || stack == 0)
        return stack;
    uint32_t around = stacks_get_stack(trace_stacks_get(profiles->sink->trace), stack)->parent;
    return import_stack(profiles->sink, around, frame_of(profiles, node, line));
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Sorts a sample by its time. */
static int place_sample(struct v8_profiles *profiles, uint32_t profile, const struct met *met)
{
    struct v8_profile *of = &profiles->items.items[profile];
    const struct sorter_key key = {profile, met->time_ns, 0};
    if (met->time_ns > IMPORT_TIME_MAX || met->time_ns < -IMPORT_TIME_MAX) {
        profiles->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    of->first_ns = met->time_ns < of->first_ns ? met->time_ns : of->first_ns;
    of->last_ns = met->time_ns > of->last_ns ? met->time_ns : of->last_ns;
    return sorter_add(profiles->samples, key, met, sizeof(*met));
}

/* Joins the values of each sample index, which the sorter returns consecutively. */
static int place_samples(struct v8_profiles *profiles)
{
    struct met met = {0};
    struct sorter_key key, at = {-1, -1, 0};
    unsigned has = 0;
    const void *bytes;
    uint32_t size;
    int more = 0, error = sorter_finish(profiles->records);
    while (!error && (more = sorter_next(profiles->records, &key, &bytes, &size)) == 1) {
        struct record record;
        memcpy(&record, bytes, sizeof(record));
        bool next = key.first != at.first || key.second != at.second;
        if (next && has)
            error = has == 3 ? place_sample(profiles, (uint32_t)at.first, &met) : 0;
        if (key.first != at.first)
            met.time_ns = profiles->items.items[key.first].begin_ns;
        if (next) {
            profiles->sink->left[LEFT_MALFORMED] += has != 0 && has != 3;
            has = 0;
            met.line = 0;
        }
        at = key;
        has |= key.third < V8_LINE ? 1u << key.third : 0;
        if (key.third == V8_NODE)
            met.node = (uint64_t)record.value;
        else if (key.third == V8_LINE)
            met.line = record.value > 0 && record.value < INT32_MAX ? (int32_t)record.value : 0;
        else if (__builtin_add_overflow(met.time_ns, record.value, &met.time_ns))
            met.time_ns = INT64_MAX;
    }
    if (!error && has == 3)
        error = place_sample(profiles, (uint32_t)at.first, &met);
    return error ? error : more;
}

/* True if an earlier profile of the same thread overlaps in time; its samples were already
 * reported. */
static bool is_repeated(const struct v8_profiles *profiles, uint32_t profile)
{
    const struct v8_profile *of = &profiles->items.items[profile];
    for (uint32_t i = 0; i < profile; i++) {
        const struct v8_profile *other = &profiles->items.items[i];
        if (other->thread == of->thread && other->first_ns <= of->last_ns &&
            of->first_ns <= other->last_ns)
            return true;
    }
    return false;
}

static bool is_idle(const struct v8_profiles *profiles, uint32_t profile, const struct met *met)
{
    const struct v8_node *node = find_node(profiles, profile, met->node);
    return node && is_called(profiles, node, "(idle)");
}

/* Reports a sample that lasts until `end_ns`: CPU time, or idle time of V8. */
static int emit_sample(struct v8_profiles *profiles, uint32_t profile, const struct met *met,
                       int64_t end_ns)
{
    struct v8_node *node = find_node(profiles, profile, met->node);
    int64_t values[2] = {end_ns - met->time_ns, 0};
    struct sample sample = {.time_ns = met->time_ns,
                            .thread = profiles->items.items[profile].thread,
                            .set = SAMPLE_SET_CPU,
                            .values = values,
                            .value_count = 1};
    if (!node) {
        profiles->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    sample.stack = stack_at(profiles, profile, node, met->line);
    if (is_idle(profiles, profile, met)) {
        sample.end_ns = end_ns;
        sample.reason = WAIT_POLL;
        sample_set_wait(&sample, 0, values);
    }
    return profiles->sink->error ? profiles->sink->error : import_sample(profiles->sink, &sample);
}

static int64_t end_of(const struct v8_profiles *profiles, uint32_t profile, const struct met *last)
{
    const struct v8_profile *of = &profiles->items.items[profile];
    return of->has_end && of->end_ns > last->time_ns ? of->end_ns : last->time_ns;
}

static int emit_samples(struct v8_profiles *profiles)
{
    struct met before = {0}, met;
    int64_t profile = -1;
    bool repeated = false;
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int more = 0, error = sorter_finish(profiles->samples);
    while (!error && (more = sorter_next(profiles->samples, &key, &bytes, &size)) == 1) {
        memcpy(&met, bytes, sizeof(met));
        bool same = key.first == profile;
        if (same && is_idle(profiles, (uint32_t)profile, &before) &&
            is_idle(profiles, (uint32_t)profile, &met)) { /* still the same wait */
            profiles->overlapping += repeated;
            continue;
        }
        if (profile >= 0 && !repeated)
            error = emit_sample(profiles, (uint32_t)profile, &before,
                                same ? met.time_ns : end_of(profiles, (uint32_t)profile, &before));
        if (!same)
            repeated = is_repeated(profiles, (uint32_t)key.first);
        profiles->overlapping += repeated;
        profile = key.first;
        before = met;
    }
    if (!error && profile >= 0 && !repeated)
        error = emit_sample(profiles, (uint32_t)profile, &before,
                            end_of(profiles, (uint32_t)profile, &before));
    return error ? error : more;
}

static void note(struct v8_profiles *profiles)
{
    char text[160];
    import_note(profiles->sink, "samples of V8 count as CPU time until the next one, \"(idle)\" as "
                                "waiting");
    snprintf(text, sizeof(text),
             "left out: samples of CPU profiles that overlap another one of their thread: %llu",
             (unsigned long long)profiles->overlapping);
    if (profiles->overlapping)
        import_note(profiles->sink, text);
}

int v8_profiles_emit(struct v8_profiles *profiles)
{
    if (!profiles->records)
        return 0;
    profiles->samples = sorter_create(profiles->sink->folder, SORT_BYTES);
    int error = profiles->samples ? place_samples(profiles) : -ENOMEM;
    if (!error)
        error = emit_samples(profiles);
    if (!error)
        note(profiles);
    return error;
}

/* ---- Members of a CPU profile ---------------------------------------------------------------- */

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

/* Moves a full chunk to its profile. Returns 1 if there is room, 0 if the profile is not known yet,
 * or -errno. */
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

/* Node ids start at 1. Returns 0 for an invalid one. */
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

/* Reads {"line": 5, "ticks": 3}. */
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

/* The id stands before the children, which refer to it. */
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
    reader->sink->left[LEFT_MALFORMED] +=
        !good; /* counted anyway, to keep the indices of later values */
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
