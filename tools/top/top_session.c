/* SPDX-License-Identifier: MIT */
/* The session of `annot top`: observes running processes, all processes, or a command. See
 * top.h. */
#include "python_environment.h"
#include "top.h"

#include "clock_now.h"
#include "cmd.h"
#include "proc_info.h"
#include "stacks.h"
#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Limits above which the session restarts, as it does above the limit of stacks from the options.
 * At the defaults this is about 150 MiB of past data. */
enum { STRINGS_MAX = 1 << 20, THREADS_MAX = 1 << 16 };

/* The shortest time between restarts, so that some data can be seen. */
#define ANEW_NS INT64_C(5000000000)

/* Events wait this long for earlier ones of other sources. */
#define SETTLE_NS INT64_C(200000000)

/* ---- Events and samples ---------------------------------------------------------------------- */

static int take_events(void *context, const struct event_batch *batch)
{
    struct top_session *session = context;
    bool counters = batch->late && batch->count > 0 && batch->events->kind == EVENT_COUNTER;
    return counters ? 0 : recent_ranges_add(session->ranges, batch);
}

static int take_samples(void *context, const struct sample *samples, size_t count)
{
    struct top_session *session = context;
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        error = recent_add(session->recent, &samples[i]);
        if (!error)
            error = recent_ranges_add_sample(session->ranges, &samples[i]);
        if (!error && session->memory)
            error = top_memory_add(session->memory, &samples[i]);
    }
    return error;
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* Kernel threads have neither memory nor code that could be named. */
static bool is_root_of_others(int32_t pid)
{
    enum { KERNEL_THREADS = 2 };

    struct proc_stat status;
    if (pid == KERNEL_THREADS || proc_stat(pid, &status) != 0 || proc_check_owner(pid) != 0)
        return false;
    return status.ppid == 0 || proc_check_owner(status.ppid) != 0;
}

/* Tracks observable processes without an observable parent: all others descend from them. */
static int track_roots(const struct top_session *session)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    uint32_t count = 0;
    while (proc && (entry = readdir(proc))) {
        int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (isdigit((unsigned char)entry->d_name[0]) && is_root_of_others(pid))
            count += collector_track(session->collector, pid, SAMPLER_TRACK_ATTACH) == 0;
    }
    if (proc)
        closedir(proc);
    return count > 0 ? 0 : cmd_fail(CMD_FAILED, "there are no processes to look at");
}

/* Finds processes with libannot, for their ranges. */
static void find_annotated(struct pid_list *list)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    struct target target;
    list->count = 0;
    while (proc && list->count < PID_LIST_MAX && (entry = readdir(proc))) {
        int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (isdigit((unsigned char)entry->d_name[0]) && pid != getpid() &&
            proc_check_owner(pid) == 0 && target_look(pid, &target) == 0 &&
            target.state == TARGET_READY)
            list->items[list->count++] = pid;
    }
    if (proc)
        closedir(proc);
}

/* The message on failure is that of `annot attach`. */
static int track_named(const struct top_session *session)
{
    for (uint32_t i = 0; i < session->programs.count; i++) {
        int32_t pid = session->programs.items[i].target.pid;
        int error = collector_track(session->collector, pid, SAMPLER_TRACK_ATTACH);
        if (error != 0 && !(error == -ESRCH && session->anew_count > 0))
            return attach_programs_fail(pid, -error);
    }
    return 0;
}

/* ---- The collector --------------------------------------------------------------------------- */

/* The working directory of the only process, to which paths are relative; "": the one of annot. */
static void find_place(const struct top_session *session, char place[PATH_MAX])
{
    char link[64];
    if (session->pids.count != 1 || session->all)
        return;
    snprintf(link, sizeof(link), "/proc/%d/cwd", (int)session->pids.items[0]);
    ssize_t length = readlink(link, place, PATH_MAX - 1);
    place[length > 0 ? length : 0] = 0;
}

