/* SPDX-License-Identifier: MIT */
/* Imports collapsed stacks, "root;caller;leaf WEIGHT" a line, of py-spy (raw), flamegraph.pl's
 * scripts, inferno, async-profiler, annot and many others.
 *
 * The format has neither times nor threads. Lines become consecutive samples of CPU time of one
 * thread. The format does not define the unit of a weight: it is IMPORT_SAMPLE_NS per 1 unless the
 * user gives a unit. */
#include "import_formats.h"
#include "input.h"
#include "json_reader.h"
#include "sink.h"

#include "number.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SNIFF_LINES = 20, FRAMES_MAX = 1 << 14, SAMPLES_MAX = 4096, ONE_BY_ONE_NS = 1000000 };

struct folded {
    struct import_sink *sink;
    uint32_t thread;
    int64_t unit_ns, now_ns;
    struct map64 frames; /* string to ordinal */
    uint64_t lines, wrong;
};

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool take_ending(const char *text, size_t *length, const char *ending)
{
    size_t size = strlen(ending);
    if (*length <= size || memcmp(text + *length - size, ending, size) != 0)
        return false;
    *length -= size;
    return true;
}

/* Parses "leaf (app.py:12)". Returns false for any other form. */
static bool take_python(struct import_sink *sink, const char *text, size_t length,
                        struct import_frame *frame)
{
    const char *end = text + length;
    const char *open = length > 4 && end[-1] == ')' ? memmem(text, length, " (", 2) : NULL;
    const char *colon = open ? memrchr(open, ':', (size_t)(end - open)) : NULL;
    int64_t line;
    const struct json_token digits = {JSON_NUMBER, false, colon ? colon + 1 : "",
                                      colon ? (size_t)(end - colon - 2) : 0};
    if (!colon || open == text || colon <= open + 2 || !json_int(&digits, &line) || line < 0 ||
        line > INT32_MAX)
        return false;
    *frame = (struct import_frame){
        .kind = FRAME_PYTHON,
        .function = import_string(sink, text, (size_t)(open - text)),
        .file = import_string(sink, open + 2, (size_t)(colon - open - 2)),
        .line = (int32_t)line,
    };
    return true;
}

/* Makes a frame, by its ending: "vfs_read_[k]", "Foo::bar_[j]", or the inlined "_[i]". */
static uint32_t make_frame(struct import_sink *sink, const char *text, size_t length)
{
    struct import_frame frame = {.kind = FRAME_NATIVE};
    if (!take_python(sink, text, length, &frame)) {
        if (take_ending(text, &length, "_[k]"))
            frame.kind = FRAME_KERNEL;
        else if (take_ending(text, &length, "_[j]"))
            frame.kind = FRAME_JIT;
        else
            take_ending(text, &length, "_[i]");
        frame.function = import_string(sink, text, length);
    }
    return import_frame(sink, &frame);
}

