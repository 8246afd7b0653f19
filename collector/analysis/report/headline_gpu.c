/* SPDX-License-Identifier: MIT */
/* The headline's sentences about GPUs: how busy they were, the main kernel, and the range of most
 * idle time. Each is a number of the tables; ambiguous ones are left out. */
#include "headline.h"
#include "report.h"

#include "gpu_stats.h"
#include "text.h"

#include <string.h>

/* Hundredths; smaller shares are left out. */
enum { PART_MIN = 10, IDLE_MIN = 5, DELAYED_MIN = 20, WATCHED_MOST = 95 };

enum { NAME_SIZE = 160, NAME_MAX_TOLD = 60 };

struct devices {
    const struct gpu_queue *first; /* the busiest device, by its share */
    const struct gpu_queue *last;  /* the least busy device */
    uint32_t count;
    bool one_process;
};

static double busy_part(const struct gpu_queue *device)
{
    return (double)device->busy_ns / (double)device->watched_ns;
}

static struct devices find_devices(const struct gpu_stats *gpu)
{
    struct devices found = {.one_process = true};
    const struct gpu_queue *rows;
    uint32_t count = gpu_stats_queues(gpu, &rows);
    for (uint32_t i = 0; i < count; i++) {
        if (!rows[i].is_device || rows[i].watched_ns == 0)
            continue;
        found.count++;
        if (found.first && rows[i].process != found.first->process)
            found.one_process = false;
        if (!found.first || busy_part(&rows[i]) > busy_part(found.first))
            found.first = &rows[i];
        if (!found.last || busy_part(&rows[i]) < busy_part(found.last))
            found.last = &rows[i];
    }
    return found;
}

/* Adds "GPU 0" for "GPU 0: NVIDIA H100". */
static void add_device(const struct trace *trace, uint32_t ordinal, struct text *text)
{
    const struct trace_lane *lane = trace_lane_get(trace, ordinal);
    const char *name = lane && lane->name ? trace_string(trace, lane->name)->bytes : "the GPU";
    text_add(text, name, strcspn(name, ":"));
}

/* ", had nothing to do for 30 %; 12 % passed before its first work and after its last" */
static void add_why_idle(const struct gpu_queue *device, struct text *text)
{
    uint64_t watched_ns = device->watched_ns, awake_ns = device->busy_ns + device->starved_ns;
    uint64_t delayed_ns = watched_ns > awake_ns ? watched_ns - awake_ns : 0;
    uint64_t starved_ns = device->starved_ns - device->ends_ns;
    char share[NUMBER_TEXT_SIZE];
    if (starved_ns >= watched_ns / 100 * IDLE_MIN)
        text_format(text, ", and had nothing to do for %s",
                    number_share(starved_ns, watched_ns, share));
    if (delayed_ns >= watched_ns / 100 * DELAYED_MIN)
        text_format(text, ", and for %s what was launched had not begun",
                    number_share(delayed_ns, watched_ns, share));
    if (device->ends_ns >= watched_ns / 100 * IDLE_MIN)
        text_format(text, "; %s passed before its first work and after its last",
                    number_share(device->ends_ns, watched_ns, share));
}

static void add_one(const struct trace *trace, const struct report_facts *facts,
                    const struct gpu_queue *device, struct text *text)
{
    char share[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE];
    uint64_t wall_ns = (uint64_t)facts->totals->wall_ns;
    bool part = device->watched_ns < wall_ns / 100 * WATCHED_MOST;
    add_device(trace, device->lane, text);
    text_format(text,
                part ? " was busy %s of the %s in which it was watched" : " was busy %s of %s",
                number_share(device->busy_ns, device->watched_ns, share),
                number_time_short(device->watched_ns, time));
    add_why_idle(device, text);
    text_add(text, ".", 1);
}

/* "53 % (pid 7252)" */
static void add_share(const struct trace *trace, const struct devices *devices,
                      const struct gpu_queue *device, struct text *text)
{
    const struct trace_process *process = trace_process_get(trace, device->process);
    char share[NUMBER_TEXT_SIZE];
    text_format(text, "%s (", number_share(device->busy_ns, device->watched_ns, share));
    if (devices->one_process)
        add_device(trace, device->lane, text);
    else
        text_format(text, "pid %u", process ? process->pid : 0);
    text_add(text, ")", 1);
}

static void add_several(const struct trace *trace, const struct devices *devices, struct text *text)
{
    text_format(text, "%u GPUs%s were busy ", devices->count,
                devices->one_process ? "" : ", as their processes count them,");
    add_share(trace, devices, devices->last, text);
    text_format(text, " to ");
    add_share(trace, devices, devices->first, text);
    text_format(text, " of the time in which they were watched.");
}

static bool is_work(const struct gpu_row *row)
{
    return row->role == QUEUE_ROLE_KERNEL || row->role == QUEUE_ROLE_COPY ||
           row->role == QUEUE_ROLE_SET || row->role == QUEUE_ROLE_GRAPH;
}

