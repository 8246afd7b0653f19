/* SPDX-License-Identifier: MIT */
/* emit_ticks MILLISECONDS [FILE]: a range "tick" every 5 ms inside "outer", accounted for one by
 * one; with FILE in the background, as a daemon whose account goes there when it ends.
 *
 * SIGINT ends it early; each is counted. The program lives on both sides of the edges of a
 * recording, so the account says for each tick if a recording was on. One thread. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <annot/annot.h>

#include "account.h"

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupts++;
}

static void become_daemon(const char *path)
{
    if (fork() > 0)
        _exit(0);
    setsid();
    if (fork() > 0)
        _exit(0);
    umask(077);
    if (!freopen("/dev/null", "r", stdin) || !freopen(path, "w", stdout) ||
        !freopen("/dev/null", "w", stderr))
        _exit(3);
}

static void tick(int number)
{
    char name[32];
    snprintf(name, sizeof(name), "tick %d", number);
    int enabled = annot_enabled();
    errno = 4711;
    int64_t begin = emit_now();
    annot_push(name);
    int64_t pushed = emit_now();
    emit_sleep_ms(5);
    int64_t popping = emit_now();
    annot_pop();
    int64_t end = emit_now();
    enabled = enabled && annot_enabled();
    printf("{\"name\":\"%s\",\"begin\":[%" PRId64 ",%" PRId64 "],\"end\":[%" PRId64 ",%" PRId64
           "],\"enabled\":%d,\"errno\":%d}\n",
           name, begin, pushed, popping, end, enabled, errno);
}

int main(int argc, char **argv)
{
    int64_t milliseconds = argc > 1 ? atoll(argv[1]) : 100;
    if (argc > 2)
        become_daemon(argv[2]);
    signal(SIGINT, on_interrupt);
    annot_push("outer");
    int64_t until = emit_now() + milliseconds * 1000000;
    for (int i = 0; emit_now() < until && !interrupts; i++)
        tick(i);
    int64_t last = emit_now();
    annot_pop();
    if (interrupts)
        emit_sleep_ms(300); /* time for a second SIGINT */
    printf("{\"name\":\"outer\",\"closed\":%" PRId64 ",\"interrupts\":%d}\n", last,
           (int)interrupts);
    return 0;
}
