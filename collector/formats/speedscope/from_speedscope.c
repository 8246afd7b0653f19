/* SPDX-License-Identifier: MIT */
/* Imports speedscope's own format (JSON): of py-spy, speedscope, annot and others.
 *
 * A profile has samples and their weights in two arrays, or begins and ends of frames; the table of
 * frames may follow all profiles. So entries are sorted by profile and index first, and sent to the
 * sink at the end of the file. */
#include "import_formats.h"
#include "json_reader.h"
#include "number.h"
#include "sink.h"
#include "sorter.h"
#include "stacks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct from_speedscope_profile {
    uint32_t name; /* string */
    double scale;  /* nanoseconds per unit; 0 if the unit is not a time */
    bool bytes, no_unit;
    double start;
};

struct from_speedscope_frame {
    uint32_t name, file; /* strings */
    int32_t line;
};

/* A stack of frame numbers, whose frames may be read later. */
struct from_speedscope_node {
    uint32_t parent, frame; /* parent: 1 + index, 0 for a root; frame: index */
};

/* Kinds of records of a profile. A sample and its weight have the same index and meet in the
 * sorter. */
enum { SPEEDSCOPE_SAMPLE, SPEEDSCOPE_WEIGHT, SPEEDSCOPE_OPEN, SPEEDSCOPE_CLOSE };

struct from_speedscope_record {
    uint32_t kind;
    uint32_t node; /* of a sample: 1 + index, 0 for an empty stack; else a frame */
    double value;  /* weight, or time */
};

struct from_speedscope {
    struct json_reader json;
    struct import_sink *sink;
    struct sorter *records; /* by profile, and index in it */
    VEC(struct from_speedscope_profile) profiles;
    VEC(struct from_speedscope_frame) frames;
    VEC(struct from_speedscope_node) nodes;
    struct map64 node_index; /* by parent and frame: 1 + index */
    uint32_t name;           /* string: name of the document */
    bool has_profiles;       /* the list exists, even if empty */
    bool by_sampler;         /* events are made from samples, as by pyinstrument */
    bool by_annot;           /* profile names give thread and kind */
    bool by_memray;          /* profiles without a unit count allocations */
};

/* ---- Output ---------------------------------------------------------------------------------- */

enum { OPEN_MAX = 1 << 16 };

struct open {
    uint32_t frame;
    uint32_t stack; /* including its ancestors; only if by_sampler */
    int64_t begin_ns;
};

struct emitter {
    struct from_speedscope *reader;
    VEC(uint32_t) stacks; /* by node: ordinals */
    VEC(struct open) open;
    uint32_t process, thread, profile; /* of the current profile; profile: 1 + index */
    double scale;
    double now;           /* in the file's unit */
    int64_t sample_index; /* of the pending sample */
    uint32_t node;        /* of the sample that awaits its weight */
    bool waits;           /* the samples are times off the CPU */
    uint16_t bytes;       /* set of memory samples; 0 until made */
    uint16_t objects;     /* set of allocation samples */
    uint16_t wall;        /* set of wall-clock samples */
    int64_t since_ns;     /* with by_sampler: time of the last change of the stack */
};

/* ---- Stacks ---------------------------------------------------------------------------------- */

static const struct from_speedscope_frame *frame_at(const struct emitter *emitter, uint32_t index)
{
    static const struct from_speedscope_frame unknown;
    return index < emitter->reader->frames.count ? &emitter->reader->frames.items[index] : &unknown;
}

static uint32_t make_frame(struct emitter *emitter, uint32_t index)
{
    const struct from_speedscope_frame *frame = frame_at(emitter, index);
    const char *path = trace_string(emitter->reader->sink->trace, frame->file)->bytes;
    bool object = strstr(path, ".so") != NULL;
    const struct import_frame made = {
        .function = frame->name ? frame->name : import_text(emitter->reader->sink, "[unknown]"),
        .file = object ? 0 : frame->file,
        .module = object ? frame->file : 0,
        .line = frame->line,
        .kind = frame->file && !object ? FRAME_PYTHON : FRAME_NATIVE,
    };
    return import_frame(emitter->reader->sink, &made);
}

