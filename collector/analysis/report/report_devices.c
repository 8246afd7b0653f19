/* SPDX-License-Identifier: MIT */
/* Whose device a counter is about: what the driver counts of GPUs, in the words of programs. */
#include "report_parts.h"

#include "text.h"
#include "trace_devices.h"

#include <string.h>

enum { DEVICE_SIZE = 256 };

bool report_has_devices(const struct report *report)
{
    const struct trace *trace = report->trace;
    for (uint32_t i = 0; i < trace_device_count(trace); i++) {
        uint32_t thread = trace_device_get(trace, i)->thread;
        if (thread && trace_device_next_lane(trace, thread - 1, 0))
            return true;
    }
    return false;
}

void report_fill_device(const struct report *report, uint32_t index, struct table_row *row,
                        unsigned column)
{
    const struct trace *trace = report->trace;
    uint32_t thread = range_stats_row(report->stats, index)->recent_thread - 1, lane = 0;
    const struct trace_device *counted = trace_device_of_thread(trace, thread);
    size_t size;
    char *room = row_room(row, &size), device[DEVICE_SIZE], program[DEVICE_SIZE];
    struct text text = text_init(room, size);
    while ((lane = trace_device_next_lane(trace, thread, lane)) != 0) {
        uint32_t process = trace_lane_get(trace, lane - 1)->process;
        const struct trace_process *entry = trace_process_get(trace, process);
        bool is_part = trace_device_relation(trace, counted,
                                             trace_device_of_lane(trace, lane - 1)) == DEVICE_PART;
        trace_lane_label(trace, lane - 1, device, sizeof(device));
        trace_process_label(trace, process, program, sizeof(program));
        text_format(&text, "%s%s%s (%s, %d)", text.length ? "; " : "",
                    is_part ? "the whole of " : "", device, program, entry ? entry->pid : 0);
    }
    row_take(row, column, text.length);
}

void report_fill_device_label(const struct report *report, uint32_t index, struct table_row *row,
                              unsigned column)
{
    const struct trace *trace = report->trace;
    const struct range_row *stats = range_stats_row(report->stats, index);
    const char *domain, *name = range_stats_name(report->stats, index, &domain);
    uint32_t thread = stats->recent_thread - 1;
    uint32_t lane = trace_device_next_lane(trace, thread, 0);
    char device[DEVICE_SIZE], program[DEVICE_SIZE], counter[TRACE_DEVICE_COUNTER_SIZE];
    size_t size;
    char *room = row_room(row, &size);
    struct text text = text_init(room, size);
    if (lane == 0 || !name) {
        row_take(row, column, range_stats_label(report->stats, index, room, size));
        return;
    }
    trace_lane_label(trace, lane - 1, device, sizeof(device));
    trace_process_label(trace, trace_lane_get(trace, lane - 1)->process, program, sizeof(program));
    trace_device_counter(trace, &(struct device_counter){name, thread, lane - 1}, counter);
    bool several = trace_device_next_lane(trace, thread, lane) != 0;
    text_format(&text, "%s: %.*s of %s%s", counter, (int)strcspn(device, ":"), device, program,
                several ? ", ..." : "");
    row_take(row, column, text.length);
}
