/* SPDX-License-Identifier: MIT */
/* Starved GPUs, small pieces of GPU work, and copies that the program waits for. */
#include "findings.h"

#include "number.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

/* Thresholds in hundredths. */
enum {
    STARVED_PART = 20,  /* of the time from the first work of a GPU to its last */
    BRIEF_PART = 10,    /* of the same time */
    BRIEF_KERNELS = 50, /* of all kernels */
    PAGEABLE_PART = 10, /* of the GPU time */
    CAUSE_PART = 50,    /* of that time, to count as its cause */
    RANGE_PART = 20,    /* of that time, to be named */
};

/* Minimum number of times for a statement about their mean. */
enum { FEW = 10 };

enum { TIMES_SIZE = 2 * NUMBER_TEXT_SIZE + 32 };

/* "60 times, 2.08 ms each" */
static void report_times(uint64_t count, uint64_t time_ns, char text[TIMES_SIZE])
{
    char many[NUMBER_TEXT_SIZE], mean[NUMBER_TEXT_SIZE];
    number_time_short(time_ns / count, mean);
    if (count == 1)
        snprintf(text, TIMES_SIZE, "once, %s", mean);
    else
        snprintf(text, TIMES_SIZE, "%s times, %s each", number_count(count, many), mean);
}

/* A GPU and its time with work. */
struct gpu_seen {
    const struct gpu_queue *device;
    char name[FINDING_NAME_SIZE];
    uint64_t work_ns;    /* from its first launch to its last end, while watched */
    uint64_t starved_ns; /* part of work_ns */
    bool only_one;
};

static uint64_t starved_between(const struct gpu_queue *device)
{
    return device->starved_ns - device->ends_ns;
}

/* Among devices with a tenth of the busiest one's time, returns the one that is starved longest;
 * NULL: not found. */
static const struct gpu_queue *find_starved_one(const struct gpu_queue *rows, uint32_t count,
                                                uint32_t *ret_devices)
{
    const struct gpu_queue *most = NULL;
    uint64_t busiest_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        *ret_devices += rows[i].is_device;
        busiest_ns = rows[i].busy_ns > busiest_ns ? rows[i].busy_ns : busiest_ns;
    }
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].is_device && rows[i].busy_ns >= busiest_ns / 10 &&
            (!most || starved_between(&rows[i]) > starved_between(most)))
            most = &rows[i];
    return most;
}

static bool find_device(const struct findings *findings, struct gpu_seen *ret_seen)
{
    const struct gpu_queue *rows;
    uint32_t count = gpu_stats_queues(findings->report->gpu, &rows), devices = 0;
    const struct gpu_queue *most = find_starved_one(rows, count, &devices);
    if (!most)
        return false;
    const struct trace_lane *lane = trace_lane_get(findings->trace, most->lane);
    const char *name =
        lane && lane->name ? trace_string(findings->trace, lane->name)->bytes : "the GPU";
    *ret_seen = (struct gpu_seen){.device = most,
                                  .work_ns = most->watched_ns - most->ends_ns,
                                  .starved_ns = starved_between(most),
                                  .only_one = devices == 1};
    struct text text = text_init(ret_seen->name, sizeof(ret_seen->name));
    char process[FINDING_NAME_SIZE / 2];
    text_format(&text, "%.*s", (int)strcspn(name, ":"), name);
    trace_process_label(findings->trace, most->process, process, sizeof(process));
    const struct trace_process *entry = trace_process_get(findings->trace, most->process);
    if (devices > 1 && trace_process_count(findings->trace) > 1 && entry)
        text_format(&text, " of %s (pid %u)", process, entry->pid);
    return true;
}

