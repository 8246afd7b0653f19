/* SPDX-License-Identifier: MIT */
/* Properties of devices, and the occupancy of kernels.
 *
 * CUPTI reports them when the driver starts; for a later window, they are read from the driver.
 * Threads: that of gpu_thread.c. */
#include "gpu_devices.h"

#include "gpu_library.h"
#include "gpu_records.h"
#include "gpu_values.h"

#include <stdio.h>
#include <string.h>

enum { DEVICES = 64 };

static struct device {
    struct gpu_limits limits;
    struct gpu_identity identity;
    bool is_known, is_reported;
    bool was_queried; /* the driver was queried in this window */
} devices[DEVICES];

/* CUPTI reports all devices, but numbers only those visible to the program as the program does. */
void gpu_device_met(const struct gpu_record *record)
{
    uint32_t device = record->device;
    if (device >= DEVICES || devices[device].is_known || record->hidden)
        return;
    devices[device].limits = record->limits;
    devices[device].identity = record->identity;
    if (!record->identity.is_known)
        (void)gpu_library_identity(device, &devices[device].identity);
    devices[device].is_known = true;
}

static uint32_t ask(uint32_t device, CUdevice_attribute attribute)
{
    int value = gpu_library_attribute(device, attribute);
    return value > 0 ? (uint32_t)value : 0;
}

static void ask_driver(uint32_t device)
{
    devices[device].was_queried = true;
    struct gpu_record record = {.device = device};
    record.limits = (struct gpu_limits){
        .major = ask(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        .minor = ask(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        .multiprocessors = ask(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .warps = ask(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32,
        .blocks = ask(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        .registers = ask(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        .shared_bytes = ask(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .memory_bytes = gpu_library_memory(device),
    };
    if (record.limits.major != 0)
        gpu_device_met(&record);
}

static struct device *device_of(uint32_t device)
{
    if (device >= DEVICES)
        return NULL;
    if (!devices[device].is_known && !devices[device].was_queried)
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

/* Registers are allocated to warps, 256 at a time, in each part of a multiprocessor. */
static uint32_t blocks_by_registers(const struct gpu_limits *limits, const struct gpu_shape *shape,
                                    uint32_t warps)
{
    uint32_t parts = limits->major == 6 && limits->minor == 0 ? 2 : 4;
    uint32_t each = round_up(shape->registers * 32, 256);
    return each ? limits->registers / parts / each * parts / warps : UINT32_MAX;
}

/* Since compute capability 8.0, the system reserves 1 KiB of each block's shared memory. The driver
 * chooses the shared part of a multiprocessor's memory at the launch. */
static uint32_t blocks_by_memory(const struct gpu_limits *limits, const struct gpu_shape *shape)
{
    uint32_t reserved = limits->major >= 8 ? 1024 : 0, unit = limits->major >= 8 ? 128 : 256;
    uint32_t each = round_up(shape->shared_bytes + reserved, unit);
    uint32_t all = shape->shared_chosen ? shape->shared_chosen : limits->shared_bytes;
    all = all >= each ? all : limits->shared_bytes;
    return each ? all / each : UINT32_MAX;
}

/* Resident warps of a multiprocessor over its maximum, as in the CUDA C++ Programming Guide under
 * "Multiprocessor Level". */
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

/* ---- Properties ------------------------------------------------------------------------------ */

void gpu_device_text(uint32_t device, char *text, size_t size)
{
    char name[GPU_NAME_SIZE] = "";
    gpu_library_device(device, name, sizeof(name));
    snprintf(text, size, "GPU %u%s%s", device, name[0] ? ": " : "", name);
}

enum { UUID_SIZE = 48, PLACE_SIZE = 32 };

/* The texts that identify a device. */
struct words {
    char uuid[UUID_SIZE], card[UUID_SIZE], place[PLACE_SIZE]; /* "": unknown */
};

/* In nvidia-smi's format. */
static void write_uuid(const char *kind, const uint8_t uuid[16], char text[UUID_SIZE])
{
    static const uint8_t zero[16];
    size_t used = (size_t)snprintf(text, UUID_SIZE, "%s", kind);
    if (memcmp(uuid, zero, sizeof(zero)) == 0)
        text[0] = 0;
    for (int i = 0; i < 16 && text[0]; i++) {
        bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(text + used, UUID_SIZE - used, "%s%02x", dash ? "-" : "", uuid[i]);
    }
}

static bool is_number(uint32_t number, const struct gpu_identity *identity)
{
    struct gpu_identity other;
    return gpu_library_identity(number, &other) &&
           memcmp(other.uuid, identity->uuid, sizeof(other.uuid)) == 0;
}

/* Returns the driver's number of it, which should be CUPTI's as well; DEVICES: not found. */
static uint32_t number_of(uint32_t number, const struct gpu_identity *identity)
{
    uint32_t at = 0;
    if (!identity->is_known || is_number(number, identity))
        return number;
    while (at < DEVICES && !is_number(at, identity))
        at++;
    return at;
}

static void identify(uint32_t number, const struct device *device, struct words *words)
{
    const struct gpu_identity *identity = &device->identity;
    uint32_t of_driver = number_of(number, identity);
    *words = (struct words){0};
    if (identity->is_known)
        write_uuid(identity->is_instance ? "MIG" : "GPU", identity->uuid, words->uuid);
    if (identity->is_instance)
        write_uuid("GPU", identity->card, words->card);
    if (of_driver < DEVICES)
        gpu_library_place(of_driver, words->place, sizeof(words->place));
}

static void add_identity(struct gpu_values *values, const struct words *words)
{
    gpu_values_text(values, GPU_KEY_PCI, words->place);
    gpu_values_text(values, GPU_KEY_UUID, words->uuid);
    gpu_values_text(values, GPU_KEY_CARD, words->card);
}

uint32_t gpu_device_label(uint32_t number)
{
    const struct device *device = device_of(number);
    struct gpu_values values = {0};
    struct words words;
    char text[GPU_NAME_SIZE + 16];
    if (!device)
        return 0;
    identify(number, device, &words);
    add_identity(&values, &words);
    gpu_device_text(number, text, sizeof(text));
    return values.count ? gpu_emit_label(text, &values) : 0;
}

static void emit_device(uint32_t number, const struct device *device)
{
    struct gpu_values values = {0};
    struct words words;
    char text[GPU_NAME_SIZE + 16], capability[24];
    snprintf(capability, sizeof(capability), "%u.%u", device->limits.major, device->limits.minor);
    identify(number, device, &words);
    gpu_values_number(&values, GPU_KEY_DEVICE, number);
    gpu_values_text(&values, GPU_KEY_COMPUTE_CAPABILITY, capability);
    gpu_values_number(&values, GPU_KEY_MULTIPROCESSORS, device->limits.multiprocessors);
    gpu_values_number(&values, GPU_KEY_DEVICE_MEMORY, (int64_t)device->limits.memory_bytes);
    add_identity(&values, &words);
    gpu_device_text(number, text, sizeof(text));
    gpu_emit_fact("device", text, &values);
}

void gpu_device_emit(uint32_t number)
{
    struct device *device = device_of(number);
    if (!device || device->is_reported)
        return;
    device->is_reported = true;
    emit_device(number, device);
}

void gpu_devices_begin(void)
{
    for (uint32_t i = 0; i < DEVICES; i++)
        devices[i].is_reported = devices[i].was_queried = false;
}
