/* SPDX-License-Identifier: MIT */
/* The lines of `annot cat` and `annot tail`: their content, formats and options. Thread-safety: one
 * thread per object. */
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
    LINE_END,       /* of a range whose begin is `span`; NULL: begin unknown */
    LINE_RANGE,     /* a whole range, put at its end */
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

/* "begin", "end", ...: the same names in all formats. */
const char *line_kind_name(enum line_kind kind);

/* "pushed", "overlapping", "track": the names of reports. */
const char *line_range_name(enum range_kind kind);
enum range_kind line_range_kind(enum lane_kind lane);

#define LINE_NONE UINT32_MAX

struct line {
    enum line_kind kind;
    enum lane_kind lane;         /* 0: without a lane, as processes, threads and samples */
    int64_t time_ns;             /* CLOCK_MONOTONIC; LINE_RANGE: its begin */
    uint32_t process, thread;    /* ordinals; LINE_NONE: unset */
    const struct event *event;   /* name, attributes; NULL: unset. Of a range its begin */
    struct args args;            /* of `event`; of LINE_END those of the end */
    const struct item *span;     /* END, RANGE; NULL: begin unknown */
    uint64_t number;             /* of pushed ranges: annot_current(); 0: unknown */
    uint32_t depth;              /* enclosing ranges, on its thread or track */
    const struct sample *sample; /* SAMPLE, OFF_CPU */
    bool late;                   /* a line with a later time precedes it */
};

/* Process and thread of a line as JSON; built once, and again when their definitions change. */
struct line_owner {
    char *text;  /* owned */
    size_t size; /* 0: not built */
    uint32_t process_revision, thread_revision;
};

/* State of a format. */
struct line_writer {
    const struct trace *trace;
    struct out_stream *out;
    struct export_keys keys;
    bool python;                   /* stacks: without native frames */
    const char *prefixes;          /* of file names in stacks: call_label.h */
    VEC(struct line_owner) owners; /* by thread */
    struct out_stream *part;       /* buffer in memory for the text of an owner */
};

/* 0 or -ENOMEM; fini in any case. */
int line_writer_init(struct line_writer *writer, const struct trace *trace, struct out_stream *out);
void line_writer_fini(struct line_writer *writer);

/* Writes a line with its newline; errors stick in the stream. */
typedef void line_format(struct line_writer *writer, const struct line *line);

line_format line_text, line_json;

/* Returns true if the key-values of a mark make it LINE_LOG. */
bool line_is_log(const struct trace *trace, const struct event *event);

/* Severity of LINE_LOG: "debug", ... */
const char *line_severity_name(const struct trace *trace, const struct line *line);

/* Nanoseconds of LINE_END, LINE_RANGE, LINE_LOST, LINE_OFF_CPU; else 0. */
int64_t line_duration_ns(const struct line *line);

/* The path of a finished range as in reports: "load/parse". At most size - 1 bytes. */
void line_path(const struct trace *trace, const struct item *span, char *buffer, size_t size);

/* The stack of a sample, root first, up to LINE_FRAMES_MAX frames; returns their number. */
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

/* Entries of an option table; `at` is the offset of the struct line_values. */
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
        {"python-only", 0,                                                                         \
         OPTION_FLAG,   (at) + offsetof(struct line_values, python),                               \
         NULL,          "only Python functions in stacks",                                         \
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

/* 0 or -ENOMEM; fini in any case. The arguments must outlive the printer. */
int line_printer_init(struct line_printer *printer, const struct line_values *values,
                      const struct trace *trace, struct out_stream *out);
void line_printer_fini(struct line_printer *printer);

/* Returns true if the line passes the filter. With --name, lines without a name are dropped. */
bool line_printer_takes(const struct line_printer *printer, const struct line *line);

/* Prints a message for an error of standard output. Returns CMD_FAILED. */
int line_printer_fail_output(int error);

#endif
