/* SPDX-License-Identifier: MIT */
/* Exports pprof's profile.proto, compressed: samples by stack with their number, CPU time, time off
 * the CPU, the sum of both, the values of other sets, and memory as Go's heap profiles have it,
 * with the peak.
 * Process, thread, path of ranges and cause of waiting are labels.
 *
 * Messages may come in any order, so the sums are written whenever they get large; readers add up
 * equal stacks. Functions, locations, mappings and texts are written at first use. Thread-safety:
 * none. */
#include "call_path.h"
#include "chosen_frames.h"
#include "export.h"
#include "export_facts.h"
#include "export_heap.h"
#include "hash_map.h"
#include "profile_frames.h"
#include "sample.h"
#include "sample_weight.h"
#include "stacks.h"
#include "strtab.h"
#include "text.h"
#include "trace.h"
#include "varint.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums of samples with equal stack, thread, range path and cause of waiting, for each type of
 * value. Memory: PPROF_ROWS_MAX rows of 80 bytes and 8 for each type. */

enum pprof_value {
    PPROF_SAMPLES = 0,
    PPROF_CPU,
    PPROF_WALL,
    PPROF_OFF_CPU,
    PPROF_OTHERS, /* first of the values of other sets */
    PPROF_VALUES_MAX = 32,
};

/* Memory is in the last values, if the recording has samples of it. In use: allocated and not
 * freed by the end of the process. Peak: held when all processes together held most. */
enum pprof_memory {
    PPROF_ALLOC_OBJECTS = 0,
    PPROF_ALLOC_SPACE,
    PPROF_INUSE_OBJECTS,
    PPROF_INUSE_SPACE,
    PPROF_PEAK_OBJECTS,
    PPROF_PEAK_SPACE,
    PPROF_MEMORY,
};

enum { PPROF_ROWS_MAX = 1 << 17 };

struct pprof_type {
    uint16_t set;
    uint8_t index; /* of the value in its set */
};

struct pprof_row {
    uint32_t stack, path, thread;
    uint32_t reason; /* enum wait_reason + 1; 0 for CPU samples */
};

struct pprof_sums {
    const struct trace *trace;
    const struct sample_sets *sets;
    struct pprof_type types[PPROF_VALUES_MAX]; /* indexed from PPROF_OTHERS */
    uint32_t value_count;
    uint32_t memory;        /* index of PPROF_ALLOC_OBJECTS; 0: no memory */
    struct wide_map by_key; /* key to row */
    VEC(struct pprof_row) rows;
    VEC(int64_t) values;        /* value_count for each row */
    uint64_t cpu_ns, cpu_count; /* of all CPU samples */
};

/* ---- Sums ------------------------------------------------------------------------------------ */

static bool is_other(const struct sample_set *set)
{
    return set->role != SAMPLE_ROLE_CPU && set->role != SAMPLE_ROLE_OFF_CPU &&
           set->role != SAMPLE_ROLE_SHORT_WAITS;
}

static bool is_memory(const struct sample_set *set, unsigned type)
{
    return (set->flags & SAMPLE_SET_HEAP) && type >= VALUE_TYPE_ALLOC_BYTES &&
           type <= VALUE_TYPE_FREE_OBJECTS;
}

static void add_type(struct pprof_sums *sums, unsigned number, unsigned index)
{
    const struct sample_set *set = sample_set_get(sums->sets, number);
    bool adds = value_type_get(sums->sets, set->types[index])->sum != VALUE_SUM_LEVEL;
    if (is_other(set) && adds && sums->value_count < PPROF_VALUES_MAX - PPROF_MEMORY)
        sums->types[sums->value_count++] = (struct pprof_type){(uint16_t)number, (uint8_t)index};
}

/* Adds a type for each additive value of the other sets, and those of memory. */
static void pprof_sums_init(struct pprof_sums *sums, const struct trace *trace)
{
    bool memory = false;
    *sums = (struct pprof_sums){
        .trace = trace, .sets = trace_sets_get(trace), .value_count = PPROF_OTHERS};
    for (unsigned number = 1; number < sample_sets_count(sums->sets); number++) {
        const struct sample_set *set = sample_set_get(sums->sets, number);
        for (unsigned i = 0; i < set->count; i++) {
            if (is_memory(set, set->types[i]))
                memory = true;
            else
                add_type(sums, number, i);
        }
    }
    sums->memory = memory ? sums->value_count : 0;
    sums->value_count += memory ? PPROF_MEMORY : 0;
}