/* Returns the range in which the GPU was starved longest. NULL: all are below the limit. */
static const struct gpu_range *find_range(const struct findings *findings,
                                          const struct gpu_seen *seen)
{
    const struct gpu_range *ranges, *most = NULL;
    uint32_t count = gpu_stats_ranges(findings->report->gpu, &ranges);
    for (uint32_t i = 0; i < count; i++)
        if (ranges[i].starved_self_ns > (most ? most->starved_self_ns : 0))
            most = &ranges[i];
    bool told = most && seen->only_one && most->starved_self_ns <= seen->device->starved_ns &&
                findings_reach(most->starved_self_ns, seen->starved_ns, RANGE_PART);
    return told ? most : NULL;
}

/* Writes "64 % of that passes in data.load." Returns true if its thread waits there. */
static bool report_range(const struct findings *findings, const struct gpu_seen *seen,
                         const struct gpu_range *range, struct text *text)
{
    const struct range_stats *stats = findings->report->stats;
    const struct range_row *row = range_stats_row(stats, range->row);
    const char *domain, *name = range_stats_name(stats, range->row, &domain);
    char share[NUMBER_TEXT_SIZE];
    bool waits = findings->report->facts.wall && row->total_ns > 0 &&
                 findings_reach(row->blocked_ns, row->total_ns, CAUSE_PART);
    uint64_t starved_ns =
        range->starved_self_ns < seen->starved_ns ? range->starved_self_ns : seen->starved_ns;
    text_format(text, "%s of that passes in %s. ",
                number_share(starved_ns, seen->starved_ns, share), name ? name : "(no name)");
    return waits;
}

/* Writes "The thread that launches waits in load (train.py:12) for 64 % of it." Returns true if it
 * waits. */
static bool report_place(const struct findings *findings, const struct gpu_seen *seen,
                         struct text *text)
{
    const struct gpu_host_place *place;
    uint32_t count = gpu_stats_host_places(findings->report->gpu, &place);
    char name[FINDING_NAME_SIZE], share[NUMBER_TEXT_SIZE];
    const struct own_row *row =
        count ? own_time_row(findings->report->samples.own, place->row) : NULL;
    if (!row || row->label == 0 || !seen->only_one)
        return false;
    uint64_t time_ns = place->cpu_ns + place->runnable_ns + place->blocked_ns;
    bool waits = findings_reach(place->blocked_ns, time_ns, CAUSE_PART);
    bool runs = findings_reach(place->cpu_ns, time_ns, CAUSE_PART);
    if (!findings_reach(time_ns, seen->starved_ns, RANGE_PART) ||
        time_ns > seen->device->starved_ns)
        return false;
    text_format(text, "The thread that launches %s %s for %s of it. ",
                waits  ? "waits in"
                : runs ? "runs"
                       : "is in",
                findings_place(findings, row->label, place->line, name),
                number_share(time_ns < seen->starved_ns ? time_ns : seen->starved_ns,
                             seen->starved_ns, share));
    return waits;
}

/* Writes "58 % of it follows waits of the program for the GPU, 60 of 61." Returns true if that is
 * the cause. */
static bool report_synced(const struct findings *findings, const struct gpu_seen *seen,
                          struct text *text)
{
    const struct gpu_totals *totals = gpu_stats_totals(findings->report->gpu);
    char share[NUMBER_TEXT_SIZE], count[NUMBER_TEXT_SIZE], all[NUMBER_TEXT_SIZE];
    if (!seen->only_one || totals->synced_ns > seen->starved_ns ||
        !findings_reach(totals->synced_ns, seen->starved_ns, CAUSE_PART))
        return false;
    text_format(text, "%s of it follows waits of the program for the GPU (%s of %s such waits).",
                number_share(totals->synced_ns, seen->starved_ns, share),
                number_count(totals->synced_count, count), number_count(totals->sync_count, all));
    return true;
}

