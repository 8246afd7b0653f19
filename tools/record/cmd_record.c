/* SPDX-License-Identifier: MIT */
/* `annot record`: runs a command under a collector.
 *
 * The command owns the terminal: annot prints nothing between its start and its end. One thread
 * waits for the collector's descriptor, for signals, and for the collector's timeout. Exit status:
 * the command's; 125 annot failed, 126 not executable, 127 not found. */

#include "child.h"
#include "clock_now.h"
#include "cmd.h"
#include "collector.h"
#include "collector_recover.h"
#include "export.h"
#include "gpu_options.h"
#include "memory_options.h"
#include "native_names.h"
#include "operands.h"
#include "python_environment.h"
#include "range_options.h"
#include "record_inject.h"
#include "record_options.h"
#include "record_output.h"
#include "record_program.h"
#include "record_silent.h"
#include "talk.h"
#include "text.h"
#include "tracing_options.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_FAILED = 125 };

/* The rate of the first second without --rate: half a second of CPU time has 250 samples, at a cost
 * of 1 % in that second. */
enum { FIRST_HZ = 499 };

struct record_values {
    const char *output;
    bool force;
    int64_t delay_ns, duration_ns;
    uint64_t pool_bytes, volume_bytes;
    struct option_list filter;
    const char *policy, *capture;
    struct sampling_values sampling;
    struct range_values range;
    struct python_values python;
    struct tracing_values trace;
    struct inject_values inject;
    struct gpu_values gpu;
    struct picture_values picture;
    struct talk_values talk;
    bool open;
    struct memory_values memory;
};

struct record {
    const struct record_values *values;
    bool has_rate; /* --rate was given */
    struct program program;
    struct signals signals;
    struct child child;
    struct collector *collector;
    struct python_environment python;
    struct tracing_environment trace;
    struct inject_environment inject;
    struct gpu_environment gpu;
    struct memory_environment memory;
    struct silent silent;
    struct record_output output;
    char command[4096];
    struct asked_texts asked;
    struct collector_requested asked_for;
    char filter[FILTER_TEXT_SIZE], capture[CAPTURE_TEXT_SIZE];
    char ranges[RANGE_PATTERNS_SIZE]; /* Python functions to record as ranges */
    int64_t gate_ns, end_ns;          /* 0: without --delay, --duration */
    int write_error, end_error;
    bool finished, told; /* `told`: write_error was printed */
    bool shows;          /* the recording has content to open */
};

static void join_command(struct record *record, char **argv)
{
    size_t used = 0;
    for (; *argv && used + 1 < sizeof(record->command); argv++) {
        if (used > 0)
            record->command[used++] = ' ';
        cmd_quote(*argv, record->command + used, sizeof(record->command) - used);
        used += strlen(record->command + used);
    }
}

static void on_recovered(void *context, const struct collector_recovered *what)
{
    (void)context;
    recover_note(what);
}

static int begin(struct record *record)
{
    struct collector_error error;
    struct collector_options options = {
        .output = record->output.recording,
        .overwrite = record->values->force,
        .command = record->command,
        .version = ANNOT_VERSION,
        .pool_bytes = record->values->pool_bytes,
        .volume_bytes = record->values->volume_bytes,
        .filter = record->filter,
        .capture = record->capture,
        .policy = policy_of(record->values->policy),
        .paused = record->values->delay_ns > 0,
    };
    asked_describe(&record->values->trace, &record->values->python, record->values->capture,
                   &record->asked, &record->asked_for);
    struct text ranges = text_init(record->ranges, sizeof(record->ranges));
    range_of_python(&record->values->range.specs, record->program.argv[0], &ranges);
    record->asked_for.ranges = record->ranges;
    record->asked_for.gpu = record->values->gpu.list ? "--gpu" : NULL;
    options.requested = record->asked_for;
    sampling_apply(&record->values->sampling, &options);
    if (!record->has_rate)
        options.sample_first_hz = FIRST_HZ;
    range_apply(&record->values->range, &options);
    gpu_apply(&record->values->gpu, record->gpu.library, &options);
    memory_apply(&record->values->memory, &record->memory, &options);
    collector_recover(NULL, false, on_recovered, NULL);
    int code = collector_create(&options, &record->collector, &error);
    if (code != 0)
        return cmd_fail(STATUS_FAILED, error.hint[0] ? "%s\n%s" : "%s%s", error.what, error.hint);
    code = memory_begin(&record->values->memory, record->collector, STATUS_FAILED);
    if (code == 0)
        code = range_begin(&record->values->range, record->collector, record->program.argv);
    if (code != 0)
        collector_remove_output(record->collector);
    return code != 0 ? STATUS_FAILED : 0;
}

