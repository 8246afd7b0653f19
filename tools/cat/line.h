/* SPDX-License-Identifier: MIT */
/* The lines of `annot cat` and `annot tail`: what one is, how they
 * are printed, and the options for that. Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_H
#define ANNOT_LINE_H

#include "export_facts.h"
#include "options.h"
#include "out_stream.h"
#include "pass.h"
#include "range_stats.h"
#include "vec.h"

enum line_kind {
    LINE_BEGIN = 0, /* of a range */
    LINE_END,       /* of one whose begin is known, `span`, or not */
    LINE_RANGE,     /* all of one, told when it ends */
    LINE_MARK,
    LINE_LOG, /* a mark with a severity */
    LINE_COUNTER,
    LINE_FLOW_BEGIN,
    LINE_FLOW_STEP,
    LINE_FLOW_END,
    LINE_LOST,
    LINE_EDGE,
    LINE_PROCESS_START,
    LINE_PROCESS_END,
    LINE_THREAD_START,
    LINE_THREAD_END,
    LINE_LAST_WORD,
    LINE_SAMPLE,
    LINE_OFF_CPU,
    LINE_KIND_COUNT,
};

/* "begin", "end", ...: the same words in all formats. */
const char *line_kind_name(enum line_kind kind);

/* "pushed", "overlapping", "track": as in reports. */
const char *line_range_name(enum range_kind kind);
enum range_kind line_range_kind(enum lane_kind lane);

#define LINE_NONE UINT32_MAX

struct line {
    enum line_kind kind;
    enum lane_kind lane;         /* on which it lies; 0: none, as of facts and samples */
    int64_t time_ns;             /* CLOCK_MONOTONIC; of LINE_RANGE its begin */
    uint32_t process, thread;    /* ordinals, LINE_NONE: none */
    const struct event *event;   /* name, attributes; NULL: none. Of a range its begin */
    struct args args;            /* of it; of LINE_END those of the end */
    const struct item *span;     /* END, RANGE; NULL: the begin is not known */
    uint64_t number;             /* of pushed ranges: annot_current(); 0: not known */
    uint32_t depth;              /* ranges around it, on its thread or track */
    const struct sample *sample; /* SAMPLE, OFF_CPU */
    bool late;                   /* it came behind others that are later */
};

/* Who a line is of, as JSON: made once, and again when the trace knows more of them. */
struct line_owner {
    char *text;  /* owned */
    size_t size; /* 0: not made yet */
    uint32_t process_revision, thread_revision;
};

/* What a format needs. */
struct line_writer {
    const struct trace *trace;
    struct out_stream *out;
    struct export_keys keys;
    bool python;                   /* stacks: no native frames */
    const char *prefixes;          /* of file names in stacks: call_label.h */
    VEC(struct line_owner) owners; /* by thread */
    struct out_stream *part;       /* in memory: what is being made for one */
};

/* 0 or -ENOMEM; fini in any case. */
int line_writer_init(struct line_writer *writer, const struct trace *trace, struct out_stream *out);
void line_writer_fini(struct line_writer *writer);

/* Writes a line with its newline; errors stick in the stream. */
typedef void line_format(struct line_writer *writer, const struct line *line);

line_format line_text, line_json;

/* Is a mark of these key-values LINE_LOG? */
bool line_is_log(const struct trace *trace, const struct event *event);

/* Of LINE_LOG: "debug", ... */
const char *line_severity_name(const struct trace *trace, const struct line *line);

/* Nanoseconds of LINE_END, LINE_RANGE, LINE_LOST, LINE_OFF_CPU; else 0. */
int64_t line_duration_ns(const struct line *line);

/* The path of a finished range: "load/parse", as reports call it. At most size - 1 bytes. */
void line_path(const struct trace *trace, const struct item *span, char *buffer, size_t size);

/* The stack of a sample, root first, as many frames as fit; how many. */
enum { LINE_FRAMES_MAX = 1024 };

uint32_t line_frames(const struct line_writer *writer, const struct sample *sample,
                     uint32_t frames[LINE_FRAMES_MAX]);

/* ---- From a recording ------------------------------------------------------------------------ */

struct line_reader;

/* ---- Options --------------------------------------------------------------------------------- */

struct line_values {
    const char *name;
    bool json, complete, samples, python;
};

/* Lines of an option table; `at` is the offset of the struct line_values. */
#define LINE_OPTIONS(at)                                                                           \
    {"json",      'j',                                                                             \
     OPTION_FLAG, (at) + offsetof(struct line_values, json),                                       \
     NULL,        "one JSON object a line",                                                        \
     NULL},                                                                                        \
        {"complete",  'c',                                                                         \
         OPTION_FLAG, (at) + offsetof(struct line_values, complete),                               \
         NULL,        "print a range as one line with its duration, at its end",                   \
         NULL},                                                                                    \
        {"samples",   0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct line_values, samples),                                \
         NULL,        "also print samples and waits, with stacks",                                 \
         NULL},                                                                                    \
        {"python",    0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct line_values, python),                                 \
         NULL,        "only Python functions in stacks",                                           \
         NULL},                                                                                    \
    {                                                                                              \
        "name", 0, OPTION_TEXT, (at) + offsetof(struct line_values, name), "NAME",                 \
            "only lines with this name; *, ? and [] as in a shell", NULL                           \
    }

struct line_printer {
    const struct line_values *values;
    struct line_writer writer;
    line_format *format;
};

/* 0 or -ENOMEM; fini in any case. What it is given outlives it. */
int line_printer_init(struct line_printer *printer, const struct line_values *values,
                      const struct trace *trace, struct out_stream *out);
void line_printer_fini(struct line_printer *printer);

/* Is it to be printed? With a name only what has one is. */
bool line_printer_takes(const struct line_printer *printer, const struct line *line);

/* A message for what standard output answered. Returns CMD_FAILED. */
int line_printer_fail_output(int error);

#endif
