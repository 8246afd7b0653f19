/* SPDX-License-Identifier: MIT */
/* See chrome_gpu.h. Complete events of one thread must nest or be disjoint: overlapping ones of a
 * stream go to another shelf, which is a separate thread. */
#include "chrome_gpu.h"

#include "chrome_annotations.h"
#include "chrome_writer.h"
#include "json_writer.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Devices and the rank, in the document --------------------------------------------------- */

/* Rank at which readers of torch.profiler expect devices: below all programs. */
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

/* True if the lane has the name of the mark. */
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

/* HolisticTraceAnalysis compares times in the files of all ranks, so they count from a common
 * instant. Times since the start of a day fit into a double to the nanosecond. */
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

#define AC2G "ac2g" /* from an asynchronous call to the GPU */

/* Numbers of launches without one, and of arrows after the first of a launch. */
#define OWN_LAUNCHES (UINT64_C(1) << 50)

#define OWN_ARROWS (UINT64_C(1) << 51)

enum { NAME_SIZE = 128, PATH_SIZE = 2048 };

/* ---- Places ---------------------------------------------------------------------------------- */

static bool is_taken(const struct chrome_gpu *gpu, uint32_t pid, uint32_t tid)
{
    for (size_t i = 0; i < gpu->queues.count; i++) {
        const struct chrome_queue *queue = &gpu->queues.items[i];
        for (size_t shelf = 0; queue->pid == pid && shelf < queue->tids.count; shelf++)
            if (queue->tids.items[shelf] == tid)
                return true;
    }
    return false;
}

static uint32_t pid_of_process(const struct chrome_gpu *gpu, uint32_t process)
{
    return process < gpu->ids->process_count ? gpu->ids->pids[process] : 0;
}

/* The queue of a lane, added if new. NULL: out of memory. */
static struct chrome_queue *find_queue(struct chrome_gpu *gpu, uint32_t lane)
{
    const struct trace *trace = gpu->writer->trace;
    const struct trace_lane *entry = trace_lane_get(trace, lane);
    uint32_t device = gpu_device_of(trace, lane);
    struct chrome_queue queue = {.lane = lane,
                                 .stream = (uint32_t)entry->id,
                                 .context = (uint32_t)(entry->id >> 32),
                                 .device = UINT32_MAX,
                                 .is_stream = device && gpu_is_stream(entry)};
    if (gpu->queue_of[lane])
        return &gpu->queues.items[gpu->queue_of[lane] - 1];
    if (device) {
        queue.pid = chrome_device_pid(gpu, device - 1);
        queue.device = (uint32_t)trace_lane_get(trace, device - 1)->id;
    } else {
        queue.pid = pid_of_process(gpu, entry->process);
    }
    if (queue.pid == UINT32_MAX || vec_push(&gpu->queues, queue) != 0)
        return NULL;
    gpu->queue_of[lane] = (uint32_t)gpu->queues.count;
    return &gpu->queues.items[gpu->queues.count - 1];
}

static void describe_shelf(struct chrome_gpu *gpu, const struct chrome_queue *queue, uint32_t lane,
                           uint32_t tid)
{
    char place[CHROME_GPU_PLACE], label[EXPORT_LABEL_SIZE + 16];
    size_t length = trace_lane_label(gpu->writer->trace, lane, label, EXPORT_LABEL_SIZE);
    if (queue->tids.count)
        snprintf(label + length, 16, " (%zu)", queue->tids.count + 1);
    snprintf(place, sizeof(place), ",\"pid\":%u,\"tid\":%u", queue->pid, tid);
    chrome_put_metadata(gpu->writer, place, "thread_name",
                        &(struct fact){.name = "name", .kind = VALUE_STRING, .text = label});
    chrome_put_metadata(gpu->writer, place, "thread_sort_index",
                        &(struct fact){.name = "sort_index",
                                       .kind = VALUE_UINT64,
                                       .value = {.uint64 = queue->stream}});
}

