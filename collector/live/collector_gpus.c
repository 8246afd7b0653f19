/* SPDX-License-Identifier: MIT */
/* Readings of GPUs as counters of the recording: of a separate process, since they belong to the
 * machine and to no program, with a thread for each GPU. The entry of the thread identifies the
 * GPU, so that readers can match it with programs, which number GPUs differently. */
#include "collector_gpus.h"

#include "clock_now.h"
#include "collector_sampling.h"
#include "collector_writing.h"
#include "trace_devices.h"
#include "writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- NVIDIA's management library ------------------------------------------------------------- */

/* Read several times a second.
 *
 * libnvidia-ml.so.1 comes with the driver and is opened, never linked; the few functions and
 * structs used are declared here, as its interface has had them since 2012. Its calls may take
 * milliseconds, so a separate thread makes them, and the collector takes the readings at any time.
 * A counter that a GPU does not support is not queried again.
 * Threads: the reader's fills a list under a lock; the rest belongs to the collector's. */

/* A GPU, or an instance of one. Texts that the library does not provide are empty. */
struct nvml_about {
    char name[NVML_TEXT_SIZE];  /* in the library's numbering: "GPU 3", "GPU 3 MIG 0" */
    char model[NVML_TEXT_SIZE]; /* "NVIDIA H100 80GB HBM3" */
    char uuid[NVML_TEXT_SIZE], card[NVML_TEXT_SIZE], place[NVML_TEXT_SIZE]; /* trace_devices.h */
};

struct nvml_reading {
    int64_t time_ns;
    uint32_t device, counter; /* nvml_device(); enum nvml_counter */
    double value;
};

enum { LIST_MAX = 1 << 16, OK = 0, CLOCK_OF_SM = 1, CLOCK_OF_MEMORY = 2, SENSOR_OF_GPU = 0 };

typedef void *nvml_handle;

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml_pci {
    char legacy_place[16];
    unsigned domain, bus, device, ids[2];
    char place[32];
};

struct functions {
    int (*init)(void);
    int (*shutdown)(void);
    int (*get_count)(unsigned *);
    int (*get_device)(unsigned, nvml_handle *);
    int (*get_utilization)(nvml_handle, struct nvml_utilization *);
    int (*get_memory)(nvml_handle, struct nvml_memory *);
    int (*get_power)(nvml_handle, unsigned *); /* mW */
    int (*get_clock)(nvml_handle, int, unsigned *);
    int (*get_temperature)(nvml_handle, int, unsigned *);
    /* NULL: missing in an older library. */
    int (*get_name)(nvml_handle, char *, unsigned);
    int (*get_uuid)(nvml_handle, char *, unsigned);
    int (*get_pci)(nvml_handle, struct nvml_pci *);
    int (*get_instance_max)(nvml_handle, unsigned *);
    int (*get_instance)(nvml_handle, unsigned, nvml_handle *);
};

struct device {
    nvml_handle handle; /* NULL: it cannot be queried */
    bool missing[NVML_COUNTERS];
    struct nvml_about about;
};

struct nvml {
    struct functions call;
    unsigned device_count;
    struct device devices[NVML_DEVICES_MAX]; /* W: the reader; `about` before a reading of it */
    int64_t period_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ends_changed;
    bool ends;                 /* under the lock, as the following */
    struct nvml_reading *list; /* LIST_MAX */
    size_t count;
};

/* ---- The library ----------------------------------------------------------------------------- */

