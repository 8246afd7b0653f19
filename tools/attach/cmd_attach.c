/* SPDX-License-Identifier: MIT */
/* `annot attach`: records running processes and leaves them unchanged.
 *
 * One thread waits for the collector's descriptor, for signals, and for the end of the processes.
 * The processes are only observed; their libannot, if present, sees at its next event that it is
 * recorded. */

#include "attach.h"
#include "collector_recover.h"
#include "range_options.h"
#include "tracing_options.h"

#include "clock_now.h"
#include "cmd.h"
#include "collector.h"
#include "gpu_options.h"
#include "native_names.h"
#include "operands.h"
#include "proc_info.h"
#include "record_options.h"
#include "record_output.h"
#include "signals.h"
#include "talk.h"
#include "text.h"
#include "trace_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- The asking program ---------------------------------------------------------------------- */

/* `annot attach --asked`: a program has asked for the recording and communicates through two pipes.
 *
 * Standard output carries "recording SESSION PLACE" once events are recorded, and "complete" once
 * the file is complete. On standard input, a line "begin NS" gives the start of the recorded block
 * of the program, in CLOCK_MONOTONIC of both; any other line ends the recording, and "end NS" also
 * gives the end of the block. The end of the asking program does not end the recording, which may
 * cover that program or its descendants. */

struct asker {
    char line[64];
    size_t length;
    int64_t begin_ns, end_ns; /* of the block; 0: unset */
};

static void asker_report(const char *words)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "%s\n", words);
    ssize_t ignored = write(STDOUT_FILENO, line, (size_t)length); /* the reader may have ended */
    (void)ignored;
}

/* Returns true if this line ends the recording. */
static bool asker_take_line(struct asker *asker)
{
    asker->line[asker->length] = '\0';
    asker->length = 0;
    int64_t own_ns;
    if (sscanf(asker->line, "begin %" SCNd64, &own_ns) == 1) {
        asker->begin_ns = clock_machine_ns(own_ns);
        return false;
    }
    if (sscanf(asker->line, "end %" SCNd64, &own_ns) == 1)
        asker->end_ns = clock_machine_ns(own_ns);
    return true;
}

/* Returns true if the asking program ended the recording. `input`: as poll() left it; its fd
 * becomes -1 at end of file. */
static bool asker_wants_end(struct asker *asker, struct pollfd *input)
{
    char bytes[64];
    bool end = false;
    if (input->fd < 0 || !input->revents)
        return false;
    ssize_t size = read(input->fd, bytes, sizeof(bytes));
    for (ssize_t i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            end = asker_take_line(asker) || end;
        else if (asker->length + 1 < sizeof(asker->line))
            asker->line[asker->length++] = bytes[i];
    }
    if (size > 0)
        return end;
    if (size == 0 || (errno != EINTR && errno != EAGAIN))
        input->fd = -1;
    return false;
}

/* ---- The command ----------------------------------------------------------------------------- */

struct attach_values {
    const char *pids, *output;
    bool force;
    bool asked, inject, gpu_counters;
    const char *gpu;
    int64_t duration_ns;
    uint64_t pool_bytes, volume_bytes;
    const char *policy, *capture;
    struct option_list filter;
    struct sampling_values sampling;
    struct range_values range;
    struct tracing_values trace;
    struct picture_values picture;
    struct talk_values talk;
};

#define PATIENCE_NS INT64_C(1000000000)

enum { FD_COLLECTOR = 0, FD_SIGNALS = 1, FD_ASKER = 2, FD_FIRST = 3 };

struct attach {
    const struct attach_values *values;
    struct pid_list pids;
    struct attach_programs programs;
    struct pollfd fds[FD_FIRST + PID_LIST_MAX]; /* from FD_FIRST: one pidfd per process */
    struct collector *collector;
    struct status_line line;
    struct record_output output;
    char command[4096];
    char place[PATH_MAX]; /* working directory of the asking program; "": that of annot */
    struct asker asker;
    char filter[FILTER_TEXT_SIZE], capture[CAPTURE_TEXT_SIZE];
    struct signals signals;
    int64_t end_ns;                   /* 0: no limit */
    bool over;                        /* a signal ended the recording */
    bool noted;                       /* the programs without events were printed */
    char ranges[RANGE_PATTERNS_SIZE]; /* Python functions to record as ranges */
    bool traced[PID_LIST_MAX];
};

