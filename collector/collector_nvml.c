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

typedef void *nvml_device;

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct functions {
    int (*init)(void);
    int (*shutdown)(void);
    int (*get_count)(unsigned *);
    int (*get_device)(unsigned, nvml_device *);
    int (*get_utilization)(nvml_device, struct nvml_utilization *);
    int (*get_memory)(nvml_device, struct nvml_memory *);
    int (*get_power)(nvml_device, unsigned *); /* mW */
    int (*get_clock)(nvml_device, int, unsigned *);
    int (*get_temperature)(nvml_device, int, unsigned *);
};

struct nvml {
    struct functions call;
    unsigned device_count;
    nvml_device devices[NVML_DEVICES_MAX];
    bool missing[NVML_DEVICES_MAX][NVML_COUNTERS]; /* W: the reader */
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
    } names[] = {
        {"nvmlInit_v2", offsetof(struct functions, init)},
        {"nvmlShutdown", offsetof(struct functions, shutdown)},
        {"nvmlDeviceGetCount_v2", offsetof(struct functions, get_count)},
        {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct functions, get_device)},
        {"nvmlDeviceGetUtilizationRates", offsetof(struct functions, get_utilization)},
        {"nvmlDeviceGetMemoryInfo", offsetof(struct functions, get_memory)},
        {"nvmlDeviceGetPowerUsage", offsetof(struct functions, get_power)},
        {"nvmlDeviceGetClockInfo", offsetof(struct functions, get_clock)},
        {"nvmlDeviceGetTemperature", offsetof(struct functions, get_temperature)},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *function = dlsym(library, names[i].name);
        if (!function)
            return false;
        memcpy((char *)call + names[i].at, &function, sizeof(function));
    }
    return true;
}

static void find_devices(struct nvml *nvml)
{
    unsigned count = 0;
    if (nvml->call.get_count(&count) != OK)
        return;
    for (unsigned i = 0; i < count && i < NVML_DEVICES_MAX; i++) {
        nvml_device *device = &nvml->devices[nvml->device_count];
        if (nvml->call.get_device(i, device) != OK)
            *device = NULL;
        nvml->device_count++;
    }
}

/* One that is asked for; whether there is an answer. */
static bool read_one(struct nvml *nvml, uint32_t device, enum nvml_counter counter, double *ret)
{
    const struct functions *call = &nvml->call;
    nvml_device at = nvml->devices[device];
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
    for (uint32_t device = 0; device < nvml->device_count; device++)
        for (int counter = 0; counter < NVML_COUNTERS; counter++) {
            struct nvml_reading reading = {.device = device, .counter = (uint32_t)counter};
            if (!nvml->devices[device] || nvml->missing[device][counter])
                continue;
            nvml->missing[device][counter] =
                !read_one(nvml, device, (enum nvml_counter)counter, &reading.value);
            reading.time_ns = clock_now_ns();
            if (!nvml->missing[device][counter])
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
