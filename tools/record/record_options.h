/* SPDX-License-Identifier: MIT */
/* Options of commands that record: policy, sampling, what Python observes, and the filter from the
 * command line to the rules that a session has (docs/wire-format.md, "Filters"). Main thread only.
 */
#ifndef ANNOT_RECORD_OPTIONS_H
#define ANNOT_RECORD_OPTIONS_H

#include "child.h"
#include "collector.h"
#include "options.h"
#include "trace.h"

#include <limits.h>

/* ---- Policy ---------------------------------------------------------------------------------- */

/* What the word on the command line means; NULL is the default. */
enum collector_policy policy_of(const char *word);

/* A row of an option table; `offset` is that of a const char *. */
#define POLICY_OPTION(offset)                                                                      \
    {                                                                                              \
        "policy", 0, OPTION_CHOICE, (offset), "drop|overwrite|wait",                               \
            "when a program's buffer is full: drop new records, overwrite the oldest (a flight "   \
            "recorder: annot snapshot), or let the program wait",                                  \
            "drop"                                                                                 \
    }

/* Of a uint64_t. volume_check: 0, or `status` with a message. */
#define VOLUME_OPTION(offset)                                                                      \
    {                                                                                              \
        "volume-size", 0, OPTION_SIZE, (offset), "SIZE",                                           \
            "start another file (FILE.1.annot, FILE.2.annot, ...) when one has about SIZE", NULL   \
    }

int volume_check(uint64_t bytes, int status);

/* ---- Sampling -------------------------------------------------------------------------------- */

struct sampling_values {
    uint64_t frequency_hz;
    bool none;                /* --no-sample */
    bool off_cpu, no_off_cpu; /* all waits, no waits; neither: from threshold_ns on */
    int64_t threshold_ns;
    uint64_t rate;
    const char *rung;
    bool no_source;
};

/* Lines of an option table; `at` is the offset of the struct sampling_values. */
#define SAMPLING_OPTIONS(at)                                                                       \
    {"rate",       'r',                                                                            \
     OPTION_COUNT, (at) + offsetof(struct sampling_values, frequency_hz),                          \
     "HZ",         "samples per second of each running thread",                                    \
     "99"},                                                                                        \
        {"off-cpu",   0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct sampling_values, off_cpu),                            \
         NULL,        "record every wait, however short",                                          \
         NULL},                                                                                    \
        {"no-off-cpu", 0,                                                                          \
         OPTION_FLAG,  (at) + offsetof(struct sampling_values, no_off_cpu),                        \
         NULL,         "record no waits",                                                          \
         NULL},                                                                                    \
        {"off-cpu-threshold",                                                                      \
         0,                                                                                        \
         OPTION_TIME,                                                                              \
         (at) + offsetof(struct sampling_values, threshold_ns),                                    \
         "TIME",                                                                                   \
         "record only waits of at least TIME",                                                     \
         "1ms"},                                                                                   \
        {"off-cpu-rate",                                                                           \
         0,                                                                                        \
         OPTION_COUNT,                                                                             \
         (at) + offsetof(struct sampling_values, rate),                                            \
         "N",                                                                                      \
         "record at most N waits per second",                                                      \
         "500000"},                                                                                \
        {"no-source", 0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct sampling_values, no_source),                          \
         NULL,        "keep no text of source files in the recording",                             \
         NULL},                                                                                    \
        {"sampling",                                                                               \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         (at) + offsetof(struct sampling_values, rung),                                            \
         "bpf|remote|none",                                                                        \
         "the best way of sampling to try: with eBPF, from outside (remote), or none",             \
         "bpf"},                                                                                   \
    {                                                                                              \
        "rung", 0, OPTION_CHOICE, (at) + offsetof(struct sampling_values, rung),                   \
            "bpf|remote|none", NULL, NULL                                                          \
    }

/* 0, or a message was printed: returns `status`. */
int sampling_check(const struct sampling_values *values, int status);

/* Into what the collector is asked for; `options` has the rest already. */
void sampling_apply(const struct sampling_values *values, struct collector_options *options);

enum sampling_rung sampling_rung_max(const char *word);

/* ---- Python ---------------------------------------------------------------------------------- */

struct python_values {
    const char *parts; /* NULL: $ANNOT_PYTHON, else the default */
    bool no_preload;
};

