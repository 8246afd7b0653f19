/* SPDX-License-Identifier: MIT */
/* The cost of a record to the collector, from the ring to the disk: a separate program emits at a
 * steady rate while a collector in this process drains it.
 *
 *     bench_collector [RECORDS_PER_SECOND [SECONDS]]
 *
 * bench_emitter lies beside it. Flows, ranges on tracks and marks with three key-values come at a
 * quarter of the rate. Prints JSON: records, losses, the collector's CPU time, that of its main
 * thread, bytes, and the cost of an idle program. */
#include "collector.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct load {
    const char *kind; /* of bench_emitter */
    char rate[32];
    const char *duration;
};

static pid_t start(const char *program, const char *session, const struct load *load)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setpriority(PRIO_PROCESS, 0, 0);
        setenv("ANNOT_SESSION", session, 1);
        execl(program, program, load->rate, load->duration, load->kind, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void run(const char *what, const char *program, const struct load *load)
{
    struct collector *collector;
    struct collector_error error;
    struct collector_counts counts;
    struct collector_options options = {.output = "bench_collector.annot", .overwrite = true};
    if (collector_create(&options, &collector, &error) != 0) {
        fprintf(stderr, "%s\n", error.what);
        exit(1);
    }
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), begin = seconds(CLOCK_MONOTONIC);
    double main_cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    pid_t pid = start(program, collector_session_text(collector), load);
    (void)setpriority(PRIO_PROCESS, 0, -10); /* as annot record does, where it may */
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        struct pollfd fd = {.fd = collector_fd(collector), .events = POLLIN};
        poll(&fd, 1, collector_timeout_ms(collector));
        if (collector_step(collector) != 0)
            exit(1);
    }
    int code = collector_finish(collector);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    main_cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - main_cpu;
    double wall = seconds(CLOCK_MONOTONIC) - begin;
    collector_count(collector, &counts);
    collector_destroy(collector);
    FILE *file = fopen("bench_collector.annot", "rb");
    long bytes = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (file)
        fclose(file);
    printf("{\"what\": \"%s\", \"result\": %d, \"records\": %" PRIu64 ", \"lost\": %" PRIu64
           ", \"wall_s\": %.3f, \"cpu_s\": %.3f, \"records_per_cpu_s\": %.0f, "
           "\"records_per_main_cpu_s\": %.0f, \"cpu_share\": %.4f, \"bytes_per_record\": %.3f}\n",
           what, code, counts.event_count, counts.lost_count, wall, cpu,
           (double)counts.event_count / cpu, (double)counts.event_count / main_cpu, cpu / wall,
           counts.event_count ? (double)bytes / (double)counts.event_count : 0);
    unlink("bench_collector.annot");
}

int main(int argc, char **argv)
{
    char directory[64];
    snprintf(directory, sizeof(directory), "/dev/shm/annot-bench-%d", (int)getpid());
    setenv("ANNOT_DIR", directory, 1);
    char emitter[4096];
    const char *slash = strrchr(argv[0], '/');
    snprintf(emitter, sizeof(emitter), "%.*sbench_emitter", slash ? (int)(slash - argv[0]) + 1 : 0,
             argv[0]);
    static const char *const kinds[] = {"flows", "tracks", "values"};
    struct load load = {"pairs", "20e6", argc > 2 ? argv[2] : "1.5"};
    if (argc > 1)
        snprintf(load.rate, sizeof(load.rate), "%s", argv[1]);
    double rate = atof(load.rate);
    run("paced", emitter, &load);
    snprintf(load.rate, sizeof(load.rate), "%g", rate / 4);
    for (unsigned i = 0; i < 3; i++) {
        load.kind = kinds[i];
        run(load.kind, emitter, &load);
    }
    load = (struct load){"pairs", "0", load.duration};
    run("idle", emitter, &load);
    return 0;
}