/* Returns the frame's ordinal, or 0 and sets the sink's error if out of memory. */
static uint32_t find_frame(struct folded *folded, const char *text, size_t length)
{
    uint32_t name = import_string(folded->sink, text, length);
    const uint64_t *found = map64_find(&folded->frames, 1 + (uint64_t)name);
    if (found)
        return (uint32_t)*found;
    uint32_t frame = make_frame(folded->sink, text, length);
    if (map64_put(&folded->frames, 1 + (uint64_t)name, frame) != 0)
        folded->sink->error = -ENOMEM;
    return frame;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Returns the position of the weight, or NULL. The stack before it may be empty: py-spy writes
 * threads that have no frame yet in this way. */
static const char *find_weight(const char *line, size_t length, int64_t *ret_weight)
{
    const char *blank = memrchr(line, ' ', length);
    if (!blank)
        return NULL;
    const struct json_token token = {JSON_NUMBER, false, blank + 1,
                                     (size_t)(line + length - blank - 1)};
    double value;
    if (json_int(&token, ret_weight))
        return *ret_weight >= 0 ? blank : NULL;
    bool number = token.length && strspn(token.text, "0123456789.") >= token.length;
    if (!number || !json_double(&token, &value) || !(value >= 0 && value < 9e15))
        return NULL;
    *ret_weight = (int64_t)(value + 0.5);
    return blank;
}

/* With a unit of 1 ms or more, adds a sample per unit of weight, at most SAMPLES_MAX; with a
 * smaller unit, one sample per line. */
static int add_samples(struct folded *folded, uint32_t stack, int64_t weight)
{
    int64_t count = folded->unit_ns < ONE_BY_ONE_NS ? 1
                    : weight < SAMPLES_MAX          ? weight
                                                    : SAMPLES_MAX;
    int64_t rest = weight;
    int error = folded->sink->error;
    for (int64_t i = count; i > 0 && !error; i--) {
        int64_t part = rest / i, value = part * folded->unit_ns;
        const struct sample sample = {.set = SAMPLE_SET_CPU,
                                      .thread = folded->thread,
                                      .time_ns = folded->now_ns,
                                      .stack = stack,
                                      .values = &value,
                                      .value_count = 1};
        rest -= part;
        folded->now_ns += value;
        error = import_sample(folded->sink, &sample);
    }
    return error;
}

static bool is_comment(const char *line, size_t length)
{
    return line[0] == '#' || (length > 1 && line[0] == '/' && line[1] == '/');
}

static int take_line(struct folded *folded, const char *line, size_t length)
{
    int64_t weight, value;
    uint32_t stack = 0, depth = 0;
    const char *end = find_weight(line, length, &weight);
    if (!end || __builtin_mul_overflow(weight, folded->unit_ns, &value) ||
        folded->now_ns > IMPORT_TIME_MAX - value) {
        folded->wrong++;
        return 0;
    }
    for (const char *at = line; at < end && depth < FRAMES_MAX; depth++) {
        const char *next = memchr(at, ';', (size_t)(end - at));
        size_t size = (size_t)((next ? next : end) - at);
        if (size)
            stack = import_stack(folded->sink, stack, find_frame(folded, at, size));
        at += size + 1;
    }
    folded->lines++;
    return weight ? add_samples(folded, stack, weight) : folded->sink->error;
}

static int begin(struct folded *folded)
{
    const struct import_options *options = folded->sink->options;
    const struct import_id one = {.number = 1};
    char text[160], unit[NUMBER_TEXT_SIZE];
    uint32_t process = import_process(folded->sink, &one);
    folded->thread = import_thread(folded->sink, process, &one);
    if (folded->sink->error)
        return folded->sink->error;
    trace_process(folded->sink->trace, process)->name =
        import_text(folded->sink, text_base_name(options->source));
    folded->unit_ns = import_unit_ns(folded->sink, IMPORT_SAMPLE_NS);
    folded->now_ns = folded->unit_ns;
    snprintf(text, sizeof(text), "the file has no unit: 1 is taken as %s of CPU time%s",
             number_time_short((uint64_t)folded->unit_ns, unit),
             options->unit_ns ? "" : " (--unit says otherwise)");
    import_note(folded->sink, text);
    return 0;
}

static int finish(struct folded *folded)
{
    struct import_sink *sink = folded->sink;
    if (!folded->lines) {
        import_problem(sink, "no line is a stack and a number", 0);
        return -EBADMSG;
    }
    sink->left[LEFT_MALFORMED] += folded->wrong;
    return sink->error;
}

static int read_folded(struct import_input *input, struct import_sink *sink)
{
    struct folded folded = {.sink = sink};
    const char *line;
    size_t length;
    int more, error = begin(&folded);
    while (!error && (more = import_input_line(input, &line, &length)) != 0) {
        if (more < 0)
            error = more;
        else if (length && !is_comment(line, length))
            error = take_line(&folded, line, length);
    }
    if (error == -EMSGSIZE) {
        import_problem(sink, "a line is longer than 64 MiB", import_input_offset(input));
        error = -EBADMSG;
    }
    if (!error)
        error = finish(&folded);
    map64_free(&folded.frames);
    return error;
}

/* True if all complete lines of the start end in a number and one has two frames. */
static bool sniff(const char *bytes, size_t size)
{
    const char *at = bytes, *end = bytes + size;
    bool several = false;
    int lines = 0;
    for (; at < end && lines < SNIFF_LINES; lines++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((next ? next : end) - at);
        int64_t weight;
        bool cut = !next && size >= 1024;
        size_t text = length - (length && at[length - 1] == '\r');
        if (text && !is_comment(at, text) && !cut && !find_weight(at, text, &weight))
            return false;
        several = several || memchr(at, ';', length);
        at += length + 1;
    }
    return several && memchr(bytes, 0, size) == NULL;
}

const struct importer import_folded = {
    .format = {.name = "folded",
               .summary = "collapsed stacks",
               .from = "py-spy raw, stackcollapse-*.pl, inferno, annot"},
    .sniff = sniff,
    .read = read_folded,
};