static bool find_functions(void *library, struct functions *call)
{
    static const struct {
        const char *name;
        size_t at;
        bool optional;
    } names[] = {
        {"nvmlInit_v2", offsetof(struct functions, init), false},
        {"nvmlShutdown", offsetof(struct functions, shutdown), false},
        {"nvmlDeviceGetCount_v2", offsetof(struct functions, get_count), false},
        {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct functions, get_device), false},
        {"nvmlDeviceGetUtilizationRates", offsetof(struct functions, get_utilization), false},
        {"nvmlDeviceGetMemoryInfo", offsetof(struct functions, get_memory), false},
        {"nvmlDeviceGetPowerUsage", offsetof(struct functions, get_power), false},
        {"nvmlDeviceGetClockInfo", offsetof(struct functions, get_clock), false},
        {"nvmlDeviceGetTemperature", offsetof(struct functions, get_temperature), false},
        {"nvmlDeviceGetName", offsetof(struct functions, get_name), true},
        {"nvmlDeviceGetUUID", offsetof(struct functions, get_uuid), true},
        {"nvmlDeviceGetPciInfo_v3", offsetof(struct functions, get_pci), true},
        {"nvmlDeviceGetMaxMigDeviceCount", offsetof(struct functions, get_instance_max), true},
        {"nvmlDeviceGetMigDeviceHandleByIndex", offsetof(struct functions, get_instance), true},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *function = dlsym(library, names[i].name);
        if (!function && !names[i].optional)
            return false;
        memcpy((char *)call + names[i].at, &function, sizeof(function));
    }
    return true;
}

