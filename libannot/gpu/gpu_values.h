/* SPDX-License-Identifier: MIT */
/* Key-values of spans and labels: their texts, and how to add one. Threads: one per object. */
#ifndef ANNOT_GPU_VALUES_H
#define ANNOT_GPU_VALUES_H

#include "gpu_emit.h"

#include <stdint.h>

/* The key's text of annot/queues.h. */
const char *gpu_key_text(uint8_t key);

/* Adds one. Ignores an empty text, and values beyond GPU_VALUES_MAX. */
void gpu_values_number(struct gpu_values *values, enum gpu_key key, int64_t number);
void gpu_values_real(struct gpu_values *values, enum gpu_key key, double number);
void gpu_values_text(struct gpu_values *values, enum gpu_key key, const char *text);

#endif
