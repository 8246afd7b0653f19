/* SPDX-License-Identifier: MIT */
/* Facts about the recording: processes and threads, time and place, devices, enums. */
#include "nsys.h"

#include "export_facts.h"
#include "nsys_database.h"
#include "nsys_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TIME_SIZE = 64, NUMBER_SIZE = 32, SQL_SIZE = 256 };

/* ---- Processes, threads, times --------------------------------------------------------------- */

int64_t nsys_process(const struct nsys *nsys, uint32_t process)
{
    return process < nsys->ids.process_count ? (int64_t)nsys->ids.pids[process] << NSYS_TID_BITS
                                             : NSYS_UNKNOWN;
}

int64_t nsys_thread(const struct nsys *nsys, uint32_t thread)
{
    if (thread >= nsys->ids.thread_count)
        return NSYS_UNKNOWN;
    int64_t process = nsys_process(nsys, trace_thread_get(nsys->trace, thread)->process);
    return process == NSYS_UNKNOWN ? NSYS_UNKNOWN
                                   : process | (nsys->ids.tids[thread] & NSYS_TID_MASK);
}

void nsys_put_time(struct nsys *nsys, int64_t time_ns)
{
    nsys_put(&nsys->db, time_ns - nsys->begin_ns);
}

void nsys_put_who(struct nsys *nsys, int64_t global)
{
    if (global == NSYS_UNKNOWN)
        nsys_skip(&nsys->db, 1);
    else
        nsys_put(&nsys->db, global);
}

/* ---- Processes and threads ------------------------------------------------------------------- */

static void put_thread(struct nsys *nsys, uint32_t thread)
{
    char label[EXPORT_LABEL_SIZE];
    export_thread_label(&nsys->ids, nsys->trace, thread, label);
    int64_t name = nsys_text(&nsys->db, label);
    nsys_begin_row(&nsys->db, NSYS_TABLE_THREADS);
    nsys_put(&nsys->db, name);
    nsys_skip(&nsys->db, 1);
    nsys_put_who(nsys, nsys_thread(nsys, thread));
    nsys_end_row(&nsys->db);
}

static void put_process(struct nsys *nsys, uint32_t process)
{
    char label[EXPORT_LABEL_SIZE];
    size_t length = trace_process_label(nsys->trace, process, label, sizeof(label));
    nsys_begin_row(&nsys->db, NSYS_TABLE_PROCESSES);
    nsys_put_who(nsys, nsys_process(nsys, process));
    nsys_put(&nsys->db, nsys->ids.pids[process]);
    nsys_put_text(&nsys->db, label, length);
    nsys_end_row(&nsys->db);
}

/* Writes processes that have a selected thread, or all of them without a selection. */
static void put_programs(struct nsys *nsys)
{
    const struct pass_selection *selection = nsys->job->selection;
    for (uint32_t i = 0; i < nsys->ids.process_count; i++) {
        uint32_t process = nsys->ids.order[i];
        bool chosen = pass_selects_all(selection);
        for (uint32_t thread = 0; thread < nsys->ids.thread_count && !chosen; thread++)
            chosen = trace_thread_get(nsys->trace, thread)->process == process &&
                     pass_selects_thread(selection, thread);
        if (chosen)
            put_process(nsys, process);
    }
    for (uint32_t i = 0; i < nsys->ids.thread_count; i++)
        if (pass_selects_thread(selection, i))
            put_thread(nsys, i);
}

/* ---- Devices --------------------------------------------------------------------------------- */

static int64_t pid_of(const struct nsys *nsys, uint32_t process)
{
    return process < nsys->ids.process_count ? nsys->ids.pids[process] : 0;
}

static void put_text_value(struct nsys *nsys, const struct arg *value)
{
    const char *text = gpu_value_text(&nsys->keys, value);
    if (text[0])
        nsys_put_text(&nsys->db, text, strlen(text));
    else
        nsys_skip(&nsys->db, 1);
}

static void put_number_value(struct nsys *nsys, const struct arg *value)
{
    if (value->kind)
        nsys_put(&nsys->db, (int64_t)gpu_value_number(value));
    else
        nsys_skip(&nsys->db, 1);
}

/* A device used by several processes has one row. */
static void put_gpu(struct nsys *nsys, const struct nsys_device *device)
{
    const struct arg *values = device->values;
    struct nsys_database *db = &nsys->db;
    const char *name =
        trace_string(nsys->trace, trace_lane_get(nsys->trace, device->lane)->name)->bytes;
    const char *colon = strncmp(name, "GPU ", 4) == 0 ? strstr(name, ": ") : NULL;
    unsigned major, minor;
    name = colon ? colon + 2 : name;
    nsys_begin_row(db, NSYS_TABLE_GPU);
    nsys_put(db, 0);
    nsys_put(db, device->number);
    nsys_put_text(db, name, strlen(name));
    put_text_value(nsys, &values[GPU_VALUE_PCI]);
    put_number_value(nsys, &values[GPU_VALUE_DEVICE_MEMORY]);
    put_number_value(nsys, &values[GPU_VALUE_MULTIPROCESSORS]);
    put_text_value(nsys, &values[GPU_VALUE_UUID]);
    nsys_put(db, device->number);
    if (sscanf(gpu_value_text(&nsys->keys, &values[GPU_VALUE_CAPABILITY]), "%u.%u", &major,
               &minor) == 2) {
        nsys_put(db, major);
        nsys_put(db, minor);
    }
    nsys_end_row(db);
}

