/* SPDX-License-Identifier: MIT */
/* A libnvidia-ml.so.1 for machines without a GPU: each reading is another one, and stands in the
 * file FAKE_NVML_LOG, a line each: device, what it is, the value. Device 1 knows no power.
 *
 * FAKE_NVML_DEVICES  how many there are (2)    FAKE_NVML_FAILS  nvmlInit fails */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { DEVICES = 4, FAILED = 9, NOT_SUPPORTED = 3 };

static int devices[DEVICES];
static FILE *played;

struct utilization {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long total, free, used;
};

API int nvmlInit_v2(void);
API int nvmlShutdown(void);
API int nvmlDeviceGetCount_v2(unsigned *count);
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
API int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates);
API int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
API int nvmlDeviceGetPowerUsage(void *device, unsigned *power);
API int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz);
API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees);

/* The next number of a device, logged. */
static unsigned long long play(void *device, const char *what, unsigned long long unit,
                               unsigned long long modulo)
{
    static unsigned long long turn;
    unsigned long long value = ++turn * 7 % modulo * unit;
    fprintf(played, "%d %s %llu\n", (int)((int *)device - devices), what, value);
    fflush(played);
    return value;
}

int nvmlInit_v2(void)
{
    const char *path = getenv("FAKE_NVML_LOG");
    played = fopen(path ? path : "/dev/null", "w");
    return !played || getenv("FAKE_NVML_FAILS") ? FAILED : 0;
}

int nvmlShutdown(void)
{
    return fclose(played) == 0 ? 0 : FAILED;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    const char *text = getenv("FAKE_NVML_DEVICES");
    *count = text ? (unsigned)atoi(text) : 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = index < DEVICES ? &devices[index] : NULL;
    return *device ? 0 : FAILED;
}

/* Which of both is asked for is not known: the caller asks twice, in turn. */
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates)
{
    static unsigned calls;
    unsigned value =
        (unsigned)play(device, calls++ % 2 ? "memory_utilisation" : "utilisation", 1, 101);
    rates->gpu = rates->memory = value;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    *memory =
        (struct memory){.total = 1ULL << 37, .used = play(device, "memory_used", 1 << 20, 81920)};
    memory->free = memory->total - memory->used;
    return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *power)
{
    if (device == &devices[1])
        return NOT_SUPPORTED;
    *power = (unsigned)play(device, "power", 125, 5600);
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz)
{
    *mhz = (unsigned)play(device, clock == 1 ? "SM_clock" : "memory_clock", 15, 200);
    return clock == 1 || clock == 2 ? 0 : FAILED;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    *degrees = (unsigned)play(device, "temperature", 1, 90);
    return sensor == 0 ? 0 : FAILED;
}