/* Completes the recording; the command may still run. */
static void finish(struct record *record)
{
    if (record->finished)
        return;
    record->finished = true;
    silent_end(&record->silent, record->collector);
    record->end_error = collector_finish(record->collector);
}

/* Called at once if standard error is not the command's terminal, else when the command has
 * ended. */
static void report_failure(struct record *record)
{
    record->told = true;
    cmd_fail(0,
             "cannot write %s: %s\nthe command goes on; its events stay in shared memory as far "
             "as they find room there, and are counted",
             record->output.recording, strerror(-record->write_error));
}

/* Prints the summary once the command has ended. */
static void tell(struct record *record)
{
    const struct status_summary summary = {
        .collector = record->collector,
        .output = record->output.recording,
        .also = record->output.also,
        .hint = record->gate_ns != 0 ? "the command ended before --delay was over" : NULL,
        .verbose = record->values->talk.verbose,
        .volumes = record->values->volume_bytes != 0,
        .incomplete = record->end_error != 0,
    };
    if (record->write_error != 0 && !record->told)
        report_failure(record);
    if (record->end_error != 0)
        cmd_fail(0,
                 "cannot complete %s: %s\nit is readable up to its last whole part; make room, "
                 "then \"annot recover\" adds the rest from shared memory",
                 record->output.recording, strerror(-record->end_error));
    if (record->end_error == 0 && record->write_error == 0)
        native_names_complete(record->output.recording, collector_trace(record->collector),
                              !record->values->sampling.no_source);
    if (!record->values->talk.verbose) /* verbose output lists all notes */
        silent_report(&record->silent);
    bool any = status_line_summary(&summary);
    talk_report_facts(&record->values->talk, collector_trace(record->collector));
    record->shows = any;
    if (record->output.also && any) /* it prints its own messages; the status is the command's */
        record_output_write(&record->output, &record->values->picture);
    else if (any)
        record_output_note(&record->output, &record->values->picture);
    program_note_options(&record->program, record->child.wait_status == 0);
}

static void on_ended(void *context, pid_t pid, int wait_status)
{
    struct record *record = context;
    if (!record->finished)
        collector_note_exit(record->collector, pid, wait_status);
}

/* Runs between fork and exec: samples begin with the command itself. */
static void on_forked(void *context, pid_t pid)
{
    struct record *record = context;
    (void)collector_track(record->collector, pid,
                          SAMPLER_TRACK_WAIT_EXEC); /* the child waits, so it exists */
}