static int make_stacks(struct emitter *emitter)
{
    struct from_speedscope *reader = emitter->reader;
    struct map64 made = {0};
    int error = vec_reserve(&emitter->stacks, reader->nodes.count + 1);
    if (error || !emitter->stacks.items)
        return -ENOMEM;
    emitter->stacks.items[emitter->stacks.count++] = 0;
    for (size_t i = 0; !error && i < reader->nodes.count; i++) {
        const struct from_speedscope_node *node = &reader->nodes.items[i];
        uint64_t key = 1 + (uint64_t)node->frame;
        uint64_t *frame = map64_find(&made, key);
        if (!frame && map64_put(&made, key, make_frame(emitter, node->frame)) == 0)
            frame = map64_find(&made, key);
        error = frame ? reader->sink->error : -ENOMEM;
        if (!error)
            emitter->stacks.items[emitter->stacks.count++] =
                import_stack(reader->sink, emitter->stacks.items[node->parent], (uint32_t)*frame);
    }
    map64_free(&made);
    return error;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static uint16_t make_set(struct import_sink *sink, const char *name, uint16_t type)
{
    const struct sample_set set = {
        .name = import_text(sink, name), .flags = SAMPLE_SET_EXACT, .count = 1, .types = {type}};
    return import_set(sink, &set);
}

/* The file does not distinguish bytes in use from bytes allocated. */
static uint16_t set_of(struct emitter *emitter, const struct from_speedscope_profile *profile)
{
    struct import_sink *sink = emitter->reader->sink;
    bool objects = profile->no_unit && emitter->reader->by_memray;
    if (profile->bytes && !emitter->bytes)
        emitter->bytes = make_set(sink, "memory", VALUE_TYPE_ALLOC_BYTES);
    if (objects && !emitter->objects)
        emitter->objects = make_set(sink, "allocations", VALUE_TYPE_ALLOC_OBJECTS);
    return profile->bytes ? emitter->bytes : objects ? emitter->objects : SAMPLE_SET_CPU;
}

static bool is_time(const struct emitter *emitter, const struct from_speedscope_profile *profile)
{
    return !profile->bytes && !(profile->no_unit && emitter->reader->by_memray);
}

static bool to_int(double value, int64_t *ret)
{
    if (!(value > -9e18 && value < 9e18))
        return false;
    *ret = (int64_t)llround(value);
    return true;
}

/* Reports a wait; the file does not give its reason. */
static int emit_wait(struct emitter *emitter, int64_t time_ns, int64_t length_ns)
{
    const int64_t values[] = {length_ns, 0};
    const struct sample sample = {.set = SAMPLE_SET_OFF_CPU,
                                  .thread = emitter->thread,
                                  .time_ns = time_ns,
                                  .end_ns = time_ns + length_ns,
                                  .stack = emitter->stacks.items[emitter->node],
                                  .values = values,
                                  .value_count = 2};
    return length_ns ? import_sample(emitter->reader->sink, &sample) : 0;
}

static int emit_sample(struct emitter *emitter, double weight)
{
    struct import_sink *sink = emitter->reader->sink;
    const struct from_speedscope_profile *profile =
        &emitter->reader->profiles.items[emitter->profile - 1];
    int64_t value, time_ns;
    if (!to_int(weight * (is_time(emitter, profile) ? emitter->scale : 1), &value) || value < 0 ||
        !to_int(emitter->now * emitter->scale, &time_ns)) {
        sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    emitter->now += weight;
    if (emitter->waits)
        return emit_wait(emitter, time_ns, value);
    const struct sample sample = {.set = set_of(emitter, profile),
                                  .thread = emitter->thread,
                                  .time_ns = time_ns,
                                  .stack = emitter->stacks.items[emitter->node],
                                  .values = &value,
                                  .value_count = 1};
    return value ? import_sample(sink, &sample) : 0;
}

/* ---- Begins and ends ------------------------------------------------------------------------- */

static int emit_range(struct emitter *emitter, const struct open *open, int64_t end_ns)
{
    struct import_sink *sink = emitter->reader->sink;
    const struct from_speedscope_frame *frame = frame_at(emitter, open->frame);
    struct event range = {.kind = EVENT_PUSH,
                          .thread = emitter->thread,
                          .time_ns = open->begin_ns,
                          .end_ns = end_ns,
                          .depth = emitter->open.count,
                          .name = frame->name};
    if (frame->file) {
        const struct scope calls = {.observer = OBSERVER_PYTHON_CALLS};
        range.scope = import_scope(sink, &calls);
        range.name = import_call(sink, frame->name, frame->file, frame->line);
    }
    return import_add(sink, &range, NULL);
}

/* Events of a sampler mark the samples between which a frame was seen, not calls: the stack between
 * two changes becomes a sample of that time. */
static int emit_sampled(struct emitter *emitter, int64_t time_ns)
{
    struct import_sink *sink = emitter->reader->sink;
    int64_t value = time_ns - emitter->since_ns;
    if (!emitter->wall)
        emitter->wall = import_wall_set(sink);
    const struct sample sample = {
        .set = emitter->wall,
        .thread = emitter->thread,
        .time_ns = emitter->since_ns,
        .values = &value,
        .value_count = 1,
        .stack = emitter->open.count ? emitter->open.items[emitter->open.count - 1].stack : 0};
    emitter->since_ns = time_ns;
    return value > 0 && sample.stack ? import_sample(sink, &sample) : sink->error;
}

static int open_frame(struct emitter *emitter, uint32_t frame, int64_t time_ns)
{
    struct open open = {.frame = frame, .begin_ns = time_ns};
    uint32_t around = emitter->open.count ? emitter->open.items[emitter->open.count - 1].stack : 0;
    if (emitter->reader->by_sampler)
        open.stack = import_stack(emitter->reader->sink, around, make_frame(emitter, frame));
    return vec_push(&emitter->open, open);
}

static int emit_event(struct emitter *emitter, const struct from_speedscope_record *record)
{
    struct import_sink *sink = emitter->reader->sink;
    const struct open *top =
        emitter->open.count ? &emitter->open.items[emitter->open.count - 1] : NULL;
    int64_t time_ns;
    if (!to_int(record->value * emitter->scale, &time_ns) || emitter->open.count >= OPEN_MAX) {
        sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    int error = emitter->reader->by_sampler ? emit_sampled(emitter, time_ns) : 0;
    if (error || record->kind == SPEEDSCOPE_OPEN)
        return error ? error : open_frame(emitter, record->node, time_ns);
    if (!top || top->frame != record->node) {
        sink->left[LEFT_END_ALONE]++;
        return 0;
    }
    emitter->open.count--;
    return emitter->reader->by_sampler ? 0 : emit_range(emitter, top, time_ns);
}

/* ---- Profiles -------------------------------------------------------------------------------- */

/* Frames still open at the end become unfinished ranges. */
static int end_profile(struct emitter *emitter)
{
    int error = 0;
    while (!error && emitter->open.count) {
        emitter->reader->sink->left[LEFT_OPEN]++;
        emitter->open.count--;
        if (!emitter->reader->by_sampler)
            error = emit_range(emitter, &emitter->open.items[emitter->open.count], INT64_MAX);
    }
    return error;
}

/* The thread of a profile. In files of annot, profile names are "THREAD: KIND". */
static uint32_t find_thread(struct emitter *emitter, uint32_t index)
{
    struct import_sink *sink = emitter->reader->sink;
    uint32_t name = emitter->reader->profiles.items[index].name;
    const struct trace_string text = *trace_string(sink->trace, name);
    const char *colon = emitter->reader->by_annot ? memrchr(text.bytes, ':', text.length) : NULL;
    struct import_id id = {.number = index + INT64_C(1)};
    emitter->waits = colon && strcmp(colon, ": waits") == 0;
    if (colon && colon > text.bytes)
        id.text = name = import_string(sink, text.bytes, (size_t)(colon - text.bytes));
    uint32_t thread = import_thread(sink, emitter->process, &id);
    if (!sink->error)
        trace_thread(sink->trace, thread)->name = name;
    return thread;
}

static int begin_profile(struct emitter *emitter, uint32_t index)
{
    struct import_sink *sink = emitter->reader->sink;
    const struct from_speedscope_profile *profile = &emitter->reader->profiles.items[index];
    int error = emitter->profile ? end_profile(emitter) : 0;
    emitter->profile = index + 1;
    emitter->thread = find_thread(emitter, index);
    if (error || sink->error)
        return error ? error : sink->error;
    emitter->scale = profile->no_unit ? (double)import_unit_ns(sink, IMPORT_SAMPLE_NS)
                     : profile->bytes ? 1
                                      : profile->scale;
    emitter->now = profile->start;
    emitter->sample_index = -1;
    return 0;
}

static int tell(struct emitter *emitter, int64_t place, const struct from_speedscope_record *record)
{
    int64_t index = place & ((INT64_C(1) << 40) - 1);
    uint32_t profile = (uint32_t)(place >> 40);
    int error = emitter->profile == profile + 1 ? 0 : begin_profile(emitter, profile);
    if (error)
        return error;
    if (record->kind == SPEEDSCOPE_SAMPLE) {
        emitter->sample_index = index;
        emitter->node = record->node;
        return 0;
    }
    if (record->kind != SPEEDSCOPE_WEIGHT)
        return emit_event(emitter, record);
    if (emitter->sample_index == index)
        return emit_sample(emitter, record->value);
    emitter->reader->sink->left[LEFT_MALFORMED]++;
    return 0;
}

static int emit_all(struct emitter *emitter)
{
    struct from_speedscope_record record = {0};
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int more, error = sorter_finish(emitter->reader->records);
    while (!error && (more = sorter_next(emitter->reader->records, &key, &bytes, &size)) != 0) {
        if (more == 1)
            memcpy(&record, bytes, sizeof(record));
        error = more < 0 ? more : tell(emitter, key.first, &record);
    }
    return error ? error : end_profile(emitter);
}

static void note_unit(struct emitter *emitter)
{
    struct import_sink *sink = emitter->reader->sink;
    char text[160], unit[NUMBER_TEXT_SIZE];
    bool without_unit = false;
    for (size_t i = 0; i < emitter->reader->profiles.count; i++)
        without_unit = without_unit || emitter->reader->profiles.items[i].no_unit;
    if (!without_unit || emitter->reader->by_memray)
        return;
    int64_t unit_ns = import_unit_ns(sink, IMPORT_SAMPLE_NS);
    snprintf(text, sizeof(text), "the file has no unit: 1 is taken as %s of CPU time%s",
             number_time_short((uint64_t)unit_ns, unit),
             sink->options->unit_ns ? "" : " (--unit says otherwise)");
    import_note(sink, text);
}

/* Sends all records to the sink. 0 or -errno. */
static int from_speedscope_emit(struct from_speedscope *reader)
{
    struct emitter emitter = {.reader = reader};
    struct import_sink *sink = reader->sink;
    const struct import_id one = {.number = 1};
    emitter.process = import_process(sink, &one);
    if (sink->error)
        return sink->error;
    trace_process(sink->trace, emitter.process)->name =
        reader->name ? reader->name : import_text(sink, text_base_name(sink->options->source));
    note_unit(&emitter);
    int error = make_stacks(&emitter);
    if (!error)
        error = emit_all(&emitter);
    vec_free(&emitter.stacks);
    vec_free(&emitter.open);
    return error ? error : sink->error;
}

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

/* Returns 1 + the node's index; the parent beyond NODES_MAX; 0 with -ENOMEM in *ret_error. */
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

/* Reads [0, 4, 7], outermost frame first. */
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

/* Reads {"type": "O", "frame": 0, "at": 12}. */
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
    profile->no_unit = !profile->bytes && profile->scale == 0;
}

static int read_profile(struct from_speedscope *reader, const struct json_token *first,
                        int64_t index)
{
    const struct from_speedscope_profile fresh = {.no_unit = true};
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

static bool begins_with(const struct json_token *token, const char *text)
{
    size_t length = strlen(text);
    return token->length >= length && memcmp(token->text, text, length) == 0;
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
            reader->by_annot = begins_with(&token, "annot");
            reader->by_memray = begins_with(&token, "memray");
            reader->by_sampler = begins_with(&token, "pyinstrument");
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
    int error = reader.records ? json_end(&reader.json, sink, read_document(&reader)) : -ENOMEM;
    if (!error)
        error = from_speedscope_emit(&reader);
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
               .from = "py-spy speedscope, pyinstrument, memray, speedscope, annot"},
    .sniff = sniff,
    .read = read_speedscope,
};
