/* SPDX-License-Identifier: MIT */
/* Counters of the machine's GPUs, from NVIDIA's management library. Thread-safety: as the
 * collector. */
#ifndef ANNOT_COLLECTOR_GPUS_H
#define ANNOT_COLLECTOR_GPUS_H

#include <stdbool.h>
#include <stdint.h>

struct nvml;
struct sampling;

enum { NVML_DEVICES_MAX = 128, NVML_TEXT_SIZE = 96 }; /* eight GPUs with seven instances each */

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

/* Starts a separate thread that reads at this frequency. NULL and 0: this machine has no such
 * library; else -errno. destroy accepts NULL. */
int nvml_start(uint32_t frequency_hz, struct nvml **ret_nvml);
void nvml_destroy(struct nvml *nvml);

/* Stops the readings. */
void nvml_end(struct nvml *nvml);

/* Converts readings to counters, with a thread of the recording for each device. {0} is empty. */
struct gpus {
    struct nvml *nvml;
    bool entered; /* they are entered in the trace: */
    uint32_t process, domain, scope;

    struct {
        uint32_t thread;               /* 1 + ordinal; 0: no reading yet */
        uint32_t names[NVML_COUNTERS]; /* 0: no value yet */
    } devices[NVML_DEVICES_MAX];
};

/* Passes on new readings. 0 or -errno. */
int gpus_step(struct sampling *sampling);

#endif
