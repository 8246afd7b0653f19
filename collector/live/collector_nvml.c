/* SPDX-License-Identifier: MIT */
/* What NVIDIA's management library says of the machine's GPUs, several times a second.
 *
 * libnvidia-ml.so.1 comes with the driver and is opened, never linked; the few functions and
 * structs in use are declared here, as its interface has had them since 2012. Its calls may take
 * milliseconds, so a thread of its own makes them; the collector takes what it has read when it
 * likes. What a GPU has not is not asked for again.
 * Threads: the reader's fills a list under a lock; the rest is of the collector's. */
#include "collector_parts.h"

#include "clock_now.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    /* NULL: an older library has none. */
    int (*get_name)(nvml_handle, char *, unsigned);
    int (*get_uuid)(nvml_handle, char *, unsigned);
    int (*get_pci)(nvml_handle, struct nvml_pci *);
    int (*get_instance_max)(nvml_handle, unsigned *);
    int (*get_instance)(nvml_handle, unsigned, nvml_handle *);
};

struct device {
    nvml_handle handle; /* NULL: it cannot be asked */
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
    bool ends;                 /* with the lock, as what follows */
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

/* What the library does not know stays empty. */
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

/* NULL: there are too many. */
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

/* Of a GPU that is shared out; any other one has none. */
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

/* One that is asked for; whether there is an answer. */
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
    if (nvml->count < LIST_MAX) /* else nobody has looked for many minutes */
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

/* Until the next reading is due; false: it ends. */
static bool wait_for(struct nvml *nvml, int64_t due_ns)
{
    const struct timespec until = {due_ns / 1000000000, due_ns % 1000000000};
    pthread_mutex_lock(&nvml->lock);
    int error = 0;
    while (!nvml->ends && error == 0)
        error = pthread_cond_timedwait(&nvml->ends_changed, &nvml->lock, &until);
    bool goes_on = !nvml->ends;
    pthread_mutex_unlock(&nvml->lock);
    return goes_on;
}

/* A reading that took longer than its turn does not make the next ones come closer together. */
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

size_t nvml_take(struct nvml *nvml, struct nvml_reading *readings, size_t max)
{
    pthread_mutex_lock(&nvml->lock);
    size_t count = nvml->count < max ? nvml->count : max;
    memcpy(readings, nvml->list, count * sizeof(*readings));
    nvml->count -= count;
    memmove(nvml->list, nvml->list + count, nvml->count * sizeof(*readings));
    pthread_mutex_unlock(&nvml->lock);
    return count;
}

const struct nvml_about *nvml_device(const struct nvml *nvml, uint32_t device)
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