static int start(struct record *record, char **argv)
{
    struct child_variable variables[4 + PYTHON_VARIABLES_MAX + INJECT_VARIABLES_MAX +
                                    GPU_VARIABLES_MAX + MEMORY_VARIABLES_MAX] = {
        {"ANNOT_SESSION", collector_session_text(record->collector)},
        {"ANNOT_PLACE", collector_place_text(record->collector)},
    };
    size_t count = python_environment(&record->values->python, &record->python);
    python_warn(&record->python, &record->values->python, &record->asked_for, argv[0]);
    memcpy(variables + 2, record->python.variables, count * sizeof(variables[0]));
    size_t inject_count = inject_environment(&record->values->inject, &record->inject);
    memcpy(variables + 2 + count, record->inject.variables, inject_count * sizeof(variables[0]));
    count += inject_count;
    size_t gpu_count = gpu_environment(&record->values->gpu, &record->gpu);
    memcpy(variables + 2 + count, record->gpu.variables, gpu_count * sizeof(variables[0]));
    count += gpu_count;
    size_t memory_count = memory_environment(
        &record->values->memory, record->collector,
        record->python.preload[0] ? record->python.preload : NULL, &record->memory);
    memcpy(variables + 2 + count, record->memory.variables, memory_count * sizeof(variables[0]));
    count += memory_count;
    struct tracing_values trace = record->values->trace;
    trace.captured = record->values->capture != NULL;
    if (tracing_environment(&trace, record->ranges, &record->trace))
        variables[2 + count++] = record->trace.variable;
    bool tracks = !is_unsampled(&record->values->sampling) ||
                  record->values->range.specs.count > 0 || memory_is_on(&record->values->memory);
    const struct child_command command = {
        .argv = argv,
        .variables = variables,
        .variable_count = 2 + count,
        .forked = tracks ? on_forked : NULL,
        .context = record,
    };
    int error = child_start(&record->child, &command);
    if (error == 0 && !record->values->inject.none)
        silent_begin(&record->silent, &record->inject, record->child.pid);
    return error;
}

static void step(struct record *record)
{
    if (record->finished)
        return;
    int64_t now = clock_now_ns();
    if (record->gate_ns != 0 && now >= record->gate_ns) {
        record->gate_ns = 0;
        collector_open_gate(record->collector);
    }
    int error = collector_step(record->collector);
    silent_step(&record->silent, collector_trace(record->collector), now);
    if (error != 0 && record->write_error == 0) {
        record->write_error = error;
        if (!isatty(STDERR_FILENO))
            report_failure(record);
    }
    if (record->end_ns != 0 && now >= record->end_ns)
        finish(record);
}

static int timeout_ms(const struct record *record)
{
    if (record->finished)
        return -1;
    int64_t timeout = collector_timeout_ms(record->collector), now = clock_now_ns();
    const int64_t deadlines[] = {record->gate_ns, record->end_ns};
    for (int i = 0; i < 2; i++) {
        int64_t rest = (deadlines[i] - now + 999999) / 1000000;
        if (deadlines[i] != 0 && rest < timeout)
            timeout = rest > 0 ? rest : 0;
    }
    return (int)timeout;
}

static void run(struct record *record)
{
    while (!record->child.ended) {
        struct pollfd fds[] = {
            {.fd = record->signals.fd, .events = POLLIN},
            {.fd = record->finished ? -1 : collector_fd(record->collector), .events = POLLIN},
        };
        poll(fds, 2, timeout_ms(record));
        step(record);
        child_take_signals(&record->child, on_ended, record);
    }
    if (!record->finished)
        collector_note_command(record->collector, record->child.wait_status);
    finish(record);
    tell(record);
}

/* Checks that -o with a format of counts goes with an option that records them. */
static int check_counts(const struct record *record)
{
    const struct tracing_values *trace = &record->values->trace;
    const struct exporter *exporter = record->output.exporter;
    if (exporter && exporter->counts_calls && !trace->functions)
        return cmd_fail(STATUS_FAILED,
                        "cannot write %s: the %s format has counted calls, and none are recorded\n"
                        "add --trace-functions=aggregate",
                        record->output.also, exporter->name);
    if (exporter && exporter->counts_lines && !trace->lines)
        return cmd_fail(STATUS_FAILED,
                        "cannot write %s: the %s format has counted lines, and none are recorded\n"
                        "add --trace-lines LIST",
                        record->output.also, exporter->name);
    return 0;
}

