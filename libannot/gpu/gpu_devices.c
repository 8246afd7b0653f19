/* SPDX-License-Identifier: MIT */
/* What is known of devices, and how much of one a kernel can fill.
 *
 * CUPTI tells of them when the driver starts; a window that opens later asks the driver.
 * Threads: that of gpu_thread.c. */
#include "gpu_parts.h"

#include <stdio.h>

enum { DEVICES = 64 };

static struct device {
    bool is_known, is_told;
    bool was_asked; /* the driver, in this window */
    struct gpu_limits limits;
} devices[DEVICES];

void gpu_device_met(const struct gpu_limits *limits, uint32_t device)
{
    if (device >= DEVICES || devices[device].is_known)
        return;
    devices[device].limits = *limits;
    devices[device].is_known = true;
}

static uint32_t ask(uint32_t device, CUdevice_attribute attribute)
{
    int value = gpu_library_attribute(device, attribute);
    return value > 0 ? (uint32_t)value : 0;
}

static void ask_driver(uint32_t device)
{
    devices[device].was_asked = true;
    const struct gpu_limits limits = {
        .major = ask(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        .minor = ask(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        .multiprocessors = ask(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .warps = ask(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32,
        .blocks = ask(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        .registers = ask(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        .shared_bytes = ask(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .memory_bytes = gpu_library_memory(device),
    };
    if (limits.major != 0)
        gpu_device_met(&limits, device);
}

static struct device *device_of(uint32_t device)
{
    if (device >= DEVICES)
        return NULL;
    if (!devices[device].is_known && !devices[device].was_asked)
        ask_driver(device);
    return devices[device].is_known ? &devices[device] : NULL;
}

/* ---- Occupancy ------------------------------------------------------------------------------- */

static uint32_t round_up(uint32_t number, uint32_t unit)
{
    return (number + unit - 1) / unit * unit;
}

static uint32_t smaller(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

/* Registers are given to warps, 256 at a time, in each part of a multiprocessor. */
static uint32_t blocks_by_registers(const struct gpu_limits *limits, const struct gpu_shape *shape,
                                    uint32_t warps)
{
    uint32_t parts = limits->major == 6 && limits->minor == 0 ? 2 : 4;
    uint32_t each = round_up(shape->registers * 32, 256);
    return each ? limits->registers / parts / each * parts / warps : UINT32_MAX;
}

/* Since compute capability 8.0, the system has 1 KiB of each block's shared memory. How much of a
 * multiprocessor's memory is shared, the driver chose at the launch. */
static uint32_t blocks_by_memory(const struct gpu_limits *limits, const struct gpu_shape *shape)
{
    uint32_t reserved = limits->major >= 8 ? 1024 : 0, unit = limits->major >= 8 ? 128 : 256;
    uint32_t each = round_up(shape->shared_bytes + reserved, unit);
    uint32_t all = shape->shared_chosen ? shape->shared_chosen : limits->shared_bytes;
    all = all >= each ? all : limits->shared_bytes;
    return each ? all / each : UINT32_MAX;
}

/* Warps that are on a multiprocessor at once, of those that may be: as the CUDA C++ Programming
 * Guide has it under "Multiprocessor Level". */
double gpu_device_occupancy(uint32_t number, const struct gpu_shape *shape)
{
    const struct device *device = device_of(number);
    uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
    if (!device || threads == 0 || threads > 1024 || shape->registers > 255 ||
        shape->shared_bytes > device->limits.shared_bytes)
        return 0;
    const struct gpu_limits *limits = &device->limits;
    uint32_t warps = (uint32_t)(threads + 31) / 32;
    uint32_t blocks = smaller(limits->blocks, limits->warps / warps);
    blocks = smaller(blocks, blocks_by_registers(limits, shape, warps));
    blocks = smaller(blocks, blocks_by_memory(limits, shape));
    return limits->warps ? 100.0 * blocks * warps / limits->warps : 0;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

void gpu_device_text(uint32_t device, char *text, size_t size)
{
    char name[GPU_NAME_SIZE] = "";
    gpu_library_device(device, name, sizeof(name));
    snprintf(text, size, "GPU %u%s%s", device, name[0] ? ": " : "", name);
}

static void tell(uint32_t number, const struct device *device)
{
    struct gpu_values values = {0};
    char text[GPU_NAME_SIZE + 16], capability[24], place[32], uuid[48];
    snprintf(capability, sizeof(capability), "%u.%u", device->limits.major, device->limits.minor);
    gpu_library_place(number, place, sizeof(place));
    gpu_library_uuid(number, uuid, sizeof(uuid));
    gpu_values_number(&values, GPU_KEY_DEVICE, number);
    gpu_values_text(&values, GPU_KEY_COMPUTE_CAPABILITY, capability);
    gpu_values_number(&values, GPU_KEY_MULTIPROCESSORS, device->limits.multiprocessors);
    gpu_values_number(&values, GPU_KEY_DEVICE_MEMORY, (int64_t)device->limits.memory_bytes);
    gpu_values_text(&values, GPU_KEY_PCI, place);
    gpu_values_text(&values, GPU_KEY_UUID, uuid);
    gpu_device_text(number, text, sizeof(text));
    gpu_tell_fact("device", text, &values);
}

void gpu_device_tell(uint32_t number)
{
    struct device *device = device_of(number);
    if (!device || device->is_told)
        return;
    device->is_told = true;
    tell(number, device);
}

void gpu_devices_begin(void)
{
    for (uint32_t i = 0; i < DEVICES; i++)
        devices[i].is_told = devices[i].was_asked = false;
}
