/* SPDX-License-Identifier: MIT */
/* Begins and ends a task repeatedly until standard input ends, for recordings that begin later.
 * Prints "ready" after the first one, and at the end the number of tasks and the flags of their
 * domain. A counter increases with each. With an argument, it is paused all the time. A forked
 * child ends its own pause at the end. */
#include "itt_part.h"

#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_over(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 1) > 0;
}

static void fork_and_resume(void)
{
    pid_t child = fork();
    if (child == 0) {
        __itt_resume();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        __itt_pause();
    __itt_domain *domain = __itt_domain_create("ticks");
    __itt_string_handle *name = __itt_string_handle_create("tick");
    __itt_counter counter = __itt_counter_create("ticks", "ticks");
    int count = 0;
    do {
        __itt_task_begin(domain, __itt_null, __itt_null, name);
        __itt_counter_inc(counter);
        __itt_task_end(domain);
        if (count++ == 0) {
            puts("ready");
            fflush(stdout);
        }
    } while (!is_over());
    if (argc > 1)
        fork_and_resume();
    printf("%d %d\n", count, domain ? domain->flags : -1);
    return 0;
}
