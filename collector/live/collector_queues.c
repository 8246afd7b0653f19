/* SPDX-License-Identifier: MIT */
/* The end of a session, for those who watch queues in programs that go on: they have things that no
 * buffer of ours holds yet, and are asked for them. */
#include "collector_parts.h"

#include "clock_now.h"

#include <time.h>

#define AWAIT_NS INT64_C(500000000)

void collector_await_queues(struct collector *collector, struct intake *intake)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t until_ns = clock_now_ns() + AWAIT_NS;
    if (!intake_awaits_queues(intake))
        return;
    intake_ask_queues(intake);
    while (collector_step(collector) == 0 && intake_awaits_queues(intake) &&
           clock_now_ns() < until_ns)
        nanosleep(&pause, NULL);
}
