/* SPDX-License-Identifier: MIT */
/* A libnvidia-ml.so.1 for machines without a GPU: every reading is different, and is written to the
 * file FAKE_NVML_LOG, one line each: device, quantity, value. Device 1 has no power reading.
 *
 *     FAKE_NVML_DEVICES  the number of devices (2)    FAKE_NVML_FAILS  nvmlInit fails
 *     FAKE_NVML_GPUS     their identities, in the driver's order: "GPU-...@1a
 *                        GPU-...@1b+MIG-...+MIG-...", each with its bus and its instances.
 *
 * Instances only have a memory reading, and a device with instances has no utilisation. Without
 * FAKE_NVML_GPUS the identities are unknown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { DEVICES = 4, INSTANCES = 4, FAILED = 9, NOT_SUPPORTED = 3, TEXT_SIZE = 96 };

/* The devices, then four instances of each. */
static int devices[DEVICES + DEVICES * INSTANCES];
static FILE *played;

struct utilization {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long total, free, used;
};

struct pci {
    char legacy[16];
    unsigned domain, bus, device, ids[2];
    char place[32];
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
API int nvmlDeviceGetName(void *device, char *text, unsigned size);
API int nvmlDeviceGetUUID(void *device, char *text, unsigned size);
API int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci);
API int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count);
API int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance);

/* ---- Identities ------------------------------------------------------------------------------ */

static int number_of(const void *device)
{
    return (int)((const int *)device - devices);
}

static int is_instance(const void *device)
{
    return number_of(device) >= DEVICES;
}

/* The word of FAKE_NVML_GPUS: "UUID@BUS+UUID+UUID". */
static int word_of(int number, char text[4 * TEXT_SIZE])
{
    const char *at = getenv("FAKE_NVML_GPUS");
    for (; at && number > 0; number--)
        at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    if (!at)
        return 0;
    snprintf(text, 4 * TEXT_SIZE, "%.*s", (int)strcspn(at, " "), at);
    return 1;
}

/* The UUID of an instance of a device. 0: there is no such instance. */
static int find_instance(int number, unsigned index, char *text, size_t size)
{
    char word[4 * TEXT_SIZE];
    const char *at = word_of(number, word) ? strchr(word, '+') : NULL;
    for (; at && index > 0; index--)
        at = strchr(at + 1, '+');
    if (!at)
        return 0;
    snprintf(text, size, "%.*s", (int)strcspn(at + 1, "+"), at + 1);
    return 1;
}

static int has_instances(const void *device)
{
    char text[TEXT_SIZE];
    return !is_instance(device) && find_instance(number_of(device), 0, text, sizeof(text));
}

int nvmlDeviceGetName(void *device, char *text, unsigned size)
{
    snprintf(text, size, "Fake %s", is_instance(device) ? "instance" : "H100");
    return 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    int number = number_of(device);
    char word[4 * TEXT_SIZE];
    if (is_instance(device))
        return find_instance((number - DEVICES) / INSTANCES,
                             (unsigned)((number - DEVICES) % INSTANCES), text, size)
                   ? 0
                   : FAILED;
    if (!word_of(number, word) || word[0] == '@')
        return NOT_SUPPORTED;
    snprintf(text, size, "%.*s", (int)strcspn(word, "@+"), word);
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    char word[4 * TEXT_SIZE];
    const char *bus = word_of(number_of(device), word) ? strchr(word, '@') : NULL;
    if (is_instance(device) || !bus)
        return NOT_SUPPORTED;
    memset(pci, 0, sizeof(*pci));
    pci->bus = (unsigned)strtoul(bus + 1, NULL, 16);
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
    *count = INSTANCES;
    return is_instance(device) ? FAILED : 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance)
{
    char text[TEXT_SIZE];
    int number = number_of(device);
    if (index >= INSTANCES || !find_instance(number, index, text, sizeof(text)))
        return FAILED;
    *instance = &devices[DEVICES + INSTANCES * number + (int)index];
    return 0;
}

/* ---- Readings -------------------------------------------------------------------------------- */

/* Returns the next number of a device, and logs it. */
static unsigned long long play(void *device, const char *what, unsigned long long unit,
                               unsigned long long modulo)
{
    static unsigned long long turn;
    unsigned long long value = ++turn * 7 % modulo * unit;
    fprintf(played, "%d %s %llu\n", number_of(device), what, value);
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

/* The caller uses only one of both, but which one is unknown here: it asks twice, in turn. */
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates)
{
    static unsigned calls;
    if (is_instance(device) || has_instances(device))
        return NOT_SUPPORTED;
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
    if (device == &devices[1] || is_instance(device))
        return NOT_SUPPORTED;
    *power = (unsigned)play(device, "power", 125, 5600);
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz)
{
    if (is_instance(device))
        return NOT_SUPPORTED;
    *mhz = (unsigned)play(device, clock == 1 ? "SM_clock" : "memory_clock", 15, 200);
    return clock == 1 || clock == 2 ? 0 : FAILED;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    if (is_instance(device))
        return NOT_SUPPORTED;
    *degrees = (unsigned)play(device, "temperature", 1, 90);
    return sensor == 0 ? 0 : FAILED;
}
