/* SPDX-License-Identifier: MIT */
/* Devices in Chrome traces, and what the document says of them and of its rank. See chrome_parts.h.
 */
#include "chrome_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* Where readers of torch.profiler expect devices: below all programs. */
enum { DEVICE_RANK = 5000000 };

#define DAY_NS INT64_C(86400000000000)

static bool is_pid_taken(const struct chrome_gpu *gpu, uint32_t pid)
{
    for (uint32_t i = 0; i < gpu->ids->process_count; i++)
        if (gpu->ids->pids[i] == pid)
            return true;
    for (size_t i = 0; i < gpu->devices.count; i++)
        if (gpu->devices.items[i].pid == pid)
            return true;
    return false;
}

static void describe_device(struct chrome_gpu *gpu, const struct chrome_device *device)
{
    char place[CHROME_GPU_PLACE], label[EXPORT_LABEL_SIZE], number[32];
    snprintf(place, sizeof(place), ",\"pid\":%u,\"tid\":0", device->pid);
    snprintf(number, sizeof(number), "GPU %u", device->number);
    trace_lane_label(gpu->writer->trace, device->lane, label, sizeof(label));
    chrome_put_metadata(gpu->writer, place, "process_name",
                        &(struct fact){.name = "name", .kind = VALUE_STRING, .text = label});
    chrome_put_metadata(gpu->writer, place, "process_labels",
                        &(struct fact){.name = "labels", .kind = VALUE_STRING, .text = number});
    chrome_put_metadata(gpu->writer, place, "process_sort_index",
                        &(struct fact){.name = "sort_index",
                                       .kind = VALUE_UINT64,
                                       .value = {.uint64 = DEVICE_RANK + device->number}});
}

uint32_t chrome_device_pid(struct chrome_gpu *gpu, uint32_t lane)
{
    const struct trace_lane *entry = trace_lane_get(gpu->writer->trace, lane);
    for (size_t i = 0; i < gpu->devices.count; i++)
        if (gpu->devices.items[i].lane == lane)
            return gpu->devices.items[i].pid;
    struct chrome_device device = {.lane = lane, .number = (uint32_t)entry->id};
    device.pid = entry->id < EXPORT_SYNTHETIC_ID && !is_pid_taken(gpu, device.number)
                     ? device.number
                     : gpu->ids->next_synthetic++;
    if (vec_push(&gpu->devices, device) != 0)
        return UINT32_MAX;
    describe_device(gpu, &device);
    return device.pid;
}

/* ---- Marks ----------------------------------------------------------------------------------- */

/* The lane is called as the mark is. */
static bool is_lane_of(const struct trace *trace, uint32_t lane, const struct event *mark)
{
    const struct trace_lane *entry = trace_lane_get(trace, lane);
    return entry->kind == LANE_DEVICE && entry->name == mark->name &&
           entry->process == trace_thread_get(trace, mark->thread)->process;
}

static void keep_values(struct chrome_gpu *gpu, struct chrome_device *device,
                        const struct args *values)
{
    for (uint32_t i = 0; i < values->count; i++)
        device->values[gpu_key_value(&gpu->keys, values->items[i].key)] = values->items[i];
}

void chrome_gpu_mark(struct chrome_gpu *gpu, const struct event *event, const struct args *values)
{
    const struct trace *trace = gpu->writer->trace;
    if (!gpu->any || trace_scope(trace, event->scope)->observer != OBSERVER_CUPTI ||
        event->thread >= gpu->writer->thread_count ||
        !gpu_value_find(&gpu->keys, values, GPU_VALUE_DEVICE))
        return;
    for (uint32_t i = 0; i < gpu->lane_count; i++) {
        if (!is_lane_of(trace, i, event) || chrome_device_pid(gpu, i) == UINT32_MAX)
            continue;
        for (size_t at = 0; at < gpu->devices.count; at++)
            if (gpu->devices.items[at].lane == i)
                keep_values(gpu, &gpu->devices.items[at], values);
    }
}

/* ---- The document ---------------------------------------------------------------------------- */

bool chrome_put_rank(struct out_stream *out, const struct trace *trace,
                     const struct export_options *options)
{
    const struct trace_host *host = trace_host_get(trace, 0);
    uint64_t rank = 0, ranks = trace_fact_value(trace, TRACE_FACT_RANKS);
    bool known = host && host->rank >= 0;
    char text[160];
    int used;
    if (known)
        rank = (uint64_t)host->rank;
    if (options->rank)
        known = options_parse_count(options->rank, &rank) == 0;
    if (options->world_size)
        (void)options_parse_count(options->world_size, &ranks);
    if (!known)
        return false;
    /* Readers look for the rank with a pattern that has this blank. */
    used = snprintf(text, sizeof(text), "\n\"distributedInfo\": {\n\"rank\": %llu",
                    (unsigned long long)rank);
    if (ranks)
        snprintf(text + used, sizeof(text) - (size_t)used, ",\n\"world_size\": %llu",
                 (unsigned long long)ranks);
    out_text(out, text);
    out_text(out, "\n},");
    return true;
}

/* HolisticTraceAnalysis takes the files of all ranks for times since one instant. Since a day began
 * they fit into a double to the nanosecond. */
void chrome_put_base(struct chrome_writer *writer)
{
    const struct trace_session *session = trace_session_get(writer->trace);
    int64_t realtime_ns = session->begin_realtime_ns + (writer->origin_ns - session->begin_ns);
    char text[64];
    if (session->begin_realtime_ns <= 0 || realtime_ns <= 0)
        return;
    writer->origin_ns -= realtime_ns % DAY_NS;
    snprintf(text, sizeof(text), "\n\"baseTimeNanoseconds\": %lld,",
             (long long)(realtime_ns - realtime_ns % DAY_NS));
    out_text(writer->out, text);
}

static void put_property(struct json_doc *doc, const struct chrome_gpu *gpu,
                         const struct chrome_device *device)
{
    const struct arg *values = device->values;
    const char *name =
        trace_string(gpu->writer->trace, trace_lane_get(gpu->writer->trace, device->lane)->name)
            ->bytes;
    const char *colon = strncmp(name, "GPU ", 4) == 0 ? strstr(name, ": ") : NULL;
    const char *capability = gpu_value_text(&gpu->keys, &values[GPU_VALUE_CAPABILITY]);
    unsigned major, minor;
    json_doc_object(doc, NULL);
    json_doc_uint(doc, "id", device->number);
    json_doc_text(doc, "name", colon ? colon + 2 : name);
    if (values[GPU_VALUE_DEVICE_MEMORY].kind)
        json_doc_uint(doc, "totalGlobalMem", gpu_value_number(&values[GPU_VALUE_DEVICE_MEMORY]));
    if (sscanf(capability, "%u.%u", &major, &minor) == 2) {
        json_doc_uint(doc, "computeMajor", major);
        json_doc_uint(doc, "computeMinor", minor);
    }
    if (values[GPU_VALUE_MULTIPROCESSORS].kind)
        json_doc_uint(doc, "numSms", gpu_value_number(&values[GPU_VALUE_MULTIPROCESSORS]));
    json_doc_close(doc);
}

void chrome_put_devices(struct chrome_gpu *gpu)
{
    struct json_doc doc = {.out = gpu->writer->out};
    if (!gpu->devices.count)
        return;
    out_text(gpu->writer->out, ",\"deviceProperties\":");
    json_doc_array(&doc, NULL);
    for (size_t i = 0; i < gpu->devices.count; i++)
        put_property(&doc, gpu, &gpu->devices.items[i]);
    json_doc_close(&doc);
}
