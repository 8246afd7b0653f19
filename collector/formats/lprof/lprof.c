/* SPDX-License-Identifier: MIT */
/* Converts the pickle to a recording. The file is untrusted, so kind and count of each value are
 * checked. One line becomes one sample. */
#include "lprof.h"

#include "pickle.h"
#include "writer.h"

#include "sample.h"
#include "stacks.h"
#include "store.h"
#include "trace.h"
#include "vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_SIZE = 256, LINE_VALUES = 2, BATCH = 1024, BEGIN_NS = 1 };

/* Limit of values, far above real counts and times. */
#define VALUE_MAX (INT64_C(1) << 50)

#define NOTHING_ELSE_NOTE                                                                          \
    "made from a file of line_profiler, which has lines alone: how long the program ran, and in "  \
    "which threads, is not known"

struct counted_line {
    uint32_t stack;
    int64_t values[LINE_VALUES]; /* hits, ns */
};

struct lprof {
    struct trace *trace;
    uint32_t thread;
    unsigned set;
    VEC(struct counted_line) lines;
    int64_t longest_ns; /* longest time of a function */
    /* Valid while reading: */
    const struct pickle *pickle;
    size_t lines_max;
    int64_t function_ns;
    double unit_ns;
    const char *fault;
};

static int fail(struct lprof *lprof, const char *what)
{
    lprof->fault = what;
    return -EBADMSG;
}

bool lprof_begins(const void *bytes, size_t size)
{
    static const char class[] = "LineStats";
    const char *head = bytes;
    size = size < HEAD_SIZE ? size : (size_t)HEAD_SIZE;
    return size > 2 && head[0] == '\x80' && memmem(head, size, class, sizeof(class) - 1);
}

/* ---- The trace ------------------------------------------------------------------------------- */

static int64_t add_text(struct lprof *lprof, const struct pickle_value *text)
{
    return trace_string_add(lprof->trace, text->text, text->count);
}

static int64_t add_constant(struct lprof *lprof, const char *text)
{
    return trace_string_add(lprof->trace, text, strlen(text));
}

/* Adds one process with one thread; their ids are unknown. */
static int add_thread(struct lprof *lprof)
{
    int64_t process = trace_process_add(lprof->trace);
    int64_t name = add_constant(lprof, "line_profiler");
    int64_t thread = process < 0 ? process : trace_thread_add(lprof->trace, (uint32_t)process);
    if (name < 0 || thread < 0)
        return -ENOMEM;
    struct trace_process *added = trace_process(lprof->trace, (uint32_t)process);
    added->parent = -1;
    added->identity = 1;
    added->name = (uint32_t)name;
    added->start_ns = added->end_ns = BEGIN_NS;
    added->end = PROCESS_UNRECORDED;
    trace_thread(lprof->trace, (uint32_t)thread)->serial = 1;
    lprof->thread = (uint32_t)thread;
    return trace_fact_set(lprof->trace, FACT_NOTE, NOTHING_ELSE_NOTE, 1);
}

