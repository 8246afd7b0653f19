/* SPDX-License-Identifier: MIT */
/* The table of why warps of GPUs did not go on: a kernel, and below it each reason. */
#include "report_parts.h"

#include "gpu_stalls.h"
#include "symbol_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LABEL,
    KERNEL,
    REASON,
    SAMPLES,
    SHARE,
    SHARE_OF_ALL,
    NOT_ISSUED,
    PLACES,
    TOP_PC,
    TOP_SAMPLES,
};

static const struct table_column columns[] = {
    [LABEL] = {.title = "kernel, stalled on"},
    [KERNEL] = {.name = "kernel"},
    [REASON] = {.name = "reason"},
    [SAMPLES] = {.name = "samples", .title = "samples", .type = COLUMN_COUNT, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = SAMPLES, .of_row = true},
    [SHARE_OF_ALL] = {.title = "of all", .type = COLUMN_SHARE, .rank = 4, .of = SAMPLES},
    [NOT_ISSUED] = {.name = "not_issued",
                    .title = "not issued",
                    .type = COLUMN_COUNT,
                    .rank = 3,
                    .adds_up = true},
    [PLACES] = {.name = "place_count", .title = "places", .type = COLUMN_COUNT, .rank = 5},
    [TOP_PC] = {.name = "top_pc", .title = "most at", .rank = 1, .right = true},
    [TOP_SAMPLES] = {.name = "top_samples", .title = "samples", .type = COLUMN_COUNT, .rank = 2},
};

/* Kernels are functions of C++. */
static const char *name_of(const struct report *report, const struct gpu_stall *row,
                           char shown[SYMBOL_NAME_SIZE])
{
    const char *name = trace_string(report->trace, row->function)->bytes;
    if (row->function == 0)
        return "(other)";
    if (strncmp(name, "_Z", 2) != 0)
        return *name ? name : "(unknown)";
    symbol_demangle(name, shown);
    return shown;
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct gpu_stalls *stalls = gpu_stats_stalls(report->gpu);
    const struct gpu_stall *stall = &stalls->rows.items[index];
    const char *reason = gpu_stalls_reason(stalls, stall);
    char shown[SYMBOL_NAME_SIZE], label[512], place[32];
    if (stall->reason == 0) {
        const char *name = name_of(report, stall, shown);
        gpu_short_name(name, label, sizeof(label));
        row_text(row, KERNEL, name);
    } else {
        row->role = ROW_PART;
        snprintf(label, sizeof(label), "  %s", reason);
        row_text(row, REASON, reason);
    }
    row_text(row, LABEL, label);
    row_count(row, SAMPLES, stall->samples);
    row_count(row, NOT_ISSUED, stall->not_issued);
    row_count(row, PLACES, stall->place_count);
    if (stall->top_samples == 0)
        return;
    snprintf(place, sizeof(place), "0x%" PRIx64, stall->top_pc);
    row_text(row, TOP_PC, place);
    row_count(row, TOP_SAMPLES, stall->top_samples);
}

static void add_notes(struct table *table, const struct gpu_stall_sums *sums)
{
    const struct table_note notes[] = {
        {.before = "samples that the device dropped: ", .count = sums->dropped, .after = ""},
        {.before = "samples in code that is not the program's: ",
         .count = sums->others,
         .after = ""},
        {.before = "times that the device's buffer was full, and samples were lost: ",
         .count = sums->full,
         .after = " (annot record --gpu-pc-period N with a larger N)"},
        {.before = "samples at places for which there was no room: ",
         .count = sums->left_out,
         .after = ""},
    };

    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
        if (notes[i].count != 0) {
            struct table_note note = notes[i];
            note.always = true;
            table_add_note(table, note);
        }
}

int report_add_stalls(struct report *report)
{
    struct table *table = report_add_table(report, "gpu_stalls", fill);
    const struct gpu_stalls *stalls = gpu_stats_stalls(report->gpu);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->columns[SHARE_OF_ALL].whole = stalls->sums.samples;
    table->row_count = stalls->rows.count;
    table->limit = report->options.limit;
    add_notes(table, &stalls->sums);
    return table->row_count ? report_plain_title(table, "why warps of kernels stalled") : 0;
}
