/* SPDX-License-Identifier: MIT */
/* emit_signals SECONDS [die]: two processes, each of which writes ranges as fast as it is useful,
 * and counts them and the signals that it gets.
 *
 * Prints one line of JSON when it is ready, and one for each process at its end. With "die" no
 * signal is caught. One thread each. */
#include <annot/annot.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 200 };

static volatile sig_atomic_t got[65];

static void on_signal(int number)
{
    got[number]++;
}

static void catch_all(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGCHLD && number != SIGTSTP && number != SIGTTIN && number != SIGTTOU)
            sigaction(number, &action, NULL);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void tell(const char *who, uint64_t ranges)
{
    const char *comma = "";
    flockfile(stdout);
    printf("{\"who\": \"%s\", \"ranges\": %" PRIu64 ", \"signals\": {", who, ranges);
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (got[number])
            printf("%s\"%d\": %d", comma, number, (int)got[number]);
        comma = got[number] ? ", " : comma;
    }
    printf("}}\n");
    fflush(stdout);
    funlockfile(stdout);
}

static uint64_t write_ranges(int64_t end_ns)
{
    const struct timespec pause = {.tv_nsec = 500000};
    uint64_t ranges = 0;
    while (now_ns() < end_ns) {
        for (int i = 0; i < BURST; i++) {
            annot_push("burst");
            annot_pop();
        }
        ranges += BURST;
        nanosleep(&pause, NULL);
    }
    return ranges;
}

int main(int argc, char **argv)
{
    int64_t end_ns = now_ns() + (int64_t)(1e9 * (argc > 1 ? atof(argv[1]) : 1));
    int status = 0;
    if (argc <= 2 || strcmp(argv[2], "die") != 0)
        catch_all();
    pid_t child = fork();
    if (child != 0)
        printf("{\"command\": %d, \"child\": %d}\n", (int)getpid(), (int)child);
    fflush(stdout);
    uint64_t ranges = write_ranges(end_ns);
    while (child > 0 && waitpid(child, &status, 0) < 0)
        ;
    tell(child ? "command" : "child", ranges);
    return child ? 7 : 0;
}
