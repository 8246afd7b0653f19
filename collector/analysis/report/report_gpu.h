/* SPDX-License-Identifier: MIT */
/* The tables of GPUs: work, graphs, queues, stalls. 0 or -ENOMEM. Thread-safety: one thread per
 * report. */
#ifndef ANNOT_REPORT_GPU_H
#define ANNOT_REPORT_GPU_H

#include "range_stats.h"
#include "report_build.h"
#include "table.h"

#include <stdint.h>

/* As report_durations, of tables of GPUs. */
const struct range_duration *report_gpu_durations(const struct report *report,
                                                  const struct table *table, uint64_t row,
                                                  uint32_t *ret_count);

#endif
