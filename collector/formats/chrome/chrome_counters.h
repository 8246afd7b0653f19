/* SPDX-License-Identifier: MIT */
/* Counters: an event with one argument, for a group one argument a series. The format has no units:
 * that of a counter is the name of its argument, that of a series is appended to its name. JSON has
 * no NaN and no infinity: such values are left out and counted. */
#ifndef ANNOT_CHROME_COUNTERS_H
#define ANNOT_CHROME_COUNTERS_H

#include "counter_groups.h"
#include "event.h"
#include "export_ids.h"

#include <stdint.h>

struct chrome_writer;
struct chrome_gpu;

struct chrome_counters {
    struct chrome_writer *writer;
    struct chrome_gpu *gpu;
    struct counter_groups groups;
    struct export_text label, series; /* of the one being written */
    uint64_t left_out;                /* values */
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_counters_init(struct chrome_counters *counters, struct chrome_gpu *gpu);
int chrome_counters_add(struct chrome_counters *counters, const struct event *event);
int chrome_counters_finish(struct chrome_counters *counters);
void chrome_counters_fini(struct chrome_counters *counters);

#endif