/* Lines of an option table; `at` is the offset of the struct python_values. */
#define PYTHON_OPTIONS(at)                                                                         \
    {"python",                                                                                     \
     0,                                                                                            \
     OPTION_TEXT,                                                                                  \
     (at) + offsetof(struct python_values, parts),                                                 \
     "LIST",                                                                                       \
     "observe these in Python: names,pools,asyncio,gc,imports,subprocess; -NAME,... excludes",     \
     NULL},                                                                                        \
    {                                                                                              \
        "no-preload", 0, OPTION_FLAG, (at) + offsetof(struct python_values, no_preload), NULL,     \
            "load nothing into programs; observe only Pythons with pyannot installed", NULL        \
    }

/* 0, or a message was printed: returns `status`. */
int python_check(const struct python_values *values, int status);

/* ---- Calls of Python ------------------------------------------------------------------------- */

struct tracing_values {
    const char *functions; /* NULL: not traced; a word, or the words, of which the first is meant */
    const char *select;
    const char *lines; /* NULL: none */
    const char *library;
    uint64_t max_depth;
    int64_t least_ns; /* of calls; 0: all */
    bool c_calls;
    bool arguments, results, exceptions, ranges;
    bool captured; /* in a recording of certain ranges alone: --capture-range */
};

#define TRACING_MODES "adaptive|exact|aggregate"

/* Lines of an option table; `at` is the offset of the struct tracing_values, `modes` what
 * --trace-functions may be. */
#define TRACING_OPTIONS(at, modes)                                                                 \
    {"trace-functions",                                                                            \
     0,                                                                                            \
     OPTION_MODE,                                                                                  \
     (at) + offsetof(struct tracing_values, functions),                                            \
     modes,                                                                                        \
     "record every call of Python: all but tiny functions, all, or their counts and times alone",  \
     NULL},                                                                                        \
        {"trace-select",                                                                           \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         (at) + offsetof(struct tracing_values, select),                                           \
         "LIST",                                                                                   \
         "trace these files, modules and functions: src/*,pkg.mod,pkg.mod:Class.method; "          \
         "-NAME,... excludes",                                                                     \
         NULL},                                                                                    \
        {"trace-stdlib",                                                                           \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         (at) + offsetof(struct tracing_values, library),                                          \
         "all|box|off",                                                                            \
         "calls of the standard library: all, only those from outside of it, or none",             \
         "all"},                                                                                   \
        {"trace-lines",                                                                            \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         (at) + offsetof(struct tracing_values, lines),                                            \
         "LIST",                                                                                   \
         "count each line of these functions, modules and files, named as for --trace-select",     \
         NULL},                                                                                    \
        {"trace-depth", 0,                                                                         \
         OPTION_COUNT,  (at) + offsetof(struct tracing_values, max_depth),                         \
         "N",           "leave out calls inside of more than N others",                            \
         NULL},                                                                                    \
        {"min-duration",                                                                           \
         0,                                                                                        \
         OPTION_TIME,                                                                              \
         (at) + offsetof(struct tracing_values, least_ns),                                         \
         "TIME",                                                                                   \
         "with --trace-functions=exact, leave out calls shorter than that: saves space, hardly "   \
         "time",                                                                                   \
         NULL},                                                                                    \
        {"trace-ranges",                                                                           \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct tracing_values, ranges),                                           \
         NULL,                                                                                     \
         "with aggregate: count calls by the range that they are made in, too",                    \
         NULL},                                                                                    \
        {"trace-args", 0,                                                                          \
         OPTION_FLAG,  (at) + offsetof(struct tracing_values, arguments),                          \
         NULL,         "with each call, what its arguments were: 0.1 to 0.2 us each",              \
         NULL},                                                                                    \
        {"trace-return",                                                                           \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct tracing_values, results),                                          \
         NULL,                                                                                     \
         "with each call, what it returned",                                                       \
         NULL},                                                                                    \
        {"trace-exceptions",                                                                       \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct tracing_values, exceptions),                                       \
         NULL,                                                                                     \
         "a mark where a call raises an exception, and in each call which one left it",            \
         NULL},                                                                                    \
    {                                                                                              \
        "c-calls", 0, OPTION_FLAG, (at) + offsetof(struct tracing_values, c_calls), NULL,          \
            "with --trace-functions, also calls of functions that are not written in Python", NULL \
    }

/* 0, or a message was printed: returns `status`. */
int tracing_check(const struct tracing_values *values, const struct python_values *python,
                  int status);

/* The same for a recording of a range (NULL: of everything), of which sums know nothing. */
int tracing_check_capture(const struct tracing_values *values, const char *range, int status);

enum { RANGE_PATTERNS_SIZE = 2048 };