static void on_recovered(void *context, const struct collector_recovered *what)
{
    (void)context;
    recover_note(what);
}

static int watch_signals(struct attach *attach)
{
    if (signals_begin(&attach->signals, false) != 0)
        return cmd_fail(CMD_FAILED, "cannot watch for signals");
    attach->fds[FD_SIGNALS] = (struct pollfd){.fd = attach->signals.fd, .events = POLLIN};
    return 0;
}

/* SIGINT and SIGTERM end the recording, not annot. Other signals are left to the rest of the
 * process group. */
static bool take_signals(struct attach *attach)
{
    struct signal_sent sent;
    bool over = false;
    while (signals_take(&attach->signals, &sent)) {
        over |= signals_is_end(sent.number);
        if (sent.number == SIGTSTP)
            signals_stop(&attach->signals, SIGTSTP, 0);
    }
    return over;
}

static void watch_processes(struct attach *attach)
{
    for (uint32_t i = 0; i < attach->programs.count; i++)
        attach->fds[FD_FIRST + i] =
            (struct pollfd){.fd = attach->programs.items[i].pidfd, .events = POLLIN};
}

/* An empty recording is a failure here. */
static int check_rung(const struct attach *attach)
{
    const struct trace *trace = collector_trace(attach->collector);
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    const char *hint = trace_string(trace, sampling->hint)->bytes;
    if (sampling->rung > SAMPLING_NONE)
        return 0;
    if (sampling->rung == SAMPLING_OFF)
        return cmd_fail(CMD_FAILED,
                        "there are no annotations to record, and --sampling none leaves "
                        "nothing else\nannot ls lists programs that have annotations");
    return cmd_fail(CMD_FAILED,
                    *hint ? "threads cannot be sampled here: %s\n%s"
                          : "threads cannot be sampled here: %s%s",
                    trace_string(trace, sampling->reason)->bytes, hint);
}

/* Recovers recordings of dead collectors in the same directory, except another user's. */
static void recover(const struct target *target)
{
    bool foreign = target && (target->elsewhere || target->uid != geteuid());
    if (!foreign)
        collector_recover(target ? target->path : NULL, false, on_recovered, NULL);
}

/* Starts to sample the processes, and to record annotations where they exist. */
static int begin_programs(struct attach *attach)
{
    uint32_t count = attach_programs_annotate(&attach->programs, attach->collector);
    if (attach->values->asked && count < attach->programs.count)
        return CMD_FAILED;                                 /* the reason was printed */
    bool traces = trace_ask_is_on(&attach->values->trace); /* tracing loads libannot */
    int status = count > 0 || traces ? 0 : check_rung(attach);
    int code = status == 0 ? collector_open_gate(attach->collector) : 0;
    if (code != 0)
        return cmd_fail(CMD_FAILED, "cannot begin: %s", strerror(-code));
    for (uint32_t i = 0; i < attach->programs.count && status == 0; i++) {
        int32_t pid = attach->programs.items[i].target.pid;
        code = collector_track(attach->collector, pid, SAMPLER_TRACK_ATTACH);
        if (code != 0)
            status = attach_programs_fail(pid, -code);
    }
    return status;
}

/* Starts tracing of calls and lines. A process that refuses is still recorded; fails if all
 * refuse. */