static int make_collector(struct top_session *session)
{
    const struct collector_sink sink = {take_events, take_samples, session};
    struct collector_error error;
    char place[PATH_MAX] = "";
    find_place(session, place);
    struct collector_options options = {
        .target = attach_programs_leader(&session->programs),
        .sink = &sink,
        .command = "annot top",
        .version = ANNOT_VERSION,
        .place = place[0] ? place : NULL,
        .attach = true,
        .paused = true,
        .filter = "",
    };
    sampling_apply(&session->values->sampling, &options);
    if (session->with_command)
        memory_apply(&session->values->memory, &session->memory_environment, &options);
    int code = collector_create(&options, &session->collector, &error);
    if (code != 0)
        return cmd_fail(CMD_FAILED, error.hint[0] ? "%s\n%s" : "%s%s", error.what, error.hint);
    struct trace *trace = (struct trace *)collector_trace(session->collector);
    int64_t now_ns = clock_now_ns();
    session->recent = recent_create(trace, now_ns);
    session->ranges = recent_ranges_create(trace, now_ns);
    if (session->values->memory.on)
        session->memory = top_memory_create(trace);
    bool made = session->recent && session->ranges;
    return made && (session->memory || !session->values->memory.on)
               ? 0
               : cmd_fail(CMD_FAILED, "out of memory");
}

/* Without samples there is nothing to show: fails. */
static int check_rung(const struct top_session *session)
{
    const struct trace *trace = collector_trace(session->collector);
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    const char *hint = trace_string(trace, sampling->hint)->bytes;
    if (sampling->rung > SAMPLING_NONE)
        return 0;
    return cmd_fail(CMD_FAILED,
                    *hint ? "threads cannot be sampled here: %s\n%s"
                          : "threads cannot be sampled here: %s%s",
                    trace_string(trace, sampling->reason)->bytes, hint);
}

static int open_gate(struct top_session *session)
{
    int code = collector_open_gate(session->collector);
    if (code != 0)
        return cmd_fail(CMD_FAILED, "cannot begin: %s", strerror(-code));
    session->begin_ns = clock_now_ns();
    return 0;
}

static int begin_running(struct top_session *session)
{
    int status = 0;
    if (session->all)
        find_annotated(&session->pids);
    if (session->pids.count > 0)
        status = attach_programs_init(&session->programs, &session->pids, ATTACH_SAMPLED);
    if (status == 0)
        status = make_collector(session);
    if (status == 0)
        status = check_rung(session);
    if (status != 0)
        return status;
    attach_programs_annotate(&session->programs, session->collector);
    status = open_gate(session);
    if (status == 0)
        status = session->all ? track_roots(session) : track_named(session);
    return status;
}

static void close_parts(struct top_session *session)
{
    if (session->collector)
        (void)collector_finish(session->collector);
    recent_ranges_destroy(session->ranges);
    recent_destroy(session->recent);
    top_memory_destroy(session->memory);
    collector_destroy(session->collector);
    attach_programs_fini(&session->programs);
    session->ranges = NULL;
    session->recent = NULL;
    session->memory = NULL;
    session->collector = NULL;
}

/* ---- A command ------------------------------------------------------------------------------- */

struct starting {
    struct top_session *session;
    int status;
};

/* Runs between fork and exec: the command's libannot is found once it is loaded. */
static void on_forked(void *context, pid_t pid)
{
    struct starting *starting = context;
    struct top_session *session = starting->session;
    struct target target;
    char other[PATH_MAX];
    session->pids = (struct pid_list){.items = {pid}, .count = 1};
    if (target_look(pid, &target) == 0)
        (void)collector_annotate(session->collector, &target, other);
    starting->status = open_gate(session);
    (void)collector_track(session->collector, pid, SAMPLER_TRACK_WAIT_EXEC);
}

/* While the screen is taken, output of the command is discarded, but the end of its stderr is
 * kept. */
struct streams {
    int kept[3];
};

static void mute_streams(struct top_session *session, struct streams *streams)
{
    int none = open("/dev/null", O_RDWR | O_CLOEXEC);
    session->stderr_fd = memfd_create("annot-top-stderr", MFD_CLOEXEC);
    fflush(NULL);
    for (int fd = 0; fd < 3; fd++) {
        streams->kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        dup2(fd == STDERR_FILENO && session->stderr_fd >= 0 ? session->stderr_fd : none, fd);
    }
    close(none);
}

static void restore_streams(const struct streams *streams)
{
    for (int fd = 0; fd < 3; fd++) {
        dup2(streams->kept[fd], fd);
        close(streams->kept[fd]);
    }
}