/* Fills the texts; unknown ones stay empty. */
static void describe(const struct functions *call, struct device *device)
{
    struct nvml_about *about = &device->about;
    struct nvml_pci pci = {0};
    if (!call->get_uuid || call->get_uuid(device->handle, about->uuid, NVML_TEXT_SIZE) != OK)
        about->uuid[0] = 0;
    if (!call->get_name || call->get_name(device->handle, about->model, NVML_TEXT_SIZE) != OK)
        about->model[0] = 0;
    if (call->get_pci && call->get_pci(device->handle, &pci) == OK)
        snprintf(about->place, NVML_TEXT_SIZE, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
}

/* NULL: too many devices. */
static struct device *add_device(struct nvml *nvml, nvml_handle handle)
{
    if (nvml->device_count == NVML_DEVICES_MAX)
        return NULL;
    struct device *device = &nvml->devices[nvml->device_count++];
    device->handle = handle;
    if (handle)
        describe(&nvml->call, device);
    return device;
}

/* Adds the instances of a partitioned GPU. */
static void find_instances(struct nvml *nvml, unsigned number)
{
    const struct functions *call = &nvml->call;
    const struct device *whole = &nvml->devices[number];
    nvml_handle handle;
    unsigned max = 0;
    if (!whole->handle || !call->get_instance_max || !call->get_instance ||
        call->get_instance_max(whole->handle, &max) != OK)
        return;
    for (unsigned i = 0; i < max && i < NVML_DEVICES_MAX; i++) {
        struct device *device =
            call->get_instance(whole->handle, i, &handle) == OK ? add_device(nvml, handle) : NULL;
        if (!device)
            continue;
        snprintf(device->about.name, NVML_TEXT_SIZE, "GPU %u MIG %u", number, i);
        memcpy(device->about.card, whole->about.uuid, NVML_TEXT_SIZE);
        memcpy(device->about.place, whole->about.place, NVML_TEXT_SIZE);
    }
}

static void find_devices(struct nvml *nvml)
{
    unsigned count = 0;
    nvml_handle handle;
    if (nvml->call.get_count(&count) != OK)
        return;
    for (unsigned i = 0; i < count && i < NVML_DEVICES_MAX; i++) {
        bool is_there = nvml->call.get_device(i, &handle) == OK;
        struct device *device = add_device(nvml, is_there ? handle : NULL);
        snprintf(device->about.name, NVML_TEXT_SIZE, "GPU %u", i);
    }
    count = nvml->device_count;
    for (unsigned i = 0; i < count; i++)
        find_instances(nvml, i);
}

/* Reads one counter; false: not supported. */
static bool read_one(struct nvml *nvml, uint32_t device, enum nvml_counter counter, double *ret)
{
    const struct functions *call = &nvml->call;
    nvml_handle at = nvml->devices[device].handle;
    struct nvml_utilization used = {0};
    struct nvml_memory memory = {0};
    unsigned number = 0;
    int error;
    switch (counter) {
    case NVML_UTILISATION:
    case NVML_MEMORY_UTILISATION:
        error = call->get_utilization(at, &used);
        number = counter == NVML_UTILISATION ? used.gpu : used.memory;
        break;
    case NVML_MEMORY_USED:
        error = call->get_memory(at, &memory);
        *ret = (double)memory.used / (1 << 20);
        return error == OK;
    case NVML_POWER:
        error = call->get_power(at, &number);
        *ret = number / 1000.0;
        return error == OK;
    case NVML_TEMPERATURE:
        error = call->get_temperature(at, SENSOR_OF_GPU, &number);
        break;
    default:
        error =
            call->get_clock(at, counter == NVML_CLOCK_SM ? CLOCK_OF_SM : CLOCK_OF_MEMORY, &number);
    }
    *ret = number;
    return error == OK;
}

/* ---- The reader's thread --------------------------------------------------------------------- */

static void keep(struct nvml *nvml, const struct nvml_reading *reading)
{
    pthread_mutex_lock(&nvml->lock);
    if (nvml->count < LIST_MAX) /* else not read for many minutes: drop it */
        nvml->list[nvml->count++] = *reading;
    pthread_mutex_unlock(&nvml->lock);
}

static void read_all(struct nvml *nvml)
{
    for (uint32_t i = 0; i < nvml->device_count; i++)
        for (int counter = 0; counter < NVML_COUNTERS; counter++) {
            struct nvml_reading reading = {.device = i, .counter = (uint32_t)counter};
            struct device *device = &nvml->devices[i];
            if (!device->handle || device->missing[counter])
                continue;
            device->missing[counter] =
                !read_one(nvml, i, (enum nvml_counter)counter, &reading.value);
            reading.time_ns = clock_now_ns();
            if (!device->missing[counter])
                keep(nvml, &reading);
        }
}

/* Waits until the next reading is due; false: stop. */
static bool wait_for(struct nvml *nvml, int64_t due_ns)
{
    const struct timespec until = clock_own_time(due_ns);
    pthread_mutex_lock(&nvml->lock);
    int error = 0;
    while (!nvml->ends && error == 0)
        error = pthread_cond_timedwait(&nvml->ends_changed, &nvml->lock, &until);
    bool goes_on = !nvml->ends;
    pthread_mutex_unlock(&nvml->lock);
    return goes_on;
}

/* Reads periodically. A reading that took longer than its period does not shorten the next ones. */
static void *run(void *context)
{
    struct nvml *nvml = context;
    if (nvml->call.init() != OK)
        return NULL;
    find_devices(nvml);
    int64_t due_ns = clock_now_ns();
    do {
        read_all(nvml);
        int64_t now_ns = clock_now_ns();
        due_ns =
            due_ns + nvml->period_ns > now_ns ? due_ns + nvml->period_ns : now_ns + nvml->period_ns;
    } while (wait_for(nvml, due_ns));
    (void)nvml->call.shutdown();
    return NULL;
}

/* ---- The collector's ------------------------------------------------------------------------- */

static int start(struct nvml *nvml)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    pthread_mutex_init(&nvml->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&nvml->ends_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&nvml->thread, NULL, run, nvml);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

int nvml_start(uint32_t frequency_hz, struct nvml **ret_nvml)
{
    struct functions call;
    *ret_nvml = NULL;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library || !find_functions(library, &call))
        return 0;
    struct nvml *nvml = calloc(1, sizeof(*nvml));
    struct nvml_reading *list = calloc(LIST_MAX, sizeof(*list));
    int error = nvml && list ? 0 : -ENOMEM;
    if (error == 0) {
        nvml->call = call;
        nvml->list = list;
        nvml->period_ns = 1000000000 / (int64_t)frequency_hz;
        error = start(nvml);
    }
    if (error != 0) {
        free(list);
        free(nvml);
        return error;
    }
    *ret_nvml = nvml;
    return 0;
}

void nvml_end(struct nvml *nvml)
{
    if (!nvml || nvml->ends)
        return;
    pthread_mutex_lock(&nvml->lock);
    nvml->ends = true;
    pthread_cond_signal(&nvml->ends_changed);
    pthread_mutex_unlock(&nvml->lock);
    pthread_join(nvml->thread, NULL);
}