struct tracing_environment {
    struct child_variable variable;
    char text[8192];
};

/* What the command's environment has for it: 0 or 1 variable. */
/* `ranges`: patterns of functions of Python that are to be traced at least; may be empty. */
size_t tracing_environment(const struct tracing_values *values, const char *ranges,
                           struct tracing_environment *environment);

/* ---- The environment for Python -------------------------------------------------------------- */

enum { PYTHON_VARIABLES_MAX = 3 };

struct python_environment {
    struct child_variable variables[PYTHON_VARIABLES_MAX];
    char folders[4 * PATH_MAX], preload[4 * PATH_MAX];
};

/* Fills in what the command gets; returns how many variables. They point into *environment. */
size_t python_environment(const struct python_values *values,
                          struct python_environment *environment);

/* ---- GPUs ------------------------------------------------------------------------------------ */

struct gpu_values {
    bool on, nodes;
    const char *window, *stacks;
    double budget; /* percent; 0: not given, no limit */
};

/* Lines of an option table; `at` is the offset of the struct gpu_values. */
#define GPU_OPTIONS(at)                                                                            \
    {"gpu",       0,                                                                               \
     OPTION_FLAG, (at) + offsetof(struct gpu_values, on),                                          \
     NULL,        "record kernels, copies and graphs of NVIDIA GPUs",                              \
     NULL},                                                                                        \
        {"gpu-nodes", 0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct gpu_values, nodes),                                   \
         NULL,        "record each kernel of a CUDA graph instead of whole graphs",                \
         NULL},                                                                                    \
        {"gpu-window",                                                                             \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         (at) + offsetof(struct gpu_values, window),                                               \
         "WINDOW",                                                                                 \
         "when to record GPUs: all, profiler, set, signal:USR2, range:NAME, step:NAME:every=N, "   \
         "schedule:NAME:wait=N,warmup=N,active=N, slow:NAME:over=MS",                              \
         "all"},                                                                                   \
        {"gpu-stacks",                                                                             \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         (at) + offsetof(struct gpu_values, stacks),                                               \
         "sampled|exact|off",                                                                      \
         "take the stack of one launch of many, of all, or of none",                               \
         "sampled"},                                                                               \
    {                                                                                              \
        "gpu-budget", 0, OPTION_NUMBER, (at) + offsetof(struct gpu_values, budget), "PERCENT",     \
            "record less of GPUs if that costs more of the time; a job that runs already: 1", NULL \
    }

/* 0, or a message was printed: returns `status`. */
int gpu_check(const struct gpu_values *values, int status);

/* The budget of a job that somebody may record later, in percent; and how often a second the
 * machine's GPUs are asked for their counters. */
enum { GPU_JOB_BUDGET = 1, GPU_COUNTERS_HZ = 10 };

enum { GPU_VARIABLES_MAX = 5 };

struct gpu_environment {
    struct child_variable variables[GPU_VARIABLES_MAX];
    char library[PATH_MAX], budget[32], words[64];
};

/* Stacks of launches: into what the collector is asked for. `library`: kept by it. */
void gpu_apply(const struct gpu_values *values, char library[PATH_MAX],
               struct collector_options *options);

/* As python_environment. */
size_t gpu_environment(const struct gpu_values *values, struct gpu_environment *environment);

/* What of GPUs is recorded beside kernels, copies, sets and graphs (gpu_kinds_options.c). */
struct gpu_kinds_values {
    const char *api;
    bool events, unified, pc;
    uint64_t pc_period;
};

/* Lines of an option table; `at` is the offset of the struct gpu_kinds_values. */
#define GPU_KINDS_OPTIONS(at)                                                                      \
    {"gpu-api",                                                                                    \
     0,                                                                                            \
     OPTION_CHOICE,                                                                                \
     (at) + offsetof(struct gpu_kinds_values, api),                                                \
     "runtime|driver|all|off",                                                                     \
     "with --gpu: which of the program's calls of CUDA are recorded",                              \
     "runtime"},                                                                                   \
        {"gpu-events", 0,                                                                          \
         OPTION_FLAG,  (at) + offsetof(struct gpu_kinds_values, events),                           \
         NULL,         "with --gpu: also events that are recorded into streams",                   \
         NULL},                                                                                    \
        {"gpu-unified-memory",                                                                     \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct gpu_kinds_values, unified),                                        \
         NULL,                                                                                     \
         "with --gpu: also unified memory that moves, and its page faults",                        \
         NULL},                                                                                    \
        {"gpu-pc",    0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct gpu_kinds_values, pc),                                \
         NULL,        "with --gpu: also where in kernels warps stall, and why",                    \
         NULL},                                                                                    \
    {                                                                                              \
        "gpu-pc-period", 0, OPTION_COUNT, (at) + offsetof(struct gpu_kinds_values, pc_period),     \
            "N", "one such sample in 2^N cycles of a multiprocessor, N from 5 to 31", NULL         \
    }