static void put_cuda_device(struct nsys *nsys, const struct nsys_device *device)
{
    uint32_t process = trace_lane_get(nsys->trace, device->lane)->process;
    nsys_begin_row(&nsys->db, NSYS_TABLE_CUDA_DEVICE);
    nsys_put(&nsys->db, device->number);
    nsys_put(&nsys->db, device->number);
    nsys_put(&nsys->db, pid_of(nsys, process));
    put_text_value(nsys, &device->values[GPU_VALUE_UUID]);
    put_number_value(nsys, &device->values[GPU_VALUE_MULTIPROCESSORS]);
    nsys_end_row(&nsys->db);
}

static void put_devices(struct nsys *nsys)
{
    for (size_t i = 0; i < nsys->devices.count; i++) {
        const struct nsys_device *device = &nsys->devices.items[i];
        size_t first = 0;
        while (nsys->devices.items[first].number != device->number)
            first++;
        if (first == i)
            put_gpu(nsys, device);
        put_cuda_device(nsys, device);
    }
}

/* ---- Contexts and streams -------------------------------------------------------------------- */

static void put_stream(struct nsys *nsys, const struct trace_lane *lane)
{
    nsys_begin_row(&nsys->db, NSYS_TABLE_CUDA_STREAM);
    nsys_put(&nsys->db, (uint32_t)lane->id);
    nsys_put(&nsys->db, 0);
    nsys_put(&nsys->db, 0);
    nsys_put(&nsys->db, pid_of(nsys, lane->process));
    nsys_put(&nsys->db, (int64_t)(lane->id >> 32));
    nsys_end_row(&nsys->db);
}

static void put_context(struct nsys *nsys, const struct map64_entry *entry)
{
    nsys_begin_row(&nsys->db, NSYS_TABLE_CUDA_CONTEXT);
    nsys_skip(&nsys->db, 1);
    nsys_put(&nsys->db, 0);
    nsys_put(&nsys->db, 0);
    nsys_put(&nsys->db, pid_of(nsys, (uint32_t)(entry->key >> 32) - 1));
    nsys_put(&nsys->db, (int64_t)entry->value - 1);
    nsys_put(&nsys->db, (uint32_t)entry->key);
    nsys_end_row(&nsys->db);
}

static void put_streams(struct nsys *nsys)
{
    for (uint32_t i = 0; i < trace_lane_count(nsys->trace); i++) {
        const struct trace_lane *lane = trace_lane_get(nsys->trace, i);
        if (lane->kind == LANE_QUEUE && gpu_is_stream(lane) && gpu_device_of(nsys->trace, i))
            put_stream(nsys, lane);
    }
    for (size_t i = 0; i < nsys->contexts.capacity; i++)
        if (nsys->contexts.entries[i].key &&
            (uint32_t)nsys->contexts.entries[i].key < NSYS_CONTEXTS)
            put_context(nsys, &nsys->contexts.entries[i]);
}

/* ---- The session ----------------------------------------------------------------------------- */

static void put_times(struct nsys *nsys)
{
    struct nsys_database *db = &nsys->db;
    int64_t end_ns = session_end_ns(nsys->trace) - nsys->begin_ns;
    int64_t realtime_ns = trace_session_get(nsys->trace)->begin_realtime_ns;
    char text[TIME_SIZE];
    struct tm utc;
    time_t seconds = realtime_ns / 1000000000;
    nsys_begin_row(db, NSYS_TABLE_ANALYSIS);
    nsys_put(db, 0);
    nsys_put(db, end_ns);
    nsys_put(db, 0);
    nsys_put(db, end_ns);
    nsys_end_row(db);
    if (realtime_ns <= 0 || !gmtime_r(&seconds, &utc))
        return;
    nsys_begin_row(db, NSYS_TABLE_START_TIME);
    nsys_put(db, realtime_ns);
    nsys_put_text(db, text, strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc));
    nsys_end_row(db);
}

static void put_pair(struct nsys *nsys, enum nsys_table table, const char *name, const char *text)
{
    nsys_begin_row(&nsys->db, table);
    nsys_put_text(&nsys->db, name, strlen(name));
    nsys_put_text(&nsys->db, text, strlen(text));
    nsys_end_row(&nsys->db);
}

