/* SPDX-License-Identifier: MIT */
/* Rows of GPU work and of the calls that launched it. Thread-safety: one thread per exporter. */
#ifndef ANNOT_NSYS_GPU_H
#define ANNOT_NSYS_GPU_H

#include "export_nsys.h"
#include "pass.h"

#include <stdbool.h>

/* 0 or -ENOMEM. */
int nsys_gpu_init(struct nsys *nsys);

/* Returns false for items other than GPU work and its calls. */
bool nsys_gpu_take(struct nsys *nsys, const struct item *item);

/* Takes facts of a device. */
void nsys_gpu_mark(struct nsys *nsys, const struct item *item);

/* Writes launches without a recorded call. */
void nsys_gpu_finish(struct nsys *nsys);

#endif
