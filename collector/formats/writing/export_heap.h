/* SPDX-License-Identifier: MIT */
/* Memory held at the peak and at the end, for formats that have their own sums of it: the numbers
 * of --value heap:peak and heap:held (sample_weight.h), with blocks. Thread-safety: no state
 * besides the trace's heap window. */
#ifndef ANNOT_EXPORT_HEAP_H
#define ANNOT_EXPORT_HEAP_H

#include "export.h"
#include "sample_weight.h"

#include <stdint.h>

/* Finds the instant at which all processes of the job held most, with a pass over the samples, for
 * export_heap_at(). 0 or -errno. The source is rewound. */
int export_heap_find_peak(const struct export_job *job, int64_t *ret_ns);

struct heap_change {
    int64_t bytes, blocks;
};

/* The change of held memory by a sample: HEAP_PEAK or HEAP_HELD; negative of frees. */
struct heap_change export_heap_at(const struct trace *trace, const struct sample *sample,
                                  enum heap_weight when);

#endif