static void pprof_sums_fini(struct pprof_sums *sums)
{
    wide_map_free(&sums->by_key);
    vec_free(&sums->rows);
    vec_free(&sums->values);
}

static void pprof_sums_clear(struct pprof_sums *sums)
{
    wide_map_free(&sums->by_key);
    sums->rows.count = sums->values.count = 0;
}

/* Returns the values of the row, or NULL if out of memory. */
static int64_t *find_row(struct pprof_sums *sums, const struct pprof_row *row)
{
    const struct wide_key *key =
        WIDE_KEY((uint64_t)row->stack << 32 | row->path, (uint64_t)row->thread << 32 | row->reason);
    const uint64_t *known = wide_map_find(&sums->by_key, key);
    uint64_t index = known ? *known : sums->rows.count;
    if (!known) {
        if (vec_push(&sums->rows, *row) != 0 || vec_reserve(&sums->values, sums->value_count) ||
            wide_map_put(&sums->by_key, key, index) != 0)
            return NULL;
        for (uint32_t i = 0; i < sums->value_count; i++)
            sums->values.items[sums->values.count++] = 0;
    }
    return &sums->values.items[index * sums->value_count];
}

static void add_others(const struct pprof_sums *sums, const struct sample *sample, int64_t *values)
{
    uint32_t end = sums->memory ? sums->memory : sums->value_count;
    for (uint32_t i = PPROF_OTHERS; i < end; i++) {
        const struct pprof_type *type = &sums->types[i];
        if (type->set == sample->set && type->index < sample->value_count)
            values[i] += sample->values[type->index];
    }
}

/* A free has the stack, thread and path of its allocation, so it is added to the same row. */
static void add_memory(const struct pprof_sums *sums, const struct sample *sample, int64_t *values)
{
    if (!sums->memory || !(sample_set_get(sums->sets, sample->set)->flags & SAMPLE_SET_HEAP))
        return;
    const struct heap_change held = export_heap_at(sums->trace, sample, HEAP_HELD);
    const struct heap_change peak = export_heap_at(sums->trace, sample, HEAP_PEAK);
    values += sums->memory;
    values[PPROF_ALLOC_OBJECTS] += sample_value(sums->sets, sample, VALUE_TYPE_ALLOC_OBJECTS);
    values[PPROF_ALLOC_SPACE] += sample_value(sums->sets, sample, VALUE_TYPE_ALLOC_BYTES);
    values[PPROF_INUSE_OBJECTS] += held.blocks;
    values[PPROF_INUSE_SPACE] += held.bytes;
    values[PPROF_PEAK_OBJECTS] += peak.blocks;
    values[PPROF_PEAK_SPACE] += peak.bytes;
}

/* 0 or -ENOMEM. Beyond PPROF_ROWS_MAX rows the caller must write and clear them. */
static int pprof_sums_add(struct pprof_sums *sums, const struct sample *sample)
{
    const struct off_share share = sample_off_share(sums->sets, sample);
    enum sample_role role = sample_role(sums->sets, sample);
    bool waits = role == SAMPLE_ROLE_OFF_CPU || role == SAMPLE_ROLE_SHORT_WAITS;
    const struct pprof_row row = {sample->stack, sample->path, sample->thread,
                                  waits ? sample->reason + 1u : 0};
    int64_t off_ns = waits ? (int64_t)(share.blocked_ns + share.runnable_ns) : 0;
    int64_t cpu_ns = (int64_t)sample_cpu_ns(sums->sets, sample);
    int64_t *values = find_row(sums, &row);
    if (!values)
        return -ENOMEM;
    values[PPROF_SAMPLES] += role == SAMPLE_ROLE_CPU;
    values[PPROF_CPU] += cpu_ns;
    sums->cpu_count += role == SAMPLE_ROLE_CPU;
    sums->cpu_ns += (uint64_t)cpu_ns;
    values[PPROF_WALL] += cpu_ns + off_ns;
    values[PPROF_OFF_CPU] += off_ns;
    add_others(sums, sample, values);
    add_memory(sums, sample, values);
    return 0;
}

