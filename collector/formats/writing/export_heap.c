/* SPDX-License-Identifier: MIT */
/* Implements export_heap.h. */
#include "export_heap.h"

#include "heap_stats.h"
#include "trace.h"

static int no_events(void *context, struct event_batch *ret_batch)
{
    (void)context;
    (void)ret_batch;
    return 0;
}

/* Selected ranges need the events; other selections do not. */
int export_heap_find_peak(const struct export_job *job, int64_t *ret_ns)
{
    struct pass_source source = *job->source;
    if (!job->selection->range)
        source.next_events = no_events;
    int error = heap_stats_find_peak(&source, job->selection);
    *ret_ns = trace_heap_window(source.trace)->peak_ns;
    return error ? error : source.seek(source.context, INT64_MIN, false, false);
}

struct heap_change export_heap_at(const struct trace *trace, const struct sample *sample,
                                  enum heap_weight when)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    const struct sample_weight weight = {.heap = (uint8_t)when, .trace = trace};
    int64_t bytes = sample_heap_weight(weight, sample);
    if (bytes == 0)
        return (struct heap_change){0};
    return (struct heap_change){bytes, sample_value(sets, sample, VALUE_TYPE_ALLOC_OBJECTS) -
                                           sample_value(sets, sample, VALUE_TYPE_FREE_OBJECTS)};
}