/* Takes and removes the oldest readings; returns their number. */
static size_t nvml_take(struct nvml *nvml, struct nvml_reading *readings, size_t max)
{
    pthread_mutex_lock(&nvml->lock);
    size_t count = nvml->count < max ? nvml->count : max;
    memcpy(readings, nvml->list, count * sizeof(*readings));
    nvml->count -= count;
    memmove(nvml->list, nvml->list + count, nvml->count * sizeof(*readings));
    pthread_mutex_unlock(&nvml->lock);
    return count;
}

/* The description of a device with a reading. Lives as long as `nvml`. */
static const struct nvml_about *nvml_device(const struct nvml *nvml, uint32_t device)
{
    return &nvml->devices[device].about;
}

void nvml_destroy(struct nvml *nvml)
{
    if (!nvml)
        return;
    nvml_end(nvml);
    pthread_cond_destroy(&nvml->ends_changed);
    pthread_mutex_destroy(&nvml->lock);
    free(nvml->list);
    free(nvml);
}

enum { TAKE_MAX = 16 };

/* ---- Counters of the recording --------------------------------------------------------------- */

static const struct {
    const char *name, *unit;
} counters[NVML_COUNTERS] = {
    [NVML_UTILISATION] = {"utilisation", "%"},
    [NVML_MEMORY_UTILISATION] = {"memory utilisation", "%"},
    [NVML_MEMORY_USED] = {"memory used", "MiB"},
    [NVML_POWER] = {"power", "W"},
    [NVML_CLOCK_SM] = {"SM clock", "MHz"},
    [NVML_CLOCK_MEMORY] = {"memory clock", "MHz"},
    [NVML_TEMPERATURE] = {"temperature", "degrees C"},
};

static uint32_t add_text(struct trace *trace, const char *text, int *error)
{
    int64_t ordinal = trace_string_add(trace, text, strlen(text));
    if (ordinal < 0)
        *error = (int)ordinal;
    return ordinal < 0 ? 0 : (uint32_t)ordinal;
}

/* Adds the process at the first reading. No pid: it is not a program. */
static int enter(struct gpus *gpus, struct trace *trace)
{
    int error = 0;
    uint32_t name = add_text(trace, "GPU counters", &error);
    uint32_t comm = add_text(trace, "annot", &error);
    gpus->domain = add_text(trace, "NVML", &error);
    int64_t scope =
        trace_scope_add(trace, &(struct scope){.domain = gpus->domain, .observer = OBSERVER_CUPTI});
    int64_t process = error == 0 ? trace_process_add(trace) : error;
    if (process < 0 || scope < 0)
        return process < 0 ? (int)process : (int)scope;
    struct trace_process *entry = trace_process(trace, (uint32_t)process);
    entry->identity = trace_session(trace)->id ^ UINT64_C(0x6770752063746572);
    entry->name = name;
    entry->comm = comm;
    entry->revision++;
    gpus->process = (uint32_t)process;
    gpus->scope = (uint32_t)scope;
    gpus->entered = true;
    return 0;
}

static int identify(struct trace *trace, const struct nvml_about *about, uint32_t thread)
{
    int error = 0;
    uint32_t name = add_text(trace, about->name, &error);
    uint32_t uuid = about->uuid[0] ? add_text(trace, about->uuid, &error) : 0;
    uint32_t card = about->card[0] ? add_text(trace, about->card, &error) : 0;
    uint32_t place = about->place[0] ? add_text(trace, about->place, &error) : 0;
    int64_t device = error == 0 ? trace_device_add(trace) : error;
    if (device < 0)
        return (int)device;
    struct trace_device *entry = trace_device(trace, (uint32_t)device);
    entry->thread = thread + 1;
    entry->name = name;
    entry->uuid = uuid;
    entry->card = card;
    entry->place = place;
    return 0;
}