/* Fields of profile.proto. */
enum {
    PP_SAMPLE_TYPE = 1,
    PP_SAMPLE = 2,
    PP_MAPPING = 3,
    PP_LOCATION = 4,
    PP_FUNCTION = 5,
    PP_STRING = 6,
    PP_TIME = 9,
    PP_DURATION = 10,
    PP_PERIOD_TYPE = 11,
    PP_PERIOD = 12,
    PP_COMMENT = 13,
    PP_DEFAULT_TYPE = 14,
};

enum { KNOWN_FRAME = 1, KNOWN_FUNCTION = 2, KNOWN_MODULE = 4 };

struct state {
    const struct export_job *job;
    const struct trace *trace;
    struct pprof_sums sums;
    struct chosen_frames frames;
    struct strtab strings;
    struct proto_writer message;
    struct out_stream *text; /* memory stream */
    uint8_t *known;          /* KNOWN_* bits by number: already written */
    uint32_t frame_count, label_count, module_count;
    uint32_t *process_names, *thread_names; /* strings; 0 until written */
    struct map64 path_names;                /* path: string */
    uint32_t thread_count;
    int error;
};

/* ---- Messages -------------------------------------------------------------------------------- */

static void send(struct state *s)
{
    out_write(s->job->out, s->message.bytes, s->message.size);
    if (s->message.error)
        s->error = s->message.error;
    proto_reset(&s->message);
}

/* Returns the number of a text. Writes a new text at once, even while another message is open. */
static uint64_t number_text(struct state *s, const char *text, size_t length)
{
    uint8_t head[2 * VARINT_MAX], *at = head;
    size_t before = s->strings.count;
    int64_t number = strtab_add(&s->strings, text, length);
    if (number < 0) {
        s->error = -ENOMEM;
        return 0;
    }
    if (s->strings.count > before) {
        at = varint_put(at, PP_STRING << 3 | 2);
        at = varint_put(at, length);
        out_write(s->job->out, head, (size_t)(at - head));
        out_write(s->job->out, text, length);
    }
    return (uint64_t)number;
}

static uint64_t number_word(struct state *s, const char *text)
{
    return number_text(s, text, strlen(text));
}

static void put_type(struct state *s, uint32_t field, const char *name, const char *unit)
{
    uint64_t name_number = number_word(s, name), unit_number = number_word(s, unit);
    proto_begin(&s->message, field);
    proto_uint(&s->message, 1, name_number);
    proto_uint(&s->message, 2, unit_number);
    proto_end(&s->message);
    send(s);
}

/* ---- Code ------------------------------------------------------------------------------------ */

static bool is_new(struct state *s, uint32_t index, uint8_t bit)
{
    bool fresh = !(s->known[index] & bit);
    s->known[index] |= bit;
    return fresh;
}

static void put_module(struct state *s, uint32_t number)
{
    char hex[2 * sizeof((struct code_module){0}.build_id) + 1];
    const struct code_module *module = stacks_get_module(trace_stacks_get(s->trace), number);
    if (number == 0 || number >= s->module_count || !is_new(s, number, KNOWN_MODULE))
        return;
    uint64_t path = number_word(s, trace_string(s->trace, module->path)->bytes);
    bool whole = module->build_id_size <= sizeof(module->build_id);
    text_hex(hex, module->build_id, whole ? module->build_id_size : 0);
    uint64_t build = number_word(s, hex);
    proto_begin(&s->message, PP_MAPPING);
    proto_uint(&s->message, 1, number);
    proto_uint(&s->message, 5, path);
    proto_uint(&s->message, 6, build);
    for (uint32_t field = 7; field <= 10; field++) /* has names, files, lines, inlined functions */
        proto_uint(&s->message, field, 1);
    proto_end(&s->message);
    send(s);
}