/* 0, or a message was printed: returns `status`. */
int gpu_kinds_check(const struct gpu_kinds_values *values, bool on, int status);

struct gpu_kinds_environment {
    char words[64];
};

/* Of a command that has GPUs recorded. It points into *environment. */
struct child_variable gpu_kinds_variable(const struct gpu_kinds_values *values,
                                         struct gpu_kinds_environment *environment);

/* ---- Functions that become ranges ------------------------------------------------------------ */

struct range_values {
    struct option_list specs;
    double budget;
};

/* Lines of an option table; `at` is the offset of the struct range_values; of the first alone, of
 * its list. */
#define RANGE_OPTION(at)                                                                           \
    {                                                                                              \
        "range", 0, OPTION_LIST, (at), "FILE:FUNCTION",                                            \
            "make calls of a function ranges, in a program as it is; patterns find several; or "   \
            "FILE:PROVIDER:BEGIN..END: what lies between two static probes; "                      \
            "FILE:PROVIDER:PROBE: marks",                                                          \
            NULL                                                                                   \
    }

#define RANGE_OPTIONS(at)                                                                          \
    RANGE_OPTION((at) + offsetof(struct range_values, specs)),                                     \
    {                                                                                              \
        "range-budget", 0, OPTION_NUMBER, (at) + offsetof(struct range_values, budget), "PERCENT", \
            "switch off ranges that --range makes when they take more of a processor", "5"         \
    }

/* 0, or a message was printed: returns `status`. */
int range_check(const struct range_values *values, const struct sampling_values *sampling,
                int status);
void range_apply(const struct range_values *values, struct collector_options *options);

/* Probes the native functions, and says what they will cost. `command`: what is to be run; NULL:
 * it runs already. 0, or a message was printed: CMD_FAILED. */
int range_begin(const struct range_values *values, struct collector *collector,
                const char *command);

/* The same in a session that is recorded by others, which waits for that. */
int range_ask(const struct option_list *specs, int32_t pid, uint64_t session);

/* Those of Python ("pkg.mod:Class.method"), as patterns for tracing_environment. */
struct text;
void range_of_python(const struct option_list *specs, const char *command, struct text *patterns);

/* ---- Filters --------------------------------------------------------------------------------- */

enum { FILTER_TEXT_SIZE = 241 };

/* Lines of an option table; `at` is the offset of the struct option_list. */
#define FILTER_OPTIONS(at)                                                                         \
    {"enable",                                                                                     \
     0,                                                                                            \
     OPTION_LIST,                                                                                  \
     (at),                                                                                         \
     "NAME[:LEVEL],...",                                                                           \
     "record only events of these domains or domain/categories",                                   \
     NULL},                                                                                        \
        {"disable", 0, OPTION_LIST, (at), "NAME,...", "exclude events of these", NULL},            \
    {                                                                                              \
        "functions", 0, OPTION_LIST, (at), "NAME,-NAME,...",                                       \
            "record calls of these instrumented functions, not of -NAME", NULL                     \
    }

enum { CAPTURE_TEXT_SIZE = 252 };

/* Of a const char *. */
#define CAPTURE_OPTION(offset)                                                                     \
    {                                                                                              \
        "capture-range", 0, OPTION_TEXT, (offset), "NAME[@DOMAIN]",                                \
            "record events of a process only while a range of this name is open in it", NULL       \
    }

/* Into what a session has: "NAME" or "NAME\x1fDOMAIN". `word` NULL: "". 0, or a message was
 * printed: returns `status`. */
int capture_parse(const char *word, int status, char text[CAPTURE_TEXT_SIZE]);

/* Adds what was given, in its order, to the rules in `text`; a rule about the same pattern replaces
 * the one that was there. 0, or a message was printed: returns `status`. */
int filter_options_add(const struct option_list *list, int status, char text[FILTER_TEXT_SIZE]);

/* Adds one rule, "+io:2" or "-io/disk". Events are judged as if it stood behind the others. 0 or
 * -E2BIG, then nothing has changed. */
int filter_text_add(char text[FILTER_TEXT_SIZE], const char *rule, size_t length);

#endif
