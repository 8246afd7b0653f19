/* SPDX-License-Identifier: MIT */
/* Exports the format of line_profiler: a pickle (protocol 2) of its class LineStats, with
 * `timings`, a dict {(file, first line, function): [(line, hits, time)]}, and `unit`, the seconds
 * per unit of time, here a nanosecond. `python -m line_profiler FILE` prints it. Thread-safety:
 * none. */
#include "call_label.h"
#include "code_owner.h"
#include "export.h"
#include "line_counts.h"
#include "stacks.h"

#include <errno.h>
#include <string.h>

struct state {
    const struct export_job *job;
    struct line_counts *counts;
    struct sink sink;
};

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    s->job = job;
    s->counts = line_counts_create(job->source->trace);
    if (!s->counts)
        return -ENOMEM;
    s->sink = line_counts_sink(s->counts);
    return 0;
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    return s->sink.take(s->sink.context, item);
}

/* ---- pickle ---------------------------------------------------------------------------------- */

static void put(struct out_stream *out, const char *codes)
{
    out_write(out, codes, strlen(codes));
}

static void put_bytes(struct out_stream *out, uint64_t number, unsigned count)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < count; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    out_write(out, bytes, count);
}

/* BININT, or LONG1 of nine bytes. Numbers are never negative. */
static void put_integer(struct out_stream *out, uint64_t number)
{
    if (number <= INT32_MAX) {
        put(out, "J");
        put_bytes(out, number, 4);
        return;
    }
    out_write(out, "\x8a\x09", 2);
    put_bytes(out, number, 8);
    out_write(out, "", 1);
}

static void put_text(struct out_stream *out, const char *text)
{
    size_t size = strlen(text);
    put(out, "X");
    put_bytes(out, size, 4);
    out_write(out, text, size);
}

/* BINFLOAT: the bits, most significant byte first. */
static void put_double(struct out_stream *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put(out, "G");
    put_bytes(out, __builtin_bswap64(bits), 8);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void put_function(struct out_stream *out, const struct trace *trace,
                         const struct line_count_function *function, const struct line_count *lines)
{
    char name[CALL_LABEL_SIZE];
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, function->label);
    code_name(trace, function->label, name, sizeof(name));
    put_text(out, trace_string(trace, stacks_get_source(stacks, label->source)->path)->bytes);
    put_integer(out, label->first_line > 0 ? (uint64_t)label->first_line : 0);
    put_text(out, name);
    put(out, "\x87](");
    for (uint32_t i = 0; i < function->count; i++) {
        const struct line_count *line = &lines[function->begin + i];
        put_integer(out, line->line > 0 ? (uint64_t)line->line : 0);
        put_integer(out, line->hits);
        put_integer(out, line->time_ns);
        put(out, "\x87");
    }
    put(out, "e");
}

static int end(void *state)
{
    struct state *s = state;
    const struct line_count_function *functions;
    const struct line_count *lines;
    struct out_stream *out = s->job->out;
    int error = line_counts_finish(s->counts);
    uint32_t count = line_counts_functions(s->counts, &functions);
    if (error || count == 0)
        return error ? error : -ENODATA;
    line_counts_lines(s->counts, &lines);
    put(out, "\x80\x02"
             "cline_profiler.line_profiler\nLineStats\n)\x81}(");
    put_text(out, "timings");
    put(out, "}(");
    for (uint32_t i = 0; i < count; i++)
        put_function(out, s->job->source->trace, &functions[i], lines);
    put(out, "u");
    put_text(out, "unit");
    put_double(out, 1e-9);
    put(out, "ub.");
    return 0;
}

static void destroy(void *state)
{
    struct state *s = state;
    line_counts_destroy(s->counts);
}

extern const struct exporter export_lprof;
const struct exporter export_lprof = {
    .name = "lprof",
    .extension = ".lprof",
    .summary = "lines that were counted (record --trace-lines), as line_profiler writes them",
    .carries = "counts and times of lines",
    .viewer = "with python3 -m line_profiler",
    .binary = true,
    .counts_lines = true,
    .wants = WANT_SAMPLES,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