/* Writes the program before the libraries: pprof treats the first mapping as the main binary. */
static void put_program(struct state *s)
{
    for (uint32_t i = 1; i < s->module_count; i++) {
        const struct code_module *module = stacks_get_module(trace_stacks_get(s->trace), i);
        const char *path = trace_string(s->trace, module->path)->bytes;
        if (path[0] != '/' || strstr(path, ".so"))
            continue;
        put_module(s, i);
        return;
    }
}

static void put_function(struct state *s, uint64_t id, const struct profile_frame *frame)
{
    struct profile_frame_text text;
    profile_frame_describe(s->trace, s->job->options->strip_prefix, frame, &text);
    uint64_t name = number_text(s, text.name, text.name_length);
    uint64_t file = text.file ? number_word(s, text.file) : 0;
    proto_begin(&s->message, PP_FUNCTION);
    proto_uint(&s->message, 1, id);
    proto_uint(&s->message, 2,
               name); /* without system_name, from which pprof would cut "<module>" */
    proto_uint(&s->message, 4, file);
    proto_int(&s->message, 5, text.line);
    proto_end(&s->message);
    send(s);
    profile_frame_text_fini(&text);
}

static void put_location(struct state *s, uint32_t number)
{
    const struct frame *frame = stacks_get_frame(trace_stacks_get(s->trace), number);
    uint32_t label = frame->label < s->label_count ? frame->label : 0;
    if (!is_new(s, number, KNOWN_FRAME))
        return;
    put_module(s, frame->module);
    if (is_new(s, label, KNOWN_FUNCTION))
        put_function(s, label + UINT64_C(1), &(struct profile_frame){PROFILE_FUNCTION, label, 0});
    proto_begin(&s->message, PP_LOCATION);
    proto_uint(&s->message, 1, number);
    if (frame->module && frame->module < s->module_count)
        proto_uint(&s->message, 2, frame->module);
    proto_uint(&s->message, 3, frame->address);
    proto_begin(&s->message, 4);
    proto_uint(&s->message, 1, label + UINT64_C(1));
    proto_int(&s->message, 2, frame->line > 0 ? frame->line : 0);
    proto_end(&s->message);
    proto_end(&s->message);
    send(s);
}

/* The location of samples without a stack. Its numbers follow all others. */
static uint32_t no_stack(struct state *s)
{
    if (!is_new(s, s->frame_count, KNOWN_FRAME))
        return s->frame_count;
    put_function(s, s->label_count + UINT64_C(1), &(struct profile_frame){PROFILE_NO_STACK, 0, 0});
    proto_begin(&s->message, PP_LOCATION);
    proto_uint(&s->message, 1, s->frame_count);
    proto_begin(&s->message, 4);
    proto_uint(&s->message, 1, s->label_count + UINT64_C(1));
    proto_end(&s->message);
    proto_end(&s->message);
    send(s);
    return s->frame_count;
}

/* ---- Samples --------------------------------------------------------------------------------- */

typedef void title_of(const struct trace *trace, uint32_t number, char *buffer);

static uint64_t number_title(struct state *s, uint32_t *place, title_of *title, uint32_t number)
{
    char text[PROFILE_TITLE_SIZE];
    if (!*place) {
        title(s->trace, number, text);
        *place = (uint32_t)number_word(s, text);
    }
    return *place;
}

static uint64_t number_path(struct state *s, uint32_t path)
{
    size_t size;
    const uint64_t *known = map64_find(&s->path_names, path);
    if (known)
        return *known;
    out_stream_memory_reset(s->text);
    call_put_path(s->trace, path, s->text);
    const char *text = (const char *)out_stream_memory_bytes(s->text, &size);
    uint64_t number = number_text(s, text, size);
    if (out_error(s->text) || map64_put(&s->path_names, path, number) != 0)
        s->error = -ENOMEM;
    return number;
}

/* Call inside an open sample. */
static void put_label(struct state *s, const char *key, uint64_t text)
{
    uint64_t key_number = number_word(s, key);
    proto_begin(&s->message, 3);
    proto_uint(&s->message, 1, key_number);
    proto_uint(&s->message, 2, text);
    proto_end(&s->message);
}