/* Cuts a name that would fill lines. */
static void cut_name(char name[NAME_SIZE])
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    if (strlen(name) > NAME_MAX_TOLD)
        memcpy(name + utf8_cut(name, strlen(name), NAME_MAX_TOLD), ellipsis, sizeof(ellipsis));
}

/* " gemm took 71 % of the GPU time" */
static bool add_kernel(const struct gpu_stats *gpu, struct text *text)
{
    const struct gpu_row *const *rows;
    uint64_t whole_ns = gpu_stats_totals(gpu)->total_ns;
    uint32_t count = gpu_stats_rows(gpu, &rows), i = 0;
    char name[NAME_SIZE], share[NUMBER_TEXT_SIZE];
    while (i < count && !is_work(rows[i]))
        i++;
    if (i == count || rows[i]->name == 0 || rows[i]->total_ns < whole_ns / 100 * PART_MIN)
        return false;
    gpu_stats_name(gpu, rows[i], name, sizeof(name));
    cut_name(name);
    text_format(text, " %s took %s of the GPU time", name,
                number_share(rows[i]->total_ns, whole_ns, share));
    return true;
}

/* Returns the range with the most idle time. */
static const struct gpu_range *find_idle(const struct gpu_stats *gpu)
{
    const struct gpu_range *ranges, *most = NULL;
    uint32_t count = gpu_stats_ranges(gpu, &ranges);
    for (uint32_t i = 0; i < count; i++)
        if (ranges[i].idle_self_ns > (most ? most->idle_self_ns : 0))
            most = &ranges[i];
    return most;
}

/* A call of CUDA is not a range of the program, although all work is launched in one. */
static bool is_call(const struct range_stats *ranges, uint32_t row)
{
    return range_stats_scope(ranges, row)->observer == OBSERVER_CUPTI;
}

/* Returns the range that launched most, then descends into inner ranges as long as one has half of
 * it. */
static const struct gpu_range *find_launcher(const struct report_facts *facts)
{
    const struct gpu_range *ranges, *found = NULL;
    uint32_t count = gpu_stats_ranges(facts->gpu, &ranges);
    for (uint32_t i = 0; i < count; i++) { /* largest first */
        bool inside = !found || range_stats_parent(facts->ranges, ranges[i].row) == found->row;
        if (inside && !is_call(facts->ranges, ranges[i].row) && ranges[i].total_ns > 0 &&
            (!found || ranges[i].total_ns >= found->total_ns / 2))
            found = &ranges[i];
    }
    return found;
}

/* "; forward launched 80 % of it." */
static void add_launcher(const struct report_facts *facts, bool goes_on, struct text *text)
{
    const struct gpu_range *most = find_launcher(facts);
    uint64_t whole_ns = gpu_stats_totals(facts->gpu)->total_ns;
    const char *domain, *name = most ? range_stats_name(facts->ranges, most->row, &domain) : NULL;
    char share[NUMBER_TEXT_SIZE];
    if (name && most->total_ns >= whole_ns / 100 * PART_MIN) {
        text_format(text, "%s %s launched %s of %s", goes_on ? ";" : "", name,
                    number_share(most->total_ns, whole_ns, share), goes_on ? "it" : "the GPU time");
        goes_on = true;
    }
    if (goes_on)
        text_add(text, ".", 1);
}

/* Adds " Of the idle 1.6 s, 85 % passed in data.load." Only for a single device with that idle
 * time. */
static void add_idle(const struct report_facts *facts, const struct gpu_queue *device,
                     struct text *text)
{
    const struct gpu_range *most = find_idle(facts->gpu);
    uint64_t watched_ns = device->watched_ns;
    uint64_t idle_ns = watched_ns > device->busy_ns ? watched_ns - device->busy_ns : 0;
    const char *domain, *name = most ? range_stats_name(facts->ranges, most->row, &domain) : NULL;
    char share[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE];
    if (!name || idle_ns < watched_ns / 100 * IDLE_MIN || most->idle_self_ns > idle_ns ||
        most->idle_self_ns < idle_ns / 100 * PART_MIN)
        return;
    text_format(text, " Of the idle %s, %s passed in %s.", number_time_short(idle_ns, time),
                number_share(most->idle_self_ns, idle_ns, share), name);
}

size_t headline_gpu(const struct trace *trace, const struct report_facts *facts, char *buffer,
                    size_t size)
{
    struct text text = text_init(buffer, size);
    if (!facts->gpu)
        return 0;
    struct devices devices = find_devices(facts->gpu);
    if (devices.count == 0)
        return 0;
    if (devices.count == 1)
        add_one(trace, facts, devices.first, &text);
    else
        add_several(trace, &devices, &text);
    add_launcher(facts, add_kernel(facts->gpu, &text), &text);
    if (devices.count == 1)
        add_idle(facts, devices.first, &text);
    return text.length;
}