static int begin_tracing(struct attach *attach)
{
    struct tracing_values trace = attach->values->trace;
    uint32_t count = 0;
    trace.captured = attach->values->capture != NULL;
    for (uint32_t i = 0; i < attach->programs.count; i++) {
        attach->traced[i] =
            trace_ask(&(struct trace_ask){.values = &trace,
                                          .ranges = attach->ranges,
                                          .pid = attach->programs.items[i].target.pid,
                                          .enters = attach->values->inject,
                                          .notes = true}) == 0;
        count += attach->traced[i];
    }
    return count > 0 ? 0 : CMD_FAILED;
}

/* Stops the tracing. Children that inherited it keep it, at no cost once the recording has
 * ended. */
static void end_tracing(struct attach *attach)
{
    for (uint32_t i = 0; i < attach->programs.count; i++)
        if (attach->traced[i] && kill(attach->programs.items[i].target.pid, 0) == 0)
            (void)trace_ask(
                &(struct trace_ask){.pid = attach->programs.items[i].target.pid, .quiet = true});
}

static int begin(struct attach *attach)
{
    struct collector_error error;
    const struct target *target = attach_programs_leader(&attach->programs);
    struct collector_options options = {
        .target = target,
        .output = attach->output.recording,
        .overwrite = attach->values->force,
        .command = attach->command,
        .place = attach->place[0] ? attach->place : NULL,
        .version = ANNOT_VERSION,
        .note = attach->values->inject ? ATTACH_INJECT_NOTE : NULL,
        .pool_bytes = attach->values->pool_bytes,
        .volume_bytes = attach->values->volume_bytes,
        .filter = attach->filter,
        .capture = attach->capture,
        .policy = policy_of(attach->values->policy),
        .attach = true,
        .launches = true,
        .paused = true, /* until the programs are asked to join */
        .gpu_hz = attach->values->gpu ? GPU_COUNTERS_HZ : 0,
    };
    sampling_apply(&attach->values->sampling, &options);
    range_apply(&attach->values->range, &options);
    recover(target);
    if (collector_create(&options, &attach->collector, &error) != 0)
        return cmd_fail(CMD_FAILED, error.hint[0] ? "%s\n%s" : "%s%s", error.what, error.hint);
    int status = range_begin(&attach->values->range, attach->collector, NULL);
    if (status == 0)
        status = begin_programs(attach);
    struct text patterns = text_init(attach->ranges, sizeof(attach->ranges));
    range_of_python(&attach->values->range.specs, NULL, &patterns);
    if (status == 0 && (trace_ask_is_on(&attach->values->trace) || patterns.length > 0))
        status = begin_tracing(attach);
    if (status != 0)
        collector_remove_output(attach->collector);
    return status;
}

/* Descendants may outlive the named processes. */
static bool any_descendant(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (process->end == PROCESS_RUNNING && process->pid > 0 &&
            (kill(process->pid, 0) == 0 || errno == EPERM))
            return true;
    }
    return false;
}

/* Closes the descriptors of ended processes. Returns true if a process remains. */
static bool any_left(struct attach *attach)
{
    bool left = attach->fds[FD_ASKER].fd >=
                0; /* forked children of the asking program hold its pipe as well */
    for (uint32_t i = FD_FIRST; i < FD_FIRST + attach->programs.count; i++) {
        if (attach->fds[i].fd >= 0 && attach->fds[i].revents)
            attach->fds[i].fd = -1; /* attach_programs_fini closes the descriptor */
        left |= attach->fds[i].fd >= 0;
    }
    return left || any_descendant(collector_trace(attach->collector));
}

static int timeout_ms(const struct attach *attach, int64_t now)
{
    int timeout = collector_timeout_ms(attach->collector);
    int64_t rest = (attach->end_ns - now + 999999) / 1000000;
    if (attach->end_ns != 0 && rest < timeout)
        return rest > 0 ? (int)rest : 0;
    return timeout;
}

/* Prints a message in place of the live line. */
static void note_silent(struct attach *attach)
{
    if (attach->noted || clock_now_ns() - attach->programs.begin_ns < PATIENCE_NS)
        return;
    attach->noted = true;
    status_line_clear(&attach->line);
    attach_programs_note_silent(&attach->programs, attach->collector, false);
}