/* Adds the thread of a device: "GPU 0: NVIDIA H100". */
static int enter_device(struct gpus *gpus, struct trace *trace, uint32_t device)
{
    const struct nvml_about *about = nvml_device(gpus->nvml, device);
    char text[2 * NVML_TEXT_SIZE + 2];
    int error = 0;
    snprintf(text, sizeof(text), "%s%s%s", about->name, about->model[0] ? ": " : "", about->model);
    uint32_t name = add_text(trace, text, &error), comm = add_text(trace, "annot", &error);
    int64_t thread = error == 0 ? trace_thread_add(trace, gpus->process) : error;
    if (thread < 0)
        return (int)thread;
    struct trace_thread *entry = trace_thread(trace, (uint32_t)thread);
    entry->serial = 1 + device;
    entry->name = name;
    entry->comm = comm;
    entry->first_ns = clock_now_ns();
    entry->revision++;
    gpus->devices[device].thread = (uint32_t)thread + 1;
    error = identify(trace, about, (uint32_t)thread);
    return error == -ENOSPC ? 0 : error;
}

/* Defines "GPU 0 power"; sets the unit before the first value. 0 or -errno. */
static int name_counter(struct gpus *gpus, struct trace *trace, const struct nvml_reading *reading)
{
    const struct nvml_about *about = nvml_device(gpus->nvml, reading->device);
    char text[2 * NVML_TEXT_SIZE];
    int error = 0;
    snprintf(text, sizeof(text), "%s %s", about->name, counters[reading->counter].name);
    uint32_t name = add_text(trace, text, &error);
    uint32_t unit = add_text(trace, counters[reading->counter].unit, &error);
    if (error == 0)
        error = trace_unit_set(trace, gpus->domain, name, unit);
    gpus->devices[reading->device].names[reading->counter] = name;
    return error == -ENOSPC ? 0 : error;
}

static int know(struct gpus *gpus, struct trace *trace, const struct nvml_reading *reading)
{
    int error = gpus->entered ? 0 : enter(gpus, trace);
    if (error == 0 && gpus->devices[reading->device].thread == 0)
        error = enter_device(gpus, trace, reading->device);
    if (error == 0 && gpus->devices[reading->device].names[reading->counter] == 0)
        error = name_counter(gpus, trace, reading);
    return error;
}

/* Passes on events of one thread. */
static int hand_on(struct sampling *sampling, const struct event *events, uint32_t count)
{
    struct gpus *gpus = &sampling->gpus;
    const struct event_batch batch = {.thread = events[0].thread, .count = count, .events = events};
    struct trace_thread *thread = trace_thread(sampling->trace, batch.thread);
    struct trace_process *process = trace_process(sampling->trace, gpus->process);
    thread->last_ns = events[count - 1].time_ns;
    thread->event_count += count;
    thread->revision++;
    process->event_count += count;
    process->revision++;
    return sampling->sink ? sink_add(sampling->sink, &batch)
                          : store_writer_add(sampling->writer, &batch);
}

static uint32_t count_of_thread(const struct event *events, uint32_t count)
{
    uint32_t same = 1;
    while (same < count && events[same].thread == events[0].thread)
        same++;
    return same;
}

/* Passes on one batch of readings. 1: there may be more; 0; -errno. */
static int take_some(struct sampling *sampling)
{
    struct gpus *gpus = &sampling->gpus;
    struct nvml_reading readings[TAKE_MAX];
    struct event events[TAKE_MAX];
    uint32_t count = (uint32_t)nvml_take(gpus->nvml, readings, TAKE_MAX);
    int error = 0;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        const struct nvml_reading *reading = &readings[i];
        error = know(gpus, sampling->trace, reading);
        events[i] = (struct event){.time_ns = reading->time_ns,
                                   .thread = gpus->devices[reading->device].thread - 1,
                                   .kind = EVENT_COUNTER,
                                   .value_kind = VALUE_DOUBLE,
                                   .name = gpus->devices[reading->device].names[reading->counter],
                                   .scope = gpus->scope,
                                   .value = {.float64 = reading->value}};
    }
    for (uint32_t i = 0, same; i < count && error == 0; i += same) {
        same = count_of_thread(&events[i], count - i);
        error = hand_on(sampling, &events[i], same);
    }
    return error != 0 ? error : count == TAKE_MAX;
}

int gpus_step(struct sampling *sampling)
{
    int more = sampling->gpus.nvml ? 1 : 0;
    while (more == 1)
        more = take_some(sampling);
    return more;
}