static int check(struct record *record)
{
    const struct record_values *values = record->values;
    int error = talk_begin(&values->talk, STATUS_FAILED);
    if (error == 0)
        error = values->output ? record_output_choose(values->output, values->force, STATUS_FAILED,
                                                      &record->output)
                               : 0;
    if (error == 0)
        error = sampling_check(&values->sampling, STATUS_FAILED);
    if (error == 0)
        error = memory_check(&values->memory, STATUS_FAILED);
    if (error == 0)
        error = range_check(&values->range, &values->sampling, STATUS_FAILED);
    if (error == 0)
        error = volume_check(values->volume_bytes, STATUS_FAILED);
    if (error == 0)
        error = filter_options_add(&values->filter, STATUS_FAILED, record->filter);
    if (error == 0)
        error = capture_parse(values->capture, STATUS_FAILED, record->capture);
    error = error == 0 ? python_check(&values->python, STATUS_FAILED) : error;
    error = error == 0 ? tracing_check(&values->trace, &values->python, STATUS_FAILED) : error;
    if (error == 0)
        error = tracing_check_capture(&values->trace, values->capture, STATUS_FAILED);
    error = error == 0 ? check_counts(record) : error;
    return error == 0 ? gpu_check(&values->gpu, STATUS_FAILED) : error;
}

static void describe(struct record *record)
{
    if (!record->values->output)
        output_name(record->program.name, record->output.recording,
                    sizeof(record->output.recording));
    join_command(record, record->program.argv);
}

/* Call after creating the collector. Returns the exit status if the command could not be started,
 * else -1. */
static int start_and_run(struct record *record)
{
    const struct record_values *values = record->values;
    int64_t now = clock_now_ns(), delay = values->delay_ns;
    record->gate_ns = delay > 0 ? now + delay : 0;
    record->end_ns = values->duration_ns > 0 ? now + delay + values->duration_ns : 0;
    talk_report_start(&values->talk, collector_trace(record->collector), record->output.recording);
    int error = start(record, record->program.argv);
    if (error != 0) {
        collector_remove_output(record->collector);
        return program_fail(record->program.argv[0], error);
    }
    child_hurry();
    run(record);
    return -1;
}

/* It prints its own messages; the status is the command's. */
static void open_recording(char *path)
{
    cmd_run(&cmd_open, 1, &path);
    cmd_set_name("record");
}

static int record_program(struct record *record)
{
    int pipe = record_output_wait(&record->output, record->values->force);
    int status = signals_begin(&record->signals, true) == 0
                     ? 0
                     : cmd_fail(STATUS_FAILED, "cannot watch for signals");
    child_prepare(&record->child, &record->signals);
    if (status == 0)
        status = begin(record);
    if (pipe >= 0)
        close(pipe);
    if (status == 0)
        status = start_and_run(record);
    signals_end(&record->signals);
    silent_fini(&record->silent);
    collector_destroy(record->collector);
    if (record->values->open && record->shows)
        open_recording(record->output.recording);
    return status == -1 ? child_mimic(&record->child) : status;
}

static int run_record(const struct cmd_call *call)
{
    struct record *record = calloc(1, sizeof(*record));
    if (!record)
        return cmd_fail(STATUS_FAILED, "out of memory");
    record->values = call->values;
    record->has_rate = options_given(call->options, "rate");
    int status = check(record);
    if (status == 0)
        status = program_choose(&record->program, call->operands);
    if (status == 0) {
        describe(record);
        gpu_warn(&record->values->gpu);
        status = record_program(record);
    }
    program_fini(&record->program);
    free(record);
    return status;
}