struct command_environment {
    struct python_environment python;
    struct inject_environment inject;
    struct child_variable
        variables[PYTHON_VARIABLES_MAX + INJECT_VARIABLES_MAX + MEMORY_VARIABLES_MAX];
    size_t count;
};

static void fill_environment(struct command_environment *environment, struct top_session *session)
{
    const struct top_values *values = session->values;
    struct child_variable *variables = environment->variables;
    size_t python = python_environment(&values->python, &environment->python);
    size_t inject = inject_environment(&values->inject, &environment->inject);
    memcpy(variables, environment->python.variables, python * sizeof(*variables));
    memcpy(variables + python, environment->inject.variables, inject * sizeof(*variables));
    const char *preload = environment->python.preload[0] ? environment->python.preload : NULL;
    size_t memory = memory_environment(&values->memory, session->collector, preload,
                                       &session->memory_environment);
    memcpy(variables + python + inject, session->memory_environment.variables,
           memory * sizeof(*variables));
    environment->count = python + inject + memory;
}

static int start(struct top_session *session, bool mute)
{
    struct command_environment *environment = calloc(1, sizeof(*environment));
    struct starting starting = {session, 0};
    struct streams streams;
    if (!environment)
        return cmd_fail(CMD_FAILED, "out of memory");
    fill_environment(environment, session);
    const struct child_command command = {
        .argv = session->program.argv,
        .variables = environment->variables,
        .variable_count = environment->count,
        .forked = on_forked,
        .context = &starting,
    };
    if (mute)
        mute_streams(session, &streams);
    int error = child_start(&session->child, &command);
    if (mute)
        restore_streams(&streams);
    free(environment);
    session->child.ended = error != 0;
    if (error != 0)
        return program_fail(session->program.argv[0], error);
    return starting.status;
}

static int begin_command(struct top_session *session, char **command, bool mute)
{
    int status = program_choose(&session->program, command);
    session->with_command = true;
    if (status == 0)
        status = make_collector(session);
    if (status == 0)
        status = check_rung(session);
    if (status == 0)
        status = memory_begin(&session->values->memory, session->collector, CMD_FAILED);
    if (status != 0)
        return status;
    child_prepare(&session->child, &session->signals);
    session->child.hidden = mute;
    session->has_child = true;
    return start(session, mute);
}

/* Prints the end of the stderr of a command that failed while the screen was taken. */
static void report_last_words(const struct top_session *session)
{
    enum { LAST_BYTES = 4000 };

    char text[LAST_BYTES + 1];
    off_t size = session->stderr_fd >= 0 ? lseek(session->stderr_fd, 0, SEEK_END) : 0;
    off_t from = size > LAST_BYTES ? size - LAST_BYTES : 0;
    if (session->child.wait_status == 0 || size <= 0)
        return;
    ssize_t length = pread(session->stderr_fd, text, LAST_BYTES, from);
    if (length > 0)
        fwrite(text, 1, (size_t)length, stderr);
}

static void forget(void *context, pid_t pid, int wait_status)
{
    (void)context, (void)pid, (void)wait_status;
}

/* Terminates the command, which ran only for the observation. */
static void end_command(struct top_session *session)
{
    enum { PATIENCE_MS = 2000, LOOK_MS = 20 };

    if (!session->has_child)
        return;
    bool ended = session->child.ended;
    if (!ended && session->child.pid > 0)
        kill(session->child.pid, SIGTERM);
    for (int waited = 0; session->child.pid > 0 && !session->child.ended && waited < PATIENCE_MS;
         waited += LOOK_MS) {
        struct pollfd fd = {.fd = session->signals.fd, .events = POLLIN};
        poll(&fd, 1, LOOK_MS);
        child_take_signals(&session->child, forget, NULL);
    }
    if (ended)
        report_last_words(session);
    if (session->stderr_fd >= 0)
        close(session->stderr_fd);
}

/* ---- Session --------------------------------------------------------------------------------- */

static void describe(struct top_session *session, char **command)
{
    char line[COMMAND_TEXT_SIZE], pids[PID_LIST_TEXT_SIZE];
    struct text text = text_init(session->command, sizeof(session->command));
    if (session->all) {
        text_format(&text, "all processes");
    } else if (command) {
        for (char **word = session->program.argv; word && *word; word++)
            text_format(&text, word == session->program.argv ? "%s" : " %s", *word);
    } else if (session->pids.count > 1) {
        text_format(&text, "processes %s", pid_list_text(&session->pids, pids));
    } else {
        proc_command(session->pids.items[0], line);
        text_format(&text, "%.200s (%d)", top_short_command(line), (int)session->pids.items[0]);
    }
}