/* Writes the facts common to all exports: command, host, losses, ... */
static void put_fact(void *context, const struct fact *fact)
{
    char number[NUMBER_SIZE] = "";
    if (fact->kind == VALUE_UINT64)
        snprintf(number, sizeof(number), "%" PRIu64, fact->value.uint64);
    else if (fact->kind == VALUE_INT64)
        snprintf(number, sizeof(number), "%" PRId64, fact->value.int64);
    else if (fact->kind == VALUE_DOUBLE)
        snprintf(number, sizeof(number), "%.9g", fact->value.float64);
    put_pair(context, NSYS_TABLE_CAPTURE, fact->name,
             fact->kind == VALUE_STRING ? fact->text : number);
}

static void put_session(struct nsys *nsys)
{
    const struct trace_session *session = trace_session_get(nsys->trace);
    const char *version = trace_string(nsys->trace, session->annot_version)->bytes;
    put_times(nsys);
    session_facts(nsys->trace, put_fact, nsys);
    put_pair(nsys, NSYS_TABLE_EXPORT, NSYS_PRODUCT, NSYS_PRODUCT_OURS);
    if (version[0])
        put_pair(nsys, NSYS_TABLE_EXPORT, "EXPORT_PRODUCT_VERSION", version);
}

/* ---- Enums ----------------------------------------------------------------------------------- */

struct meaning {
    int number;
    const char *name, *label;
};

static const struct meaning event_types[] = {
    {NSYS_CATEGORY, "NvtxCategory", "NvtxCategory"},
    {NSYS_MARK, "NvtxMark", "NvtxMark"},
    {NSYS_PUSH_POP, "NvtxPushPopRange", "NvtxPushPopRange"},
    {NSYS_START_END, "NvtxStartEndRange", "NvtxStartEndRange"},
    {NSYS_DOMAIN, "NvtxDomainCreate", "NvtxDomainCreate"},
    {0}};

static const struct meaning event_classes[] = {
    {NSYS_CLASS_RUNTIME, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
    {NSYS_CLASS_DRIVER, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"},
    {NSYS_CLASS_SYSTEM, "TRACE_PROCESS_EVENT_OS_RUNTIME", "OS runtime"},
    {0}};

static const struct meaning copy_kinds[] = {
    {0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"},
    {1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
    {2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
    {3, "CUDA_MEMCPY_KIND_HTOA", "Host-to-Array"},
    {4, "CUDA_MEMCPY_KIND_ATOH", "Array-to-Host"},
    {5, "CUDA_MEMCPY_KIND_ATOA", "Array-to-Array"},
    {6, "CUDA_MEMCPY_KIND_ATOD", "Array-to-Device"},
    {7, "CUDA_MEMCPY_KIND_DTOA", "Device-to-Array"},
    {8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"},
    {9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"},
    {10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"},
    {NSYS_UNIFIED_HTOD, "CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device"},
    {NSYS_UNIFIED_DTOH, "CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host"},
    {NSYS_UNIFIED_DTOD, "CUDA_MEMCPY_KIND_UVM_DTOD", "Unified Device-to-Device"},
    {0}};

static const struct meaning memory_kinds[] = {
    {0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
    {1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
    {2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
    {3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
    {4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
    {5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"},
    {6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"},
    {0}};

static const struct meaning memory_operations[] = {
    {0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "Allocation"},
    {1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", "Deallocation"},
    {0}};

static const struct meaning sync_types[] = {
    {0, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown"},
    {1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"},
    {2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "Stream wait sync"},
    {3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"},
    {4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"},
    {0}};

static const struct meaning thread_states[] = {
    {0, "Unknown", "Unknown"}, {1, "Running", "Running"}, {0}};

static const struct {
    const char *table;
    const struct meaning *meanings; /* ends with an entry without a name */
} enums[] = {{"ENUM_NSYS_EVENT_TYPE", event_types},
             {"ENUM_NSYS_EVENT_CLASS", event_classes},
             {"ENUM_CUDA_MEMCPY_OPER", copy_kinds},
             {"ENUM_CUDA_MEM_KIND", memory_kinds},
             {"ENUM_CUDA_DEV_MEM_EVENT_OPER", memory_operations},
             {"ENUM_CUPTI_SYNC_TYPE", sync_types},
             {"ENUM_SAMPLING_THREAD_STATE", thread_states}};

static void put_enums(struct nsys_database *db)
{
    char sql[SQL_SIZE];
    for (size_t i = 0; i < sizeof(enums) / sizeof(*enums); i++) {
        snprintf(sql, sizeof(sql),
                 "CREATE TABLE %s (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)",
                 enums[i].table);
        nsys_run(db, sql);
        for (const struct meaning *at = enums[i].meanings; at->name; at++) {
            snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (%d, '%s', '%s')", enums[i].table,
                     at->number, at->name, at->label);
            nsys_run(db, sql);
        }
    }
}

void nsys_put_facts(struct nsys *nsys)
{
    put_programs(nsys);
    put_devices(nsys);
    put_streams(nsys);
    put_session(nsys);
    put_enums(&nsys->db);
    /* the name in versions of 2022 */
    nsys_run(&nsys->db, "CREATE VIEW EXPORT_META_DATA AS SELECT * FROM " NSYS_EXPORT);
}
