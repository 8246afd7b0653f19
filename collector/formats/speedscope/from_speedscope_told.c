/* SPDX-License-Identifier: MIT */
/* What a file of speedscope's format says, once all of it is known. */
#include "from_speedscope_parts.h"

#include "number.h"
#include "stacks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { OPEN_MAX = 1 << 16 };

#define SAMPLE_NS INT64_C(10000000)

struct open {
    uint32_t frame;
    int64_t begin_ns;
};

struct told {
    struct from_speedscope *reader;
    VEC(uint32_t) stacks; /* by node: ordinals */
    VEC(struct open) open;
    uint32_t process, thread, profile; /* at present; profile: 1 + index */
    double scale;
    double now;           /* of the file's unit */
    int64_t sample_index; /* of the sample that waits */
    uint32_t node;        /* of the sample that waits for its weight */
    bool waits;           /* its samples are times in which the thread did not run */
    uint16_t bytes;       /* the set of samples of memory; 0: not made yet */
    uint16_t objects;     /* ... and of allocations */
};

/* ---- Stacks ---------------------------------------------------------------------------------- */

static const struct from_speedscope_frame *frame_at(const struct told *told, uint32_t index)
{
    static const struct from_speedscope_frame unknown;
    return index < told->reader->frames.count ? &told->reader->frames.items[index] : &unknown;
}

static uint32_t make_frame(struct told *told, uint32_t index)
{
    const struct from_speedscope_frame *frame = frame_at(told, index);
    const char *path = trace_string(told->reader->sink->trace, frame->file)->bytes;
    bool object = strstr(path, ".so") != NULL;
    const struct import_frame made = {
        .function = frame->name ? frame->name : import_text(told->reader->sink, "[unknown]"),
        .file = object ? 0 : frame->file,
        .module = object ? frame->file : 0,
        .line = frame->line,
        .kind = frame->file && !object ? FRAME_PYTHON : FRAME_NATIVE,
    };
    return import_frame(told->reader->sink, &made);
}