int top_session_begin(struct top_session *session, char **command, bool mute)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max; /* files of programs stay open for their symbols */
    setrlimit(RLIMIT_NOFILE, &files);
    session->stderr_fd = -1;
    if (signals_begin(&session->signals, command != NULL) != 0)
        return cmd_fail(CMD_FAILED, "cannot watch for signals");
    int status = command ? begin_command(session, command, mute) : begin_running(session);
    describe(session, command);
    return status;
}

void top_session_end(struct top_session *session)
{
    end_command(session); /* before leaving the directory that it may use */
    close_parts(session);
    program_fini(&session->program);
    signals_end(&session->signals);
}

int top_session_fd(const struct top_session *session)
{
    return collector_fd(session->collector);
}

int top_session_timeout_ms(const struct top_session *session)
{
    return collector_timeout_ms(session->collector);
}

static void on_ended(void *context, pid_t pid, int wait_status)
{
    struct top_session *session = context;
    collector_note_exit(session->collector, pid, wait_status);
}

void top_session_take_signal(struct top_session *session, const struct signal_sent *sent)
{
    if (session->has_child)
        child_take_signal(&session->child, sent, on_ended, session);
    else if (sent->number == SIGTSTP)
        signals_stop(&session->signals, SIGTSTP, 0);
}

int top_session_step(struct top_session *session)
{
    int error = collector_step(session->collector);
    int64_t now_ns = clock_now_ns();
    if (error || session->held || now_ns < session->next_settle_ns)
        return error;
    session->next_settle_ns = now_ns + SETTLE_NS;
    return recent_ranges_settle(session->ranges, now_ns - RECENT_HOLD_NS);
}

int top_session_hold(struct top_session *session, bool hold)
{
    session->held = hold;
    int error = session->memory ? top_memory_hold(session->memory, hold) : 0;
    return error ? error : recent_hold(session->recent, hold);
}

static bool is_too_much(const struct top_session *session)
{
    const struct trace *trace = collector_trace(session->collector);
    uint64_t most = session->values->stacks;
    return stacks_kept_count(trace_stacks_get(trace)) > most ||
           recent_size(session->recent) > most || trace_string_count(trace) > STRINGS_MAX ||
           trace_thread_count(trace) > THREADS_MAX;
}

/* Restarts with the named processes that still run, or with the command itself. */
static int begin_anew(struct top_session *session)
{
    bool quiet = cmd_is_quiet();
    struct pid_list left = {0};
    for (uint32_t i = 0; i < session->pids.count; i++)
        if (kill(session->pids.items[i], 0) == 0)
            left.items[left.count++] = session->pids.items[i];
    session->anew_count++;
    close_parts(session);
    cmd_set_quiet(true);
    session->pids = left;
    int status = left.count > 0 || session->all ? begin_running(session) : -ESRCH;
    cmd_set_quiet(quiet);
    return status == 0 ? 0 : -ESRCH;
}

int top_session_renew(struct top_session *session, int64_t now_ns)
{
    bool may = now_ns - session->begin_ns >= ANEW_NS;
    if (may && is_too_much(session) && begin_anew(session) != 0)
        return -ESRCH;
    recent_renew(session->recent, now_ns);
    return collector_emit_waiting(session->collector);
}

int top_session_complete(struct top_session *session, int64_t now_ns)
{
    recent_renew(session->recent, now_ns);
    int error = collector_complete(session->collector);
    return error ? error : recent_ranges_settle(session->ranges, now_ns);
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

bool top_session_is_over(const struct top_session *session)
{
    if (session->all)
        return false;
    if (session->has_child)
        return session->child.ended && !any_descendant(collector_trace(session->collector));
    for (uint32_t i = 0; i < session->programs.count; i++) {
        struct pollfd ended = {.fd = session->programs.items[i].pidfd, .events = POLLIN};
        if (poll(&ended, 1, 0) == 0)
            return false;
    }
    return !any_descendant(collector_trace(session->collector));
}