static void note_failure(struct attach *attach, int error)
{
    status_line_clear(&attach->line);
    cmd_fail(
        0,
        "cannot write %s: %s\nevents stay in shared memory as far as they find room there, and "
        "are counted",
        attach->output.recording, strerror(-error));
}

static int run(struct attach *attach)
{
    int error = 0;
    bool failed = false;
    int64_t now = clock_now_ns();
    attach->end_ns = attach->values->duration_ns > 0 ? now + attach->values->duration_ns : 0;
    talk_report_start(&attach->values->talk, collector_trace(attach->collector),
                      attach->output.recording);
    status_line_begin(&attach->line);
    if (attach->values->asked) {
        attach->fds[FD_ASKER] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
        char words[96];
        snprintf(words, sizeof(words), "recording %s %s", collector_session_text(attach->collector),
                 collector_place_text(attach->collector));
        asker_report(words);
    }
    while (!attach->over && (attach->end_ns == 0 || now < attach->end_ns)) {
        attach->fds[FD_COLLECTOR] =
            (struct pollfd){.fd = collector_fd(attach->collector), .events = POLLIN};
        poll(attach->fds, FD_FIRST + attach->programs.count, timeout_ms(attach, now));
        error = collector_step(attach->collector);
        if (error != 0 && !failed)
            note_failure(attach, error);
        failed = error != 0;
        note_silent(attach);
        if (!failed)
            status_line_update(&attach->line, attach->collector);
        attach->over |= take_signals(attach);
        if (asker_wants_end(&attach->asker, &attach->fds[FD_ASKER]))
            attach->over = true;
        if (!any_left(attach))
            break;
        now = clock_now_ns();
    }
    status_line_clear(&attach->line);
    return error;
}

/* Hint for an empty recording; NULL: the hint of `annot record`. */
static const char *nothing_hint(const struct attach *attach)
{
    if (trace_sampling_get(collector_trace(attach->collector))->rung != SAMPLING_BPF)
        return NULL;
    return attach->values->sampling.no_waits
               ? "they used hardly any CPU time; without --off-cpu=none their waits are recorded"
               : "they used hardly any CPU time, and no wait began or ended; annot dump PID "
                 "shows what they wait for";
}

/* A block without an end lasts to the end of the recording. */
static void note_block(struct attach *attach)
{
    const struct asker *asker = &attach->asker;
    int64_t end_ns = asker->end_ns ? asker->end_ns : clock_now_ns();
    if (asker->begin_ns != 0)
        (void)collector_note_block(attach->collector, asker->begin_ns, end_ns);
}

static int finish(struct attach *attach)
{
    note_block(attach);
    end_tracing(attach);
    if (collector_complete(attach->collector) == 0 && attach->values->asked)
        asker_report("complete");
    int error = collector_finish(attach->collector);
    if (error != 0)
        cmd_fail(
            0,
            "cannot complete %s: %s\nit is readable up to its last whole part; make room, then "
            "\"annot recover\" adds the rest from shared memory",
            attach->output.recording, strerror(-error));
    attach_programs_note_silent(&attach->programs, attach->collector, true);
    if (error == 0 && !attach->values->asked)
        native_names_complete(attach->output.recording, collector_trace(attach->collector),
                              !attach->values->sampling.no_source);
    bool any = status_line_summary(&(struct status_summary){
        .collector = attach->collector,
        .output = attach->output.recording,
        .also = attach->output.also,
        .hint = nothing_hint(attach),
        .verbose = attach->values->talk.verbose,
        .volumes = attach->values->volume_bytes != 0,
        .incomplete = error != 0,
    });
    talk_report_facts(&attach->values->talk, collector_trace(attach->collector));
    if (error == 0 && any && attach->output.also)
        return record_output_write(&attach->output, &attach->values->picture);
    if (any)
        record_output_note(&attach->output, &attach->values->picture);
    return error;
}