static int add_set(struct lprof *lprof)
{
    int64_t name = add_constant(lprof, "lines");
    const struct sample_set set = {.name = (uint32_t)name,
                                   .flags =
                                       SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL | SAMPLE_SET_LINES,
                                   .count = LINE_VALUES,
                                   .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    int64_t number = name < 0 ? name : sample_sets_add(trace_sets(lprof->trace), &set);
    lprof->set = number < 0 ? 0 : (unsigned)number;
    return number < 0 ? (int)number : 0;
}

static int begin_trace(struct lprof *lprof)
{
    lprof->trace = trace_create();
    if (!lprof->trace)
        return -ENOMEM;
    trace_session(lprof->trace)->command_status = -1;
    int error = add_thread(lprof);
    return error ? error : add_set(lprof);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static const struct pickle_value *only(const struct pickle_value *value, enum pickle_kind kind)
{
    return value && value->kind == kind ? value : NULL;
}

/* Gets the items of a tuple of three of the given kinds. Returns false for any other value. */
static bool open_three(const struct lprof *lprof, const struct pickle_value *tuple,
                       const uint8_t kinds[3], const struct pickle_value *items[3])
{
    uint32_t place = 0;
    if (!tuple || tuple->kind != PICKLE_TUPLE || tuple->count != 3)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        items[i] = pickle_next(lprof->pickle, tuple, &place);
        if (items[i]->kind != kinds[i])
            return false;
    }
    return true;
}

static bool is_line_number(const struct pickle_value *value)
{
    return value->integer >= 0 && value->integer <= INT32_MAX;
}

/* A time in nanoseconds, or -1 if out of range. */
static int64_t time_of(const struct lprof *lprof, const struct pickle_value *value)
{
    double ns = (double)value->integer * lprof->unit_ns;
    return value->integer >= 0 && ns <= (double)VALUE_MAX ? llround(ns) : -1;
}

static int add_line(struct lprof *lprof, uint32_t label, const struct pickle_value *line)
{
    static const uint8_t kinds[3] = {PICKLE_INTEGER, PICKLE_INTEGER, PICKLE_INTEGER};
    const struct pickle_value *items[3];
    if (!open_three(lprof, line, kinds, items) || !is_line_number(items[0]))
        return fail(lprof, "a line is not (line, hits, time)");
    int64_t hits = items[1]->integer, time_ns = time_of(lprof, items[2]);
    if (hits < 0 || hits > VALUE_MAX || time_ns < 0 || time_ns > VALUE_MAX - lprof->function_ns)
        return fail(lprof, "hits or time of a line are out of range");
    if (lprof->lines.count >= lprof->lines_max) /* containers may contain themselves */
        return fail(lprof, "it names the same lines again and again");
    const struct frame frame = {
        .kind = FRAME_PYTHON, .label = label, .line = (int32_t)items[0]->integer};
    int64_t ordinal = stacks_frame(trace_stacks(lprof->trace), &frame);
    int64_t stack =
        ordinal < 0 ? ordinal : stacks_push(trace_stacks(lprof->trace), 0, (uint32_t)ordinal);
    if (stack < 0)
        return (int)stack;
    lprof->function_ns += time_ns;
    return vec_push(&lprof->lines,
                    ((struct counted_line){.stack = (uint32_t)stack, .values = {hits, time_ns}}));
}

static int add_function(struct lprof *lprof, const struct pickle_value *key,
                        const struct pickle_value *lines)
{
    static const uint8_t kinds[3] = {PICKLE_TEXT, PICKLE_INTEGER, PICKLE_TEXT};
    const struct pickle_value *items[3], *line;
    uint32_t place = 0;
    if (!open_three(lprof, key, kinds, items) || !is_line_number(items[1]) ||
        !only(lines, PICKLE_LIST))
        return fail(lprof, "a function is not (file, line, name): [lines]");
    int64_t path = add_text(lprof, items[0]), name = add_text(lprof, items[2]);
    if (path < 0 || name < 0)
        return -ENOMEM;
    int64_t label = trace_python_label(lprof->trace, (uint32_t)name, (uint32_t)path,
                                       (int32_t)items[1]->integer);
    int error = label < 0 ? (int)label : 0;
    lprof->function_ns = 0;
    while (error == 0 && (line = pickle_next(lprof->pickle, lines, &place)))
        error = add_line(lprof, (uint32_t)label, line);
    if (lprof->function_ns > lprof->longest_ns)
        lprof->longest_ns = lprof->function_ns;
    return error;
}

static int add_functions(struct lprof *lprof, const struct pickle_value *timings)
{
    const struct pickle_value *key;
    uint32_t place = 0;
    int error = 0;
    while (error == 0 && (key = pickle_next(lprof->pickle, timings, &place)))
        error = add_function(lprof, key, pickle_next(lprof->pickle, timings, &place));
    return error;
}

/* ---- The object ------------------------------------------------------------------------------ */

static bool is_text(const struct pickle_value *value, const char *text)
{
    return only(value, PICKLE_TEXT) && value->count == strlen(text) &&
           memcmp(value->text, text, value->count) == 0;
}

/* True for an object of class LineStats, in any module. */
static bool is_results(const struct pickle *pickle, const struct pickle_value *object)
{
    uint32_t place = 0;
    const struct pickle_value *class =
        only(object, PICKLE_OBJECT) ? pickle_next(pickle, object, &place) : NULL;
    if (!class)
        return false;
    place = 0;
    (void)pickle_next(pickle, class, &place);
    return is_text(pickle_next(pickle, class, &place), "LineStats");
}

/* Returns NULL if the object has no such attribute. */
static const struct pickle_value *attribute(const struct pickle *pickle, const char *name)
{
    const struct pickle_value *object = pickle_root(pickle), *key, *value, *found = NULL;
    uint32_t place = 0, at = 0;
    (void)pickle_next(pickle, object, &place);
    const struct pickle_value *state = only(pickle_next(pickle, object, &place), PICKLE_DICT);
    while (state && (key = pickle_next(pickle, state, &at))) {
        value = pickle_next(pickle, state, &at);
        found = is_text(key, name) ? value : found;
    }
    return found;
}

static int read_results(struct lprof *lprof)
{
    if (!is_results(lprof->pickle, pickle_root(lprof->pickle)))
        return fail(lprof, "it is no object LineStats");
    const struct pickle_value *unit = only(attribute(lprof->pickle, "unit"), PICKLE_DOUBLE);
    const struct pickle_value *timings = only(attribute(lprof->pickle, "timings"), PICKLE_DICT);
    if (!unit || !timings)
        return fail(lprof, "it has no times, or no unit of them");
    if (!(unit->number > 0 && unit->number <= 1))
        return fail(lprof, "its unit of time is out of range");
    lprof->unit_ns = unit->number * 1e9;
    int error = add_functions(lprof, timings);
    if (error == 0 && lprof->lines.count == 0)
        return fail(lprof, "none of its lines ran");
    struct trace_session *session = trace_session(lprof->trace);
    session->begin_ns = BEGIN_NS;
    session->end_ns = BEGIN_NS + lprof->longest_ns;
    return error;
}

int lprof_read(const void *bytes, size_t size, struct lprof_fault *ret_fault,
               struct lprof **ret_lprof)
{
    struct lprof *lprof = calloc(1, sizeof(*lprof));
    struct pickle *pickle = NULL;
    if (!lprof)
        return -ENOMEM;
    lprof->lines_max = size;
    int error = pickle_read(bytes, size, ret_fault, &pickle);
    if (error == 0)
        error = begin_trace(lprof);
    if (error == 0) {
        lprof->pickle = pickle;
        error = read_results(lprof);
        *ret_fault = (struct lprof_fault){.what = lprof->fault};
    }
    pickle_destroy(pickle);
    lprof->pickle = NULL;
    if (error) {
        lprof_destroy(lprof);
        return error;
    }
    *ret_lprof = lprof;
    return 0;
}

void lprof_destroy(struct lprof *lprof)
{
    if (!lprof)
        return;
    trace_destroy(lprof->trace);
    vec_free(&lprof->lines);
    free(lprof);
}

struct trace *lprof_trace(struct lprof *lprof)
{
    return lprof->trace;
}

/* ---- The recording --------------------------------------------------------------------------- */

static int add_samples(const struct lprof *lprof, struct store_writer *writer)
{
    struct sample samples[BATCH];
    int error = 0;
    for (size_t at = 0, count; at < lprof->lines.count && error == 0; at += count) {
        for (count = 0; count < BATCH && at + count < lprof->lines.count; count++) {
            const struct counted_line *line = &lprof->lines.items[at + count];
            samples[count] = (struct sample){.thread = lprof->thread,
                                             .set = (uint16_t)lprof->set,
                                             .stack = line->stack,
                                             .python_end = STACK_COMPLETE,
                                             .time_ns = BEGIN_NS,
                                             .end_ns = BEGIN_NS + lprof->longest_ns,
                                             .values = line->values,
                                             .value_count = LINE_VALUES};
        }
        error = store_writer_add_samples(writer, samples, count);
    }
    return error;
}

int lprof_write(const struct lprof *lprof, const char *path)
{
    struct store_writer *writer;
    const struct store_writer_options options = {.overwrite = true};
    int error = store_writer_create(path, lprof->trace, &options, &writer);
    if (error)
        return error;
    error = add_samples(lprof, writer);
    if (error == 0)
        return store_writer_close(writer);
    store_writer_abandon(writer);
    return error;
}
