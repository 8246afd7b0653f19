/* SPDX-License-Identifier: MIT */
/* Annotated programs that replace each other in one process and give the same ids to their names.
 *
 * target_images MODE LAST [NUMBER]: image NUMBER, up to LAST, opens "wait NUMBER" and in it "work
 * NUMBER". "exec": works, then becomes the next image. "fork": leaves the work to a forked child,
 * which begins it when the next image is there. "leave": ends up as a sleep that is not annotated.
 * While the image is exchanged the collector, our parent, is stopped: so it sees the old image's
 * work and the new one's segment all at once. */
#include "spin.h"

#include "annot/annot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAUSE_US = 300000, EXCHANGE_US = 50000, WORK_NS = 40 * 1000 * 1000 };

static volatile int64_t worked_ns;

static __attribute__((noinline)) void work(void)
{
    worked_ns = spin_inline(WORK_NS);
}

static void become(char **argv, int number)
{
    char text[16];
    snprintf(text, sizeof(text), "%02d", number);
    execl("/proc/self/exe", argv[0], argv[1], argv[2], text, NULL);
    _exit(127);
}

static void become_sleep(void)
{
    execlp("sleep", "sleep", "60", NULL);
    _exit(127);
}

static void leave_to_child(void)
{
    if (fork() != 0)
        return;
    usleep(EXCHANGE_US);
    work();
    _exit(0);
}

int main(int argc, char **argv)
{
    int number = argc > 3 ? atoi(argv[3]) : 0;
    char waiting[32], working[32];
    if (argc < 3)
        return 2;
    snprintf(waiting, sizeof(waiting), "wait %02d", number);
    snprintf(working, sizeof(working), "work %02d", number);
    annot_push(waiting);
    annot_push(working);
    annot_pop();
    kill(getppid(), SIGCONT);
    usleep(PAUSE_US); /* the parent discovers this image */
    if (number < atoi(argv[2]))
        kill(getppid(), SIGSTOP);
    annot_push(working);
    if (strcmp(argv[1], "leave") == 0)
        become_sleep();
    if (strcmp(argv[1], "fork") == 0 && number < atoi(argv[2]))
        leave_to_child();
    else
        work();
    if (number < atoi(argv[2]))
        become(argv, number + 1);
    while (wait(NULL) > 0)
        ;
    return 0;
}