static int attach_and_record(struct attach *attach)
{
    enum attach_rest rest = attach->values->asked                     ? ATTACH_NOTHING
                            : is_unsampled(&attach->values->sampling) ? ATTACH_LEFT_OUT
                                                                      : ATTACH_SAMPLED;
    bool traces = trace_ask_is_on(&attach->values->trace);
    int pipe = record_output_wait(&attach->output, attach->values->force);
    int status = attach->values->inject ? attach_inject(&attach->pids, !traces) : 0;
    if (status == 0)
        status = attach_programs_init(&attach->programs, &attach->pids, rest);
    attach->programs.verbose = attach->values->talk.verbose;
    watch_processes(attach);
    if (status == 0)
        status = watch_signals(attach);
    if (status == 0)
        status = begin(attach);
    if (pipe >= 0)
        close(pipe);
    if (status == 0) {
        int error = run(attach), last = finish(attach);
        status = error != 0 || last != 0 ? CMD_FAILED : CMD_OK;
    }
    return status;
}

static void describe(struct attach *attach)
{
    const char *comm = pid_list_comm(attach->pids.items[0], attach->command);
    char stem[64], asker[COMMAND_TEXT_SIZE], pids[PID_LIST_TEXT_SIZE];
    snprintf(stem, sizeof(stem), "%s-%d", comm, (int)attach->pids.items[0]);
    if (!attach->values->output)
        output_name(stem, attach->output.recording, sizeof(attach->output.recording));
    snprintf(attach->command, sizeof(attach->command), "annot attach %s",
             pid_list_text(&attach->pids, pids));
    if (!attach->values->asked)
        return;
    proc_command(attach->pids.items[0], asker); /* the program records itself */
    if (asker[0])
        snprintf(attach->command, sizeof(attach->command), "%.4095s", asker);
    snprintf(asker, sizeof(asker), "/proc/%d/cwd", (int)attach->pids.items[0]);
    ssize_t length = readlink(asker, attach->place, sizeof(attach->place) - 1);
    attach->place[length > 0 ? length : 0] = 0;
}

static int run_attach(const struct cmd_call *call)
{
    struct attach *attach = calloc(1, sizeof(*attach));
    struct rlimit files;
    if (!attach)
        return cmd_fail(CMD_FAILED, "out of memory");
    attach->values = call->values;
    for (uint32_t i = 0; i < FD_FIRST + PID_LIST_MAX; i++)
        attach->fds[i].fd = -1;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max; /* files of programs stay open for their symbols */
    setrlimit(RLIMIT_NOFILE, &files);
    int status = talk_begin(&attach->values->talk, CMD_MISUSE);
    if (status == 0)
        status = attach->values->output
                     ? record_output_choose(attach->values->output, attach->values->force,
                                            CMD_MISUSE, &attach->output)
                     : 0;
    if (status == 0)
        status = sampling_check(&attach->values->sampling, CMD_MISUSE);
    if (status == 0)
        status = range_check(&attach->values->range, &attach->values->sampling, CMD_MISUSE);
    if (status == 0 && trace_ask_wanted(&attach->values->trace))
        status = trace_ask_check(&attach->values->trace, CMD_MISUSE);
    if (status == 0)
        status = tracing_check_capture(&attach->values->trace, attach->values->capture, CMD_MISUSE);
    if (status == 0)
        status = volume_check(attach->values->volume_bytes, CMD_MISUSE);
    if (status == 0)
        status = filter_options_add(&attach->values->filter, CMD_MISUSE, attach->filter);
    if (status == 0)
        status = capture_parse(attach->values->capture, CMD_MISUSE, attach->capture);
    if (status == 0)
        status = pid_list_parse(attach->values->pids, call->operands, &attach->pids);
    if (status == 0) {
        describe(attach);
        status = attach_and_record(attach);
    }
    collector_destroy(attach->collector);
    attach_programs_fini(&attach->programs);
    signals_end(&attach->signals);
    free(attach);
    return status;
}

