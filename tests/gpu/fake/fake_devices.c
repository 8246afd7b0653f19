/* SPDX-License-Identifier: MIT */
/* Devices instead of the recorded one: those of FAKE_GPUS, as the program's driver numbers them. */
#include "fake_parts.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int get_uuid_fn(unsigned char *uuid, int device);

static get_uuid_fn *driver(const char *name)
{
    get_uuid_fn *function;
    *(void **)&function = dlsym(RTLD_DEFAULT, name);
    return function;
}

/* The number of devices in FAKE_GPUS. 0: only the recorded one. */
static uint32_t device_count(void)
{
    unsigned char uuid[16];
    uint32_t count = 0;
    if (getenv("FAKE_GPUS"))
        while (driver("cuDeviceGetUuid_v2")(uuid, (int)count) == 0)
            count++;
    return count;
}

/* Changes the record of the recorded device into that of another one. */
static void make_device(uint8_t *record, uint32_t number)
{
    uint8_t *whole = record + offsetof(CUpti_ActivityDevice5, uuid);
    uint8_t *part = record + offsetof(CUpti_ActivityDevice5, migUuid);
    memcpy(record + offsetof(CUpti_ActivityDevice5, id), &number, sizeof(number));
    driver("cuDeviceGetUuid")(whole, (int)number);
    driver("cuDeviceGetUuid_v2")(part, (int)number);
    if (memcmp(whole, part, 16) == 0)
        memset(part, 0, 16);
}

void fake_put_devices(const uint8_t *record, size_t size, bool hidden)
{
    uint8_t copy[256];
    memcpy(copy, record, size);
    if (hidden) {
        memset(copy + offsetof(CUpti_ActivityDevice5, uuid), 0xee, 16);
        copy[offsetof(CUpti_ActivityDevice5, isCudaVisible)] = 0;
        fake_deliver(copy, size);
    }
    memcpy(copy, record, size);
    for (uint32_t i = 0; i < device_count(); i++) {
        make_device(copy, i);
        fake_deliver(copy, size);
    }
    if (device_count() == 0)
        fake_deliver(copy, size);
}

/* The offsets of the device and the stream. {0}: this kind has neither. */
struct places {
    size_t device, stream;
};

static struct places places_of(uint32_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return (struct places){offsetof(CUpti_ActivityKernel10, deviceId),
                               offsetof(CUpti_ActivityKernel10, streamId)};
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return (struct places){offsetof(CUpti_ActivityMemcpy6, deviceId),
                               offsetof(CUpti_ActivityMemcpy6, streamId)};
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return (struct places){offsetof(CUpti_ActivityMemset4, deviceId),
                               offsetof(CUpti_ActivityMemset4, streamId)};
    default:
        return (struct places){0};
    }
}

void fake_place_work(uint8_t *record, uint32_t kind)
{
    const struct places places = places_of(kind);
    uint32_t stream, count = places.stream ? device_count() : 0;
    if (count < 2)
        return;
    memcpy(&stream, record + places.stream, sizeof(stream));
    stream %= count;
    memcpy(record + places.device, &stream, sizeof(stream));
}