/* The thread for a span. 0 or -ENOMEM. */
static int find_tid(struct chrome_gpu *gpu, struct chrome_queue *queue, const struct item *item,
                    uint32_t *ret_tid)
{
    int64_t shelf = shelves_fit(&queue->shelves, item->event->time_ns, item->end_ns);
    while (shelf >= 0 && (size_t)shelf >= queue->tids.count) {
        bool own =
            queue->is_stream && !queue->tids.count && !is_taken(gpu, queue->pid, queue->stream);
        uint32_t tid = own ? queue->stream : gpu->ids->next_synthetic++;
        describe_shelf(gpu, queue, item->event->lane, tid);
        if (vec_push(&queue->tids, tid) != 0)
            return -ENOMEM;
    }
    if (shelf < 0)
        return -ENOMEM;
    *ret_tid = queue->tids.items[shelf];
    return 0;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *category_of(const struct chrome_gpu *gpu, enum queue_role role, uint32_t name)
{
    static const char *const categories[QUEUE_ROLE_COUNT] = {
        [QUEUE_ROLE_NONE] = "kernel",       [QUEUE_ROLE_KERNEL] = "kernel",
        [QUEUE_ROLE_COPY] = "gpu_memcpy",   [QUEUE_ROLE_SET] = "gpu_memset",
        [QUEUE_ROLE_GRAPH] = "kernel",      [QUEUE_ROLE_WAIT] = "cuda_sync",
        [QUEUE_ROLE_CALL] = "cuda_driver",  [QUEUE_ROLE_EVENT] = "cuda_event",
        [QUEUE_ROLE_JIT] = "cuda_jit",      [QUEUE_ROLE_MEMORY] = "gpu_memory",
        [QUEUE_ROLE_OVERHEAD] = "overhead",
    };
    const char *text = trace_string(gpu->writer->trace, name)->bytes;
    return role == QUEUE_ROLE_CALL && strncmp(text, "cuda", 4) == 0 ? "cuda_runtime"
                                                                    : categories[role];
}

static void add_word(struct text *text, const char *before, const char *word, const char *after)
{
    text_format(text, "%s%c%s%s", before, toupper((unsigned char)word[0]), word[0] ? word + 1 : "",
                after);
}

/* "Memcpy HtoD (Pinned -> Device)", "Memset (Device)": readers recognize copies by their names. */
static void put_copy_name(struct chrome_gpu *gpu, enum queue_role role, const struct item *item)
{
    const struct gpu_keys *keys = &gpu->keys;
    const struct args *args = &item->args;
    char name[NAME_SIZE];
    struct text text = text_init(name, sizeof(name));
    const char *from = gpu_value_text(keys, gpu_value_find(keys, args, GPU_VALUE_SOURCE));
    const char *to = gpu_value_text(keys, gpu_value_find(keys, args, GPU_VALUE_DESTINATION));
    const char *memory = gpu_value_text(keys, gpu_value_find(keys, args, GPU_VALUE_MEMORY));
    if (role == QUEUE_ROLE_COPY)
        text_format(&text, "Memcpy %s", gpu_copy_direction(keys, item->event, args));
    else
        text_format(&text, "Memset");
    if (role == QUEUE_ROLE_COPY && from[0] && to[0]) {
        add_word(&text, " (", from, "");
        add_word(&text, " -> ", to, ")");
    } else if (role == QUEUE_ROLE_SET && memory[0]) {
        add_word(&text, " (", memory, ")");
    }
    chrome_begin_text(gpu->writer, 'X', name);
}

static void put_number(struct chrome_gpu *gpu, const char *name, uint64_t number)
{
    chrome_argument(
        gpu->writer,
        &(struct fact){.name = name, .kind = VALUE_UINT64, .value = {.uint64 = number}});
}

/* "64,1,1" as [64,1,1]. False: another format. */
static bool put_dimensions(struct chrome_gpu *gpu, const char *name, const char *text)
{
    char json[64];
    size_t digits = strspn(text, "0123456789,");
    if (digits == 0 || text[digits] || digits + 3 > sizeof(json) || text[digits - 1] == ',' ||
        text[0] == ',' || strstr(text, ",,"))
        return false;
    snprintf(json, sizeof(json), "[%s]", text);
    chrome_raw(gpu->writer, name, json);
    return true;
}

static bool put_known_value(struct chrome_gpu *gpu, const struct arg *value)
{
    static const char *const names[GPU_VALUE_COUNT] = {
        [GPU_VALUE_GRID] = "grid",
        [GPU_VALUE_BLOCK] = "block",
        [GPU_VALUE_CLUSTER] = "cluster",
        [GPU_VALUE_REGISTERS] = "registers per thread",
        [GPU_VALUE_SHARED] = "shared memory",
        [GPU_VALUE_OCCUPANCY] = "est. achieved occupancy %",
        [GPU_VALUE_BYTES] = "bytes",
        [GPU_VALUE_EXTERNAL] = "External id",
    };
    enum gpu_value kind = gpu_key_value(&gpu->keys, value->key);
    if (kind == GPU_VALUE_CORRELATION)
        return true; /* written as the number of the launch */
    if (!names[kind])
        return false;
    if (value->kind == VALUE_STRING)
        return put_dimensions(gpu, names[kind], gpu_value_text(&gpu->keys, value));
    chrome_argument(gpu->writer, &(struct fact){.name = names[kind],
                                                .kind = (enum value_kind)value->kind,
                                                .value = value->value});
    return true;
}

static void put_values(struct chrome_gpu *gpu, const struct args *values)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (!put_known_value(gpu, &values->items[i]))
            chrome_values(gpu->writer, &(const struct args){values->items + i, 1});
}

