/* SPDX-License-Identifier: MIT */
/* LTTng-UST: static tracepoints without fields begin and end a range, one with an integer is the
 * counter. Recorded by a session of its daemons. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include <stdint.h>

#include "lttng_events.h"
#include "rival.h"

void rival_begin(const char *trace)
{
    (void)trace;
}

void rival_end(void)
{
}

void rival_pairs(int count)
{
    for (int i = 0; i < count; i++) {
        lttng_ust_tracepoint(rival, begin);
        lttng_ust_tracepoint(rival, end);
    }
}

void rival_counters(int count)
{
    for (int i = 0; i < count; i++)
        lttng_ust_tracepoint(rival, counter, i);
}