static const struct option_spec options[] = {
    OPTIONS_GROUP("which programs"),
    {"pid", 'p', OPTION_TEXT, offsetof(struct attach_values, pids), "PID[,PID...]",
     "these, as operands do; descendants of all are included", NULL},
    {"inject", 0, OPTION_FLAG, offsetof(struct attach_values, inject), NULL,
     "load annot's library for NVTX and ITT into processes that were not started for it; to trace, "
     "pyannot into Pythons without it",
     NULL},
    OPTIONS_GROUP("where to write"),
    {"output", 'o', OPTION_TEXT, offsetof(struct attach_values, output), "FILE",
     "the recording; x.html, x.svg, x.json or x.pftrace is written as well as x.annot; "
     "default NAME-PID-YYYYmmdd-HHMMSS.annot here",
     NULL},
    {"force", 0, OPTION_FLAG, offsetof(struct attach_values, force), NULL,
     "replace an existing file", NULL},
    TALK_OPTIONS(offsetof(struct attach_values, talk)),
    OPTIONS_GROUP("when to record"),
    {"duration", 'd', OPTION_TIME, offsetof(struct attach_values, duration_ns), "TIME",
     "stop recording after TIME (default: at Ctrl-C, or when all have ended)", NULL},
    CAPTURE_OPTION(offsetof(struct attach_values, capture)),
    OPTIONS_GROUP("samples and waits"),
    RATE_OPTION(offsetof(struct attach_values, sampling)),
    OFF_CPU_OPTION(offsetof(struct attach_values, sampling)),
    SAMPLING_OPTION(offsetof(struct attach_values, sampling)),
    OPTIONS_GROUP("ranges"),
    FILTER_OPTIONS(offsetof(struct attach_values, filter)),
    RANGE_OPTIONS(offsetof(struct attach_values, range)),
    OPTIONS_GROUP("Python and GPUs"),
    TRACING_OPTIONS(offsetof(struct attach_values, trace)),
    {"gpu", 0, OPTION_PARTS, offsetof(struct attach_values, gpu), "[=LIST]",
     "also record counters of NVIDIA GPUs; kernels are recorded of what annot run started", NULL},
    {"gpu=counters", 0, OPTION_FLAG, offsetof(struct attach_values, gpu_counters), NULL,
     "utilisation, memory, power, clocks and temperature: the only part, and the default", NULL},
    OPTIONS_MORE_GROUP("Python tracing details"),
    TRACING_DETAIL_OPTIONS(offsetof(struct attach_values, trace)),
    OPTIONS_MORE_GROUP("sampling, buffers and pictures"),
    OFF_CPU_DETAIL_OPTIONS(offsetof(struct attach_values, sampling)),
    SOURCE_OPTION(offsetof(struct attach_values, sampling)),
    VOLUME_OPTION(offsetof(struct attach_values, volume_bytes)),
    {"pool-size", 0, OPTION_SIZE, offsetof(struct attach_values, pool_bytes), "SIZE",
     "buffer of each process (default: 16M)", NULL},
    POLICY_OPTION(offsetof(struct attach_values, policy)),
    PICTURE_OPTIONS(offsetof(struct attach_values, picture)),
    {"asked", 0, OPTION_FLAG, offsetof(struct attach_values, asked), NULL,
     "for programs: print to standard output when the recording begins and when it is complete; "
     "a line on standard input ends it",
     NULL},
    {0},
};

const struct cmd cmd_attach = {
    .name = "attach",
    .summary = "record running processes",
    .usage = "[OPTIONS] PID...",
    .details =
        "The processes go on as before. Annotations are recorded from the next event of a process\n"
        "on; annot ls lists processes that have some.\n",
    .examples = "  annot attach -d 30s -o now.annot 4711\n"
                "  annot attach --trace-functions=aggregate -d 10s 4711\n",
    .options = options,
    .values_size = sizeof(struct attach_values),
    .operands_min = 0,
    .operands_max = -1,
    .run = run_attach,
};
