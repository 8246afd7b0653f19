/* SPDX-License-Identifier: MIT */
/* Tracy on demand: it emits while a viewer is connected, which bench_rivals.py plays. `trace` only
 * says that one will connect. */
#include "rival.h"

#include <stdlib.h>
#include <time.h>
#include <tracy/TracyC.h>

void rival_begin(const char *trace)
{
    const struct timespec pause = {0, 10 * 1000 * 1000};
    for (int i = 0; trace && !TracyCIsConnected; i++) {
        if (i == 1000)
            exit(1);
        nanosleep(&pause, NULL);
    }
}

void rival_end(void)
{
}

void rival_pairs(int count)
{
    for (int i = 0; i < count; i++) {
        TracyCZoneN(zone, "bench", 1);
        TracyCZoneEnd(zone);
    }
}

void rival_counters(int count)
{
    for (int i = 0; i < count; i++)
        TracyCPlotI("bench counter", i);
}