/* ---- Launches -------------------------------------------------------------------------------- */

/* A call's number, made unique in the recording: the driver counts from 1 in each process. */
static uint64_t number_of_call(const struct chrome_gpu *gpu, uint32_t thread,
                               const struct args *args)
{
    const struct trace_thread *entry = trace_thread_get(gpu->writer->trace, thread);
    uint64_t number =
        gpu_value_number(gpu_value_find(&gpu->keys, args, GPU_VALUE_CORRELATION)) & UINT32_MAX;
    if (!number || !entry || entry->process >= gpu->ids->process_count)
        return number;
    return (uint64_t)gpu->ids->process_rank[entry->process] << 32 | number;
}

static void put_arrow_end(struct chrome_gpu *gpu, char phase, uint64_t arrow)
{
    chrome_text(gpu->writer, "cat", AC2G);
    chrome_number(gpu->writer, "id", arrow);
    if (phase == 'f')
        chrome_text(gpu->writer, "bp", "e");
    chrome_end(gpu->writer);
}

static void put_launch(struct chrome_gpu *gpu, const struct chrome_launch *launch, bool has_call)
{
    struct chrome_writer *writer = gpu->writer;
    chrome_begin_text(writer, has_call ? 'i' : 'X', "launch");
    chrome_place(writer, launch->thread, launch->origin_ns);
    if (has_call) {
        chrome_text(writer, "s", "t");
    } else {
        chrome_micros(writer, "dur", 0);
        chrome_text(writer, "cat", "cuda_runtime");
    }
    put_number(gpu, "correlation", launch->number);
    chrome_end(writer);
}

static void put_waiting(struct chrome_gpu *gpu)
{
    for (size_t i = 0; i < gpu->waiting.count; i++) {
        const struct chrome_launch *launch = &gpu->waiting.items[i];
        put_launch(gpu, launch, map64_find(&gpu->calls, launch->number) != NULL);
    }
    gpu->waiting.count = 0;
}

/* The first launch of its number. */
static void add_launch(struct chrome_gpu *gpu, const struct chrome_launch *launch)
{
    if (!gpu->has_calls)
        put_launch(gpu, launch, false);
    else if (vec_push(&gpu->waiting, *launch) != 0)
        gpu->error = -ENOMEM;
    else if (gpu->waiting.count == CHROME_LAUNCHES_MAX)
        put_waiting(gpu);
}

static void note_call(struct chrome_gpu *gpu, uint64_t number)
{
    if (number && map64_put(&gpu->calls, number, 1) != 0)
        gpu->error = -ENOMEM;
}

int chrome_gpu_finish(struct chrome_gpu *gpu)
{
    put_waiting(gpu);
    return gpu->error ? gpu->error : chrome_annotations_finish(gpu);
}

