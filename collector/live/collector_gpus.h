/* SPDX-License-Identifier: MIT */
/* Counters of the machine's GPUs, from NVIDIA's management library. Thread-safety: as the
 * collector. */
#ifndef ANNOT_COLLECTOR_GPUS_H
#define ANNOT_COLLECTOR_GPUS_H

#include <stdbool.h>
#include <stdint.h>

struct nvml;
struct sampling;

enum { NVML_DEVICES_MAX = 128, NVML_TEXT_SIZE = 96 }; /* of eight GPUs with seven instances each */

enum nvml_counter {
    NVML_UTILISATION,
    NVML_MEMORY_UTILISATION,
    NVML_MEMORY_USED, /* MiB */
    NVML_POWER,       /* W */
    NVML_CLOCK_SM,    /* MHz */
    NVML_CLOCK_MEMORY,
    NVML_TEMPERATURE,
    NVML_COUNTERS
};

/* Reads so often a second, in a thread of its own. NULL and 0: this machine has no such library;
 * else -errno. destroy accepts NULL. */
int nvml_start(uint32_t frequency_hz, struct nvml **ret_nvml);
void nvml_destroy(struct nvml *nvml);

/* No more readings. */
void nvml_end(struct nvml *nvml);

/* What they become: counters of a thread of the recording for each device. {0} is none. */
struct gpus {
    struct nvml *nvml;
    bool entered; /* there are entries for them: */
    uint32_t process, domain, scope;

    struct {
        uint32_t thread;               /* 1 + ordinal; 0: there was no reading of it yet */
        uint32_t names[NVML_COUNTERS]; /* 0: not met yet */
    } devices[NVML_DEVICES_MAX];
};

/* Hands on new readings. 0 or -errno. */
int gpus_step(struct sampling *sampling);

#endif
