/* SPDX-License-Identifier: MIT */
/* The cost of a large library to the collector's other work: one program emits pairs at a steady
 * rate while another one, which spends its time in large libraries, is sampled with native stacks.
 *
 *     bench_library RECORDS_PER_SECOND SECONDS COMMAND...
 *
 * bench_emitter lies beside it. The command begins a third of a second later; its output is
 * dropped. Twice: with an empty cache of unwind rows, and with the cache of the first time. A look
 * is a call of collector_step. Prints JSON: records, losses, samples, those with a native stack cut
 * for want of rows, and the longest time between two looks of the main thread. */
#include "collector.h"
#include "trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_HZ = 199 };

#define COMMAND_AFTER_S 0.33

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static pid_t start_emitter(const char *program, const char *session, char **argv)
{
    pid_t pid = fork();
    if (pid == 0) {
        setenv("ANNOT_SESSION", session, 1);
        execl(program, program, argv[1], argv[2], "pairs", (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* It waits until it is sampled. */
static pid_t start_command(struct collector *collector, char **command)
{
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        int quiet = open("/dev/null", O_WRONLY);
        dup2(quiet, STDOUT_FILENO);
        dup2(quiet, STDERR_FILENO);
        if (read(gate[0], &byte, 1) == 1)
            execvp(command[0], command);
        _exit(127);
    }
    int error = collector_track(collector, pid, SAMPLER_TRACK_WAIT_EXEC);
    if (error || write(gate[1], "", 1) != 1) {
        fprintf(stderr, "cannot sample %s: %s\n", command[0], strerror(-error));
        kill(pid, SIGKILL);
        exit(1);
    }
    close(gate[0]);
    close(gate[1]);
    return pid;
}

struct looks {
    double longest_s, longest_cpu_s; /* of one */
    double away_s;                   /* from the begin of one to the begin of the next */
    double last_s;
};

static void look(struct collector *collector, struct looks *looks)
{
    double begin = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    double away = looks->last_s > 0 ? begin - looks->last_s : 0;
    if (collector_step(collector) != 0)
        exit(1);
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    double took = seconds(CLOCK_MONOTONIC) - begin;
    looks->longest_s = took > looks->longest_s ? took : looks->longest_s;
    looks->longest_cpu_s = cpu > looks->longest_cpu_s ? cpu : looks->longest_cpu_s;
    looks->away_s = away > looks->away_s ? away : looks->away_s;
    looks->last_s = begin;
}

static void report(const char *what, struct collector *collector, const struct looks *looks)
{
    const struct trace *trace = collector_trace(collector);
    struct collector_counts counts;
    collector_count(collector, &counts);
    printf("{\"what\": \"%s\", \"rung\": %d, \"records\": %" PRIu64 ", \"lost\": %" PRIu64
           ", \"samples\": %" PRIu64 ", \"copies\": %" PRIu64 ", \"cut_for_rows\": %" PRIu64
           ", \"ring_full\": %" PRIu64 ", \"rows\": %" PRIu64
           ", \"longest_look_ms\": %.2f, \"longest_look_cpu_ms\": %.2f, "
           "\"longest_away_ms\": %.2f}\n",
           what, trace_sampling_get(trace)->rung, counts.event_count, counts.lost_count,
           counts.sample_count, trace_fact_value(trace, "stacks unwound by the collector"),
           trace_fact_value(trace, "native stacks: no unwind table"),
           trace_fact_value(trace, "samples: the ring was full"),
           trace_fact_value(trace, "unwind rows"), 1e3 * looks->longest_s,
           1e3 * looks->longest_cpu_s, 1e3 * looks->away_s);
    fflush(stdout);
}

static void run(const char *what, const char *emitter, char **argv)
{
    struct collector *collector;
    struct collector_error error;
    struct collector_options options = {
        .output = "bench_library.annot", .overwrite = true, .sample_hz = SAMPLE_HZ};
    if (collector_create(&options, &collector, &error) != 0) {
        fprintf(stderr, "%s\n", error.what);
        exit(1);
    }
    pid_t pid = start_emitter(emitter, collector_session_text(collector), argv), command = 0;
    (void)setpriority(PRIO_PROCESS, 0, -10); /* as annot record does, where it may */
    struct looks looks = {0};
    double begin = seconds(CLOCK_MONOTONIC);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        struct pollfd fd = {.fd = collector_fd(collector), .events = POLLIN};
        poll(&fd, 1, collector_timeout_ms(collector));
        look(collector, &looks);
        if (!command && seconds(CLOCK_MONOTONIC) - begin > COMMAND_AFTER_S) {
            setpriority(PRIO_PROCESS, 0, 0);
            command = start_command(collector, argv + 3);
            (void)setpriority(PRIO_PROCESS, 0, -10);
            looks.last_s = 0; /* that was no look */
        }
    }
    if (command)
        kill(command, SIGKILL);
    if (collector_finish(collector) != 0)
        exit(1);
    if (command)
        waitpid(command, NULL, 0);
    report(what, collector, &looks);
    collector_destroy(collector);
    unlink("bench_library.annot");
    (void)setpriority(PRIO_PROCESS, 0, 0);
}

int main(int argc, char **argv)
{
    char place[] = "/tmp/bench_library-XXXXXX", path[4200], command[4300];
    const char *slash = strrchr(argv[0], '/');
    if (argc < 4 || !mkdtemp(place)) {
        fprintf(stderr, "bench_library RECORDS_PER_SECOND SECONDS COMMAND...\n");
        return 2;
    }
    snprintf(path, sizeof(path), "%s/annot", place);
    setenv("ANNOT_DIR", path, 1);
    setenv("XDG_CACHE_HOME", place, 1);
    snprintf(path, sizeof(path), "%.*sbench_emitter", slash ? (int)(slash - argv[0]) + 1 : 0,
             argv[0]);
    run("rows are built", path, argv);
    run("rows are cached", path, argv);
    snprintf(command, sizeof(command), "rm -r %s", place);
    return system(command) != 0;
}