/* Finding: the program launches too late. */
static void find_starved(struct findings *findings, const struct gpu_seen *seen)
{
    const struct gpu_queue *device = seen->device;
    char times[TIMES_SIZE];
    uint64_t long_ns = seen->starved_ns - device->brief_ns;
    uint64_t long_count = device->starved_count - device->brief_count;
    if (!findings_reach(long_ns, seen->work_ns, STARVED_PART))
        return;
    struct finding *finding = findings_add(findings, "gpu_starved", long_ns, seen->work_ns);
    if (!finding)
        return;
    report_times(long_count, long_ns, times);
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the time %s had nothing to do between its first and its last work: %s.",
             seen->name, times);
    struct text text = text_init(finding->evidence, FINDING_TEXT_SIZE);
    const struct gpu_range *range = find_range(findings, seen);
    bool waits = range && report_range(findings, seen, range, &text);
    waits = report_place(findings, seen, &text) || waits;
    bool synced = report_synced(findings, seen, &text);
    while (text.length > 0 && finding->evidence[text.length - 1] == ' ')
        finding->evidence[--text.length] = 0;
    snprintf(finding->advice, FINDING_TEXT_SIZE, "%s",
             waits ? "try to have the next input ready before it is needed: more workers of the "
                     "data loader, prefetching, a thread"
             : synced
                 ? "try fewer waits in the loop (.item(), .cpu(), printing a loss, synchronize), "
                   "so that launches run ahead of the GPU"
                 : "annot report --table gpu_ranges says in which ranges; what the program does "
                   "there keeps it from launching");
}

/* Finding: kernels take less time than their launches. */
static void find_small(struct findings *findings, const struct gpu_seen *seen)
{
    const struct gpu_queue *device = seen->device;
    const struct gpu_totals *totals = gpu_stats_totals(findings->report->gpu);
    char times[TIMES_SIZE], count[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];
    if (device->brief_count < FEW || !findings_reach(device->brief_ns, seen->work_ns, BRIEF_PART) ||
        !findings_reach(totals->brief_kernel_count, totals->kernel_count, BRIEF_KERNELS))
        return;
    struct finding *finding =
        findings_add(findings, "gpu_launches", device->brief_ns, seen->work_ns);
    if (!finding)
        return;
    report_times(device->brief_count, device->brief_ns, times);
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the time %s waits for the next launch between small kernels: %s.", seen->name,
             times);
    snprintf(finding->evidence, FINDING_TEXT_SIZE, "%s of %s kernels take less than %u us.",
             number_share(totals->brief_kernel_count, totals->kernel_count, share),
             number_count(totals->kernel_count, count), GPU_KERNEL_BRIEF_NS / 1000);
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             "try CUDA graphs (torch.compile with mode=\"reduce-overhead\"), fused kernels, larger "
             "batches");
}

static void find_pageable(struct findings *findings)
{
    const struct gpu_totals *totals = gpu_stats_totals(findings->report->gpu);
    const struct gpu_moved *moved = &totals->pageable;
    char count[NUMBER_TEXT_SIZE], size[NUMBER_TEXT_SIZE];
    if (totals->pageable_count < FEW ||
        !findings_reach(moved->time_ns, totals->total_ns, PAGEABLE_PART))
        return;
    struct finding *finding =
        findings_add(findings, "gpu_pageable", moved->time_ns, totals->total_ns);
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the GPU time copies from and to memory that is not pinned: %s times, %s.",
             number_count(totals->pageable_count, count), number_size(moved->bytes, size));
    snprintf(finding->evidence, FINDING_TEXT_SIZE,
             "They reach %.3g GB/s. The program waits for such a copy, whether it asks for that "
             "or not.",
             (double)moved->bytes / (double)moved->time_ns);
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             "try pinned memory (pin_memory=True of the data loader) and non_blocking=True");
}

static void find_gpu(struct findings *findings)
{
    struct gpu_seen seen;
    if (!find_device(findings, &seen))
        return;
    find_starved(findings, &seen);
    find_small(findings, &seen);
    find_pageable(findings);
}

const struct finding_rule findings_of_gpu[] = {
    {FINDING_NEEDS_GPU, find_gpu},
    {0},
};