static struct chrome_launch *find_launch(struct chrome_gpu *gpu, const struct event *event)
{
    uint64_t mixed =
        ((uint64_t)event->origin_ns ^ (uint64_t)event->thread << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return &gpu->launches[mixed >> 52];
}

/* The number of the launch of a span, with its mark written at the first one; 0: unknown.
 * *ret_arrow: the number of the arrow that leads to the span. */
static uint64_t number_of_launch(struct chrome_gpu *gpu, const struct item *item,
                                 uint64_t *ret_arrow)
{
    const struct event *event = item->event;
    uint64_t number = number_of_call(gpu, event->thread, &item->args);
    bool known = event->origin_ns != EVENT_NO_ORIGIN && event->thread < gpu->writer->thread_count;
    *ret_arrow = 0;
    if (!known)
        return number;
    struct chrome_launch *launch = find_launch(gpu, event);
    if (launch->number && launch->origin_ns == event->origin_ns &&
        launch->thread == event->thread && (!number || launch->number == number)) {
        *ret_arrow = OWN_ARROWS + ++gpu->last_arrow;
        return launch->number;
    }
    if (!number)
        number = OWN_LAUNCHES + ++gpu->last_launch;
    *launch = (struct chrome_launch){event->origin_ns, event->thread, number};
    *ret_arrow = number;
    add_launch(gpu, launch);
    return number;
}

static void put_arrow(struct chrome_gpu *gpu, const struct event *event, const char *place,
                      uint64_t arrow)
{
    struct chrome_writer *writer = gpu->writer;
    chrome_begin_text(writer, 's', AC2G);
    chrome_place(writer, event->thread, event->origin_ns);
    put_arrow_end(gpu, 's', arrow);
    chrome_begin_text(writer, 'f', AC2G);
    out_text(writer->out, place);
    chrome_micros(writer, "ts", event->time_ns - writer->origin_ns);
    put_arrow_end(gpu, 'f', arrow);
}

/* ---- Spans ----------------------------------------------------------------------------------- */

static void put_where(struct chrome_gpu *gpu, const struct chrome_queue *queue,
                      enum queue_role role)
{
    if (queue->device != UINT32_MAX)
        put_number(gpu, "device", queue->device);
    if (queue->is_stream)
        put_number(gpu, "context", queue->context);
    /* Readers take events with a stream for work of the device. */
    if (queue->is_stream && gpu_role_is_launched(role))
        put_number(gpu, "stream", queue->stream);
}

static void put_origin(struct chrome_gpu *gpu, const struct item *item)
{
    const struct event *event = item->event;
    char path[PATH_SIZE];
    if (item->path) {
        gpu_path_text(gpu->writer->trace, item->path, path, sizeof(path));
        chrome_argument(gpu->writer,
                        &(struct fact){.name = "launched in", .kind = VALUE_STRING, .text = path});
    }
    if (event->origin_ns == EVENT_NO_ORIGIN || event->thread >= gpu->writer->thread_count)
        return;
    struct fact tid = tid_fact(gpu->ids, "start_tid", event->thread);
    chrome_argument(gpu->writer, &tid);
    chrome_argument(gpu->writer,
                    &(struct fact){.name = "delay_ns",
                                   .kind = VALUE_INT64,
                                   .value = {.int64 = event->time_ns - event->origin_ns}});
}

static void put_bandwidth(struct chrome_gpu *gpu, const struct item *item)
{
    const struct arg *bytes = gpu_value_find(&gpu->keys, &item->args, GPU_VALUE_BYTES);
    int64_t length_ns = item->end_ns - item->event->time_ns;
    if (!bytes || length_ns <= 0)
        return;
    double rate = (double)gpu_value_number(bytes) / (double)length_ns; /* GB/s */
    chrome_argument(gpu->writer, &(struct fact){.name = "memory bandwidth (GB/s)",
                                                .kind = VALUE_DOUBLE,
                                                .value = {.float64 = rate}});
}

static void put_span(struct chrome_gpu *gpu, const struct item *item,
                     const struct chrome_queue *queue, const char *place)
{
    struct chrome_writer *writer = gpu->writer;
    const struct event *event = item->event;
    enum queue_role role = gpu_role_of(writer->trace, event->scope);
    struct end_facts facts;
    uint64_t arrow, number = number_of_launch(gpu, item, &arrow);
    if (role == QUEUE_ROLE_CALL)
        note_call(gpu, number);
    if (role == QUEUE_ROLE_COPY || role == QUEUE_ROLE_SET)
        put_copy_name(gpu, role, item);
    else
        chrome_begin(writer, 'X', event->name);
    out_text(writer->out, place);
    chrome_micros(writer, "ts", event->time_ns - writer->origin_ns);
    chrome_micros(writer, "dur", item->end_ns - event->time_ns);
    chrome_text(writer, "cat", category_of(gpu, role, event->name));
    put_where(gpu, queue, role);
    if (number)
        put_number(gpu, "correlation", number);
    put_values(gpu, &item->args);
    if (role == QUEUE_ROLE_COPY || role == QUEUE_ROLE_SET)
        put_bandwidth(gpu, item);
    put_origin(gpu, item);
    end_facts_init(&facts, gpu->ids, item);
    for (const struct fact *fact = facts.items; fact->name; fact++)
        chrome_argument(writer, fact);
    chrome_end(writer);
    if (arrow)
        put_arrow(gpu, event, place, arrow);
}

bool chrome_gpu_take(struct chrome_gpu *gpu, const struct item *item, int *ret_error)
{
    const struct trace *trace = gpu->writer->trace;
    const struct event *event = item->event;
    char place[CHROME_GPU_PLACE];
    uint32_t tid;
    *ret_error = 0;
    if (!gpu->any || item->kind != ITEM_SPAN || event->lane >= gpu->lane_count)
        return false;
    if (gpu_role_of(trace, event->scope) == QUEUE_ROLE_NONE && !gpu_device_of(trace, event->lane))
        return false;
    struct chrome_queue *queue = find_queue(gpu, event->lane);
    *ret_error = queue ? find_tid(gpu, queue, item, &tid) : -ENOMEM;
    if (*ret_error)
        return true;
    snprintf(place, sizeof(place), ",\"pid\":%u,\"tid\":%u", queue->pid, tid);
    put_span(gpu, item, queue, place);
    *ret_error = chrome_annotations_launch(gpu, item, queue);
    return true;
}

void chrome_gpu_attributes(struct chrome_gpu *gpu, const struct event *event,
                           const struct args *values)
{
    struct chrome_writer *writer = gpu->writer;
    const struct scope *scope = trace_scope(writer->trace, event->scope);
    enum queue_role role = gpu_role_of(writer->trace, event->scope);
    uint64_t number = role ? number_of_call(gpu, event->thread, values) : 0;
    if (!role && !scope->category && !scope->domain)
        chrome_text(writer, "cat", "user_annotation");
    if (!role) {
        chrome_attributes(writer, event, values);
        return;
    }
    if (role == QUEUE_ROLE_CALL)
        note_call(gpu, number);
    chrome_text(writer, "cat", category_of(gpu, role, event->name));
    if (number)
        put_number(gpu, "correlation", number);
    put_values(gpu, values);
}

/* ---- All of it ------------------------------------------------------------------------------- */

int chrome_gpu_init(struct chrome_gpu *gpu, struct chrome_writer *writer, struct export_ids *ids)
{
    const struct trace *trace = writer->trace;
    *gpu = (struct chrome_gpu){.writer = writer, .ids = ids, .any = gpu_is_recorded(trace)};
    if (!gpu->any)
        return 0;
    gpu->has_calls = gpu_has_calls(trace);
    gpu->lane_count = trace_lane_count(trace);
    gpu->queue_of = calloc(gpu->lane_count + 1u, sizeof(*gpu->queue_of));
    gpu->launches = calloc(CHROME_LAUNCHES, sizeof(*gpu->launches));
    return gpu->queue_of && gpu->launches ? gpu_keys_init(&gpu->keys, trace) : -ENOMEM;
}

void chrome_gpu_fini(struct chrome_gpu *gpu)
{
    for (size_t i = 0; i < gpu->queues.count; i++) {
        shelves_fini(&gpu->queues.items[i].shelves);
        vec_free(&gpu->queues.items[i].tids);
    }
    vec_free(&gpu->queues);
    vec_free(&gpu->devices);
    vec_free(&gpu->waiting);
    map64_free(&gpu->calls);
    chrome_annotations_fini(&gpu->annotations);
    free(gpu->queue_of);
    free(gpu->launches);
    gpu_keys_fini(&gpu->keys);
}