static int make_stacks(struct told *told)
{
    struct from_speedscope *reader = told->reader;
    struct map64 made = {0};
    int error = vec_reserve(&told->stacks, reader->nodes.count + 1);
    if (error || !told->stacks.items)
        return -ENOMEM;
    told->stacks.items[told->stacks.count++] = 0;
    for (size_t i = 0; !error && i < reader->nodes.count; i++) {
        const struct from_speedscope_node *node = &reader->nodes.items[i];
        uint64_t key = 1 + (uint64_t)node->frame;
        uint64_t *frame = map64_find(&made, key);
        if (!frame && map64_put(&made, key, make_frame(told, node->frame)) == 0)
            frame = map64_find(&made, key);
        error = frame ? reader->sink->error : -ENOMEM;
        if (!error)
            told->stacks.items[told->stacks.count++] =
                import_stack(reader->sink, told->stacks.items[node->parent], (uint32_t)*frame);
    }
    map64_free(&made);
    return error;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* 0: out of memory. */
static uint16_t make_set(struct import_sink *sink, const char *name, uint16_t type)
{
    const struct sample_set set = {
        .name = import_text(sink, name), .flags = SAMPLE_SET_EXACT, .count = 1, .types = {type}};
    int64_t number = sample_sets_add(trace_sets(sink->trace), &set);
    if (number < 0)
        sink->error = (int)number;
    return number < 0 ? 0 : (uint16_t)number;
}

/* Bytes were in use, or allocated: the file does not say which. */
static uint16_t set_of(struct told *told, const struct from_speedscope_profile *profile)
{
    struct import_sink *sink = told->reader->sink;
    bool objects = profile->none && told->reader->by_memray;
    if (profile->bytes && !told->bytes)
        told->bytes = make_set(sink, "memory", VALUE_TYPE_ALLOC_BYTES);
    if (objects && !told->objects)
        told->objects = make_set(sink, "allocations", VALUE_TYPE_ALLOC_OBJECTS);
    return profile->bytes ? told->bytes : objects ? told->objects : SAMPLE_SET_CPU;
}

static bool is_time(const struct told *told, const struct from_speedscope_profile *profile)
{
    return !profile->bytes && !(profile->none && told->reader->by_memray);
}

static bool to_int(double value, int64_t *ret)
{
    if (!(value > -9e18 && value < 9e18))
        return false;
    *ret = (int64_t)llround(value);
    return true;
}

/* Of what, the file does not say. */
static int tell_wait(struct told *told, int64_t time_ns, int64_t length_ns)
{
    const int64_t values[] = {length_ns, 0};
    const struct sample sample = {.set = SAMPLE_SET_OFF_CPU,
                                  .thread = told->thread,
                                  .time_ns = time_ns,
                                  .end_ns = time_ns + length_ns,
                                  .stack = told->stacks.items[told->node],
                                  .values = values,
                                  .value_count = 2};
    return length_ns ? import_sample(told->reader->sink, &sample) : 0;
}

static int tell_sample(struct told *told, double weight)
{
    struct import_sink *sink = told->reader->sink;
    const struct from_speedscope_profile *profile =
        &told->reader->profiles.items[told->profile - 1];
    int64_t value, time_ns;
    if (!to_int(weight * (is_time(told, profile) ? told->scale : 1), &value) || value < 0 ||
        !to_int(told->now * told->scale, &time_ns)) {
        sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    told->now += weight;
    if (told->waits)
        return tell_wait(told, time_ns, value);
    const struct sample sample = {.set = set_of(told, profile),
                                  .thread = told->thread,
                                  .time_ns = time_ns,
                                  .stack = told->stacks.items[told->node],
                                  .values = &value,
                                  .value_count = 1};
    return value ? import_sample(sink, &sample) : 0;
}

/* ---- Begins and ends ------------------------------------------------------------------------- */

static int tell_range(struct told *told, const struct open *open, int64_t end_ns)
{
    struct import_sink *sink = told->reader->sink;
    const struct from_speedscope_frame *frame = frame_at(told, open->frame);
    struct event range = {.kind = EVENT_PUSH,
                          .thread = told->thread,
                          .time_ns = open->begin_ns,
                          .end_ns = end_ns,
                          .depth = told->open.count,
                          .name = frame->name};
    if (frame->file) {
        const struct scope calls = {.observer = OBSERVER_PYTHON_CALLS};
        range.scope = import_scope(sink, &calls);
        range.name = import_call(sink, frame->name, frame->file, frame->line);
    }
    return import_add(sink, &range, NULL);
}

static int tell_event(struct told *told, const struct from_speedscope_record *record)
{
    struct import_sink *sink = told->reader->sink;
    const struct open *top = told->open.count ? &told->open.items[told->open.count - 1] : NULL;
    int64_t time_ns;
    if (!to_int(record->value * told->scale, &time_ns) || told->open.count >= OPEN_MAX) {
        sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    if (record->kind == SPEEDSCOPE_OPEN)
        return vec_push(&told->open, ((struct open){record->node, time_ns}));
    if (!top || top->frame != record->node) {
        sink->left[LEFT_END_ALONE]++;
        return 0;
    }
    told->open.count--;
    return tell_range(told, top, time_ns);
}

/* ---- Profiles -------------------------------------------------------------------------------- */

/* Those that are open end unfinished. */
static int end_profile(struct told *told)
{
    int error = 0;
    while (!error && told->open.count) {
        told->reader->sink->left[LEFT_OPEN]++;
        error = tell_range(told, &told->open.items[--told->open.count], INT64_MAX);
    }
    return error;
}

/* The thread of a profile; of those of annot, as their names say, which are "THREAD: WHAT". */
static uint32_t find_thread(struct told *told, uint32_t index)
{
    struct import_sink *sink = told->reader->sink;
    uint32_t name = told->reader->profiles.items[index].name;
    const struct trace_string text = *trace_string(sink->trace, name);
    const char *colon = told->reader->by_annot ? memrchr(text.bytes, ':', text.length) : NULL;
    struct import_id id = {.number = index + INT64_C(1)};
    told->waits = colon && strcmp(colon, ": waits") == 0;
    if (colon && colon > text.bytes)
        id.text = name = import_string(sink, text.bytes, (size_t)(colon - text.bytes));
    uint32_t thread = import_thread(sink, told->process, &id);
    if (!sink->error)
        trace_thread(sink->trace, thread)->name = name;
    return thread;
}

static int begin_profile(struct told *told, uint32_t index)
{
    struct import_sink *sink = told->reader->sink;
    const struct from_speedscope_profile *profile = &told->reader->profiles.items[index];
    int error = told->profile ? end_profile(told) : 0;
    told->profile = index + 1;
    told->thread = find_thread(told, index);
    if (error || sink->error)
        return error ? error : sink->error;
    told->scale = profile->none
                      ? (double)(sink->options->unit_ns ? sink->options->unit_ns : SAMPLE_NS)
                  : profile->bytes ? 1
                                   : profile->scale;
    told->now = profile->start;
    told->sample_index = -1;
    return 0;
}

static int tell(struct told *told, int64_t place, const struct from_speedscope_record *record)
{
    int64_t index = place & ((INT64_C(1) << 40) - 1);
    uint32_t profile = (uint32_t)(place >> 40);
    int error = told->profile == profile + 1 ? 0 : begin_profile(told, profile);
    if (error)
        return error;
    if (record->kind == SPEEDSCOPE_SAMPLE) {
        told->sample_index = index;
        told->node = record->node;
        return 0;
    }
    if (record->kind != SPEEDSCOPE_WEIGHT)
        return tell_event(told, record);
    if (told->sample_index == index)
        return tell_sample(told, record->value);
    told->reader->sink->left[LEFT_MALFORMED]++;
    return 0;
}

static int tell_all(struct told *told)
{
    struct from_speedscope_record record = {0};
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int more, error = sorter_finish(told->reader->records);
    while (!error && (more = sorter_next(told->reader->records, &key, &bytes, &size)) != 0) {
        if (more == 1)
            memcpy(&record, bytes, sizeof(record));
        error = more < 0 ? more : tell(told, key.first, &record);
    }
    return error ? error : end_profile(told);
}

static void note_unit(struct told *told)
{
    struct import_sink *sink = told->reader->sink;
    char text[160], unit[NUMBER_TEXT_SIZE];
    bool none = false;
    for (size_t i = 0; i < told->reader->profiles.count; i++)
        none = none || told->reader->profiles.items[i].none;
    if (!none || told->reader->by_memray)
        return;
    int64_t unit_ns = sink->options->unit_ns ? sink->options->unit_ns : SAMPLE_NS;
    snprintf(text, sizeof(text), "the file has no unit: 1 is taken as %s of CPU time%s",
             number_time_short((uint64_t)unit_ns, unit),
             sink->options->unit_ns ? "" : " (--unit says otherwise)");
    import_note(sink, text);
}

int from_speedscope_tell(struct from_speedscope *reader)
{
    struct told told = {.reader = reader};
    struct import_sink *sink = reader->sink;
    const struct import_id one = {.number = 1};
    told.process = import_process(sink, &one);
    if (sink->error)
        return sink->error;
    trace_process(sink->trace, told.process)->name =
        reader->name ? reader->name : import_text(sink, text_base_name(sink->options->source));
    note_unit(&told);
    int error = make_stacks(&told);
    if (!error)
        error = tell_all(&told);
    vec_free(&told.stacks);
    vec_free(&told.open);
    return error ? error : sink->error;
}
