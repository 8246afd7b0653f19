/* SPDX-License-Identifier: MIT */
/* annot itself; recorded under `annot record`. */
#include "rival.h"

#include <annot/annot.h>

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
        ANNOT_PUSH("bench");
        ANNOT_POP();
    }
}

void rival_counters(int count)
{
    for (int i = 0; i < count; i++)
        ANNOT_COUNTER("bench counter", i);
}