static void put_labels(struct state *s, const struct pprof_row *row)
{
    if (row->thread < s->thread_count) {
        uint32_t process = trace_thread_get(s->trace, row->thread)->process;
        if (process < trace_process_count(s->trace))
            put_label(s, "process",
                      number_title(s, &s->process_names[process], profile_process_title, process));
        put_label(
            s, "thread",
            number_title(s, &s->thread_names[row->thread], profile_thread_title, row->thread));
    }
    if (row->path)
        put_label(s, "range", number_path(s, row->path));
    if (row->reason)
        put_label(s, "wait", number_word(s, wait_reason_name((enum wait_reason)(row->reason - 1))));
}

/* Writes packed varints, leaf first. */
static void put_stack(struct state *s, const uint32_t *frames, uint32_t count)
{
    uint8_t bytes[PROFILE_DEPTH_MAX * 5], *at = bytes;
    while (count-- > 0)
        at = varint_put(at, frames[count]);
    proto_bytes(&s->message, 1, bytes, (size_t)(at - bytes));
}

static void put_row(struct state *s, const struct pprof_row *row, const int64_t *values)
{
    uint32_t frames[PROFILE_DEPTH_MAX];
    uint8_t bytes[PPROF_VALUES_MAX * VARINT_MAX], *at = bytes;
    uint32_t count = chosen_frames_get(&s->frames, row->stack, frames, PROFILE_DEPTH_MAX);
    for (uint32_t i = 0; i < count; i++)
        put_location(s, frames[i]);
    if (count == 0)
        frames[count++] = no_stack(s);
    for (uint32_t i = 0; i < s->sums.value_count; i++)
        at = varint_put(at, (uint64_t)values[i]);
    proto_begin(&s->message, PP_SAMPLE);
    put_stack(s, frames, count);
    proto_bytes(&s->message, 2, bytes, (size_t)(at - bytes));
    put_labels(s, row);
    proto_end(&s->message);
    send(s);
}

static int put_rows(struct state *s)
{
    for (size_t i = 0; i < s->sums.rows.count && !s->error; i++)
        put_row(s, &s->sums.rows.items[i], &s->sums.values.items[i * s->sums.value_count]);
    pprof_sums_clear(&s->sums);
    return s->error;
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int error = pprof_sums_add(&s->sums, item->sample);
    if (!error && s->sums.rows.count >= PPROF_ROWS_MAX)
        error = put_rows(s);
    return error;
}

/* ---- The profile ----------------------------------------------------------------------------- */

static void put_other_types(struct state *s)
{
    char name[128], buffer[16], value[64];
    uint32_t end = s->sums.memory ? s->sums.memory : s->sums.value_count;
    for (uint32_t i = PPROF_OTHERS; i < end; i++) {
        const struct pprof_type *type = &s->sums.types[i];
        const struct sample_set *set = sample_set_get(s->sums.sets, type->set);
        unsigned number = set->types[type->index];
        sample_value_label(s->trace, type->set, type->index, value, sizeof(value));
        snprintf(name, sizeof(name), "%.60s:%s", trace_set_name(s->trace, type->set, buffer),
                 value);
        enum sample_unit unit = sample_unit_of(s->trace, number);
        put_type(s, PP_SAMPLE_TYPE, name,
                 unit == UNIT_NS      ? "nanoseconds"
                 : unit == UNIT_BYTES ? "bytes"
                                      : "count");
    }
}

static void put_types(struct state *s)
{
    put_type(s, PP_SAMPLE_TYPE, "samples", "count");
    put_type(s, PP_SAMPLE_TYPE, "cpu", "nanoseconds");
    put_type(s, PP_SAMPLE_TYPE, "wall", "nanoseconds");
    put_type(s, PP_SAMPLE_TYPE, "off-cpu", "nanoseconds");
    put_other_types(s);
    if (!s->sums.memory)
        return;
    put_type(s, PP_SAMPLE_TYPE, "alloc_objects", "count");
    put_type(s, PP_SAMPLE_TYPE, "alloc_space", "bytes");
    put_type(s, PP_SAMPLE_TYPE, "inuse_objects", "count");
    put_type(s, PP_SAMPLE_TYPE, "inuse_space", "bytes");
    put_type(s, PP_SAMPLE_TYPE, "peak_objects", "count");
    put_type(s, PP_SAMPLE_TYPE, "peak_space", "bytes");
}