static const struct option_spec options[] = {
    OPTIONS_GROUP("what to run"),
    {"module", 'm', OPTION_COMMAND, 0, "MODULE [ARGUMENT...]",
     "run a Python module, as python3 -m does", NULL},
    {"code", 'c', OPTION_COMMAND, 0, "CODE [ARGUMENT...]", "run Python code, as python3 -c does",
     NULL},
    OPTIONS_GROUP("where to write"),
    {"output", 'o', OPTION_TEXT, offsetof(struct record_values, output), "FILE",
     "the recording; x.html, x.svg, x.json, x.pftrace or x.prof is written as well as x.annot "
     "(default: CMD-YYYYmmdd-HHMMSS.annot here)",
     NULL},
    {"force", 0, OPTION_FLAG, offsetof(struct record_values, force), NULL,
     "replace an existing file", NULL},
    {"open", 0, OPTION_FLAG, offsetof(struct record_values, open), NULL,
     "show the recording in the browser once it is complete, as annot open does", NULL},
    TALK_OPTIONS(offsetof(struct record_values, talk)),
    OPTIONS_GROUP("when to record"),
    {"delay", 0, OPTION_TIME, offsetof(struct record_values, delay_ns), "TIME",
     "start recording TIME after the command", NULL},
    {"duration", 'd', OPTION_TIME, offsetof(struct record_values, duration_ns), "TIME",
     "stop recording after TIME; the command goes on", NULL},
    CAPTURE_OPTION(offsetof(struct record_values, capture)),
    OPTIONS_GROUP("samples and waits"),
    RATE_OPTION(offsetof(struct record_values, sampling)),
    OFF_CPU_OPTION(offsetof(struct record_values, sampling)),
    SAMPLING_OPTION(offsetof(struct record_values, sampling)),
    MEMORY_EXACT_OPTIONS(offsetof(struct record_values, memory)),
    OPTIONS_GROUP("ranges"),
    FILTER_OPTIONS(offsetof(struct record_values, filter)),
    RANGE_OPTIONS(offsetof(struct record_values, range)),
    OPTIONS_GROUP("Python"),
    PYTHON_OPTIONS(offsetof(struct record_values, python)),
    TRACING_OPTIONS(offsetof(struct record_values, trace)),
    OPTIONS_GROUP("GPUs"),
    GPU_OPTIONS(offsetof(struct record_values, gpu)),
    OPTIONS_MORE_GROUP("GPU details"),
    GPU_DETAIL_OPTIONS(offsetof(struct record_values, gpu)),
    GPU_FLAG(offsetof(struct record_values, gpu), "-counters", no_counters,
             "record no utilisation, memory, power, clocks and temperature"),
    OPTIONS_MORE_GROUP("Python tracing details"),
    TRACING_DETAIL_OPTIONS(offsetof(struct record_values, trace)),
    OPTIONS_MORE_GROUP("sampling, buffers and pictures"),
    OFF_CPU_DETAIL_OPTIONS(offsetof(struct record_values, sampling)),
    SOURCE_OPTION(offsetof(struct record_values, sampling)),
    VOLUME_OPTION(offsetof(struct record_values, volume_bytes)),
    {"pool-size", 0, OPTION_SIZE, offsetof(struct record_values, pool_bytes), "SIZE",
     "buffer of each process (default: 16M)", NULL},
    POLICY_OPTION(offsetof(struct record_values, policy)),
    INJECT_OPTIONS(offsetof(struct record_values, inject)),
    PICTURE_OPTIONS(offsetof(struct record_values, picture)),
    {0},
};

const struct cmd cmd_record = {
    .name = "record",
    .summary = "run a command and record its stacks and annotations",
    .usage = "[OPTIONS] COMMAND|FILE.py [ARGUMENT...]",
    .details = "Options end at the command. A Python file that is no command is run by python3 (of "
               "the virtual\nenvironment, if one is set).\nThe exit status is the command's. "
               "annot's own failures: 125; 126 if the command "
               "cannot\nbe executed, 127 if it is not found.\n",
    .examples = "  annot record train.py --epochs 2\n"
                "  annot record -o run.html --open -m pytest tests\n"
                "  annot record --off-cpu --trace-functions -o run.annot -- ./service --port 8080\n"
                "  annot record --probe ./service:handle_request -- ./service\n",
    .options = options,
    .values_size = sizeof(struct record_values),
    .operands_min = 1,
    .operands_max = -1,
    .command_follows = true,
    .misuse_status = STATUS_FAILED,
    .run = run_record,
};
