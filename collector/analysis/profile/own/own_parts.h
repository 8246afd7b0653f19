/* SPDX-License-Identifier: MIT */
/* Sums of own times. Shared by own_*.c only. */
#ifndef ANNOT_OWN_PARTS_H
#define ANNOT_OWN_PARTS_H

#include "own_time.h"

#include <stddef.h>

/* Stands for the reason in samples of CPU time. */
enum { OWN_ON_CPU = 15 };

/* The time of one thread at one stack. */
struct own_sum {
    uint32_t stack, thread; /* may be unknown to the trace */
    uint8_t reason;         /* enum wait_reason, or OWN_ON_CPU */
    uint64_t count, time_ns, ready_ns, max_ns, unfinished;
    uint64_t gil_ns; /* part of CPU time holding the GIL */
};

struct own_sums {
    const struct trace *trace;
    const struct own_label *labels;
    const struct own_sum *items;
    size_t count;
};

#endif