static void put_comment(void *context, const struct fact *fact)
{
    struct state *s = context;
    char text[1024];
    if (fact->kind == VALUE_STRING)
        snprintf(text, sizeof(text), "%s: %.800s", fact->name, fact->text);
    else
        snprintf(text, sizeof(text), "%s: %" PRIu64, fact->name, fact->value.uint64);
    uint64_t number = number_text(s, text, utf8_whole(text, strlen(text)));
    proto_uint(&s->message, PP_COMMENT, number);
    send(s);
}

static void put_times(struct state *s)
{
    const struct trace_session *session = trace_session_get(s->trace);
    uint32_t hertz = trace_sampling_get(s->trace)->frequency_hz;
    int64_t duration_ns = session_end_ns(s->trace) - trace_begin_ns(s->trace);
    uint64_t default_type = number_word(s, s->sums.memory ? "inuse_space" : "cpu");
    proto_int(&s->message, PP_TIME, session->begin_realtime_ns);
    proto_int(&s->message, PP_DURATION, duration_ns > 0 ? duration_ns : 0);
    proto_uint(&s->message, PP_DEFAULT_TYPE, default_type);
    if (hertz) /* after a higher first rate, the mean */
        proto_uint(&s->message, PP_PERIOD,
                   trace_sampling_get(s->trace)->first_hz && s->sums.cpu_count
                       ? s->sums.cpu_ns / s->sums.cpu_count
                       : 1000000000 / hertz);
    send(s);
    if (hertz)
        put_type(s, PP_PERIOD_TYPE, "cpu", "nanoseconds");
}

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    const struct trace *trace = job->source->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    s->job = job;
    s->trace = trace;
    s->frame_count = stacks_frame_count(stacks);
    s->label_count = stacks_label_count(stacks);
    s->module_count = stacks_module_count(stacks);
    s->thread_count = trace_thread_count(trace);
    s->known = calloc((size_t)s->frame_count + s->label_count + s->module_count + 1, 1);
    s->process_names = calloc(trace_process_count(trace) + 1u, sizeof(*s->process_names));
    s->thread_names = calloc(s->thread_count + 1u, sizeof(*s->thread_names));
    s->text = out_stream_memory();
    pprof_sums_init(&s->sums, trace);
    int error = chosen_frames_init(&s->frames, trace, export_frames(job->options));
    if (error || !s->known || !s->process_names || !s->thread_names || !s->text)
        return -ENOMEM;
    int64_t peak_ns;
    error = s->sums.memory ? export_heap_find_peak(job, &peak_ns) : 0;
    if (error)
        return error;
    number_text(s, "", 0); /* string 0 */
    put_types(s);
    put_program(s);
    return s->error;
}

static int end(void *state)
{
    struct state *s = state;
    int error = put_rows(s);
    if (error)
        return error;
    put_times(s);
    session_brief(s->trace, put_comment, s); /* pprof prints comments above each table */
    return s->error;
}

static void destroy(void *state)
{
    struct state *s = state;
    pprof_sums_fini(&s->sums);
    chosen_frames_fini(&s->frames);
    strtab_free(&s->strings);
    proto_destroy(&s->message);
    out_stream_abandon(s->text);
    map64_free(&s->path_names);
    free(s->known);
    free(s->process_names);
    free(s->thread_names);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_NATIVE,
    EXPORT_OPTION_STRIP(NULL),
    EXPORT_OPTION_SERVICE,
    {0},
};

const struct exporter export_pprof = {
    .name = "pprof",
    .extension = ".pb.gz",
    .summary = "samples, CPU time, waits, memory and other values by stack, for pprof",
    .carries = "stacks of samples and waits, with ranges as labels",
    .viewer = "with go tool pprof",
    .lacks = EXPORT_LACKS_EVENTS,
    .waits = true,
    .binary = true,
    .compressed = true,
    .options = options,
    .wants = WANT_SAMPLES | WANT_PATHS,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
