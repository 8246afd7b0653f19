/* SPDX-License-Identifier: MIT */
/* Counters: an event of one argument, of a group one argument a series. The format knows no units:
 * that of a counter is the name of its argument, of a series it stands behind. JSON has no NaN and
 * no infinity: such values are left out and counted. Thread-safety: none. */
#ifndef ANNOT_CHROME_COUNTERS_H
#define ANNOT_CHROME_COUNTERS_H

#include "chrome_writer.h"
#include "counter_groups.h"

struct chrome_counters {
    struct chrome_writer *writer;
    struct counter_groups groups;
    uint64_t left_out; /* values */
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_counters_init(struct chrome_counters *counters, struct chrome_writer *writer);
int chrome_counters_add(struct chrome_counters *counters, const struct event *event);
int chrome_counters_finish(struct chrome_counters *counters);
void chrome_counters_fini(struct chrome_counters *counters);

#endif
