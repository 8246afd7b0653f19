/* SPDX-License-Identifier: MIT */
/* The parts of a report, in the order of their tables. */
#include "report_build.h"

extern const struct report_part report_part_awaits, report_part_calls, report_part_callers,
    report_part_findings, report_part_functions, report_part_gpu, report_part_line_counts,
    report_part_lines, report_part_loops, report_part_memory, report_part_missing, report_part_own,
    report_part_owners, report_part_pools, report_part_process_memory, report_part_ranges,
    report_part_recording, report_part_sampling, report_part_waits;

const struct report_part *const report_parts[REPORT_PARTS_MAX] = {
    &report_part_recording, &report_part_ranges,         &report_part_gpu,
    &report_part_pools,     &report_part_owners,         &report_part_calls,
    &report_part_functions, &report_part_lines,          &report_part_waits,
    &report_part_awaits,    &report_part_loops,          &report_part_own,
    &report_part_findings,  &report_part_callers,        &report_part_line_counts,
    &report_part_memory,    &report_part_process_memory, &report_part_sampling,
    &report_part_missing,
};
