/* SPDX-License-Identifier: MIT */
/* Rows of GPU work, and of the calls that launched it. Thread-safety: one thread per exporter. */
#ifndef ANNOT_NSYS_GPU_H
#define ANNOT_NSYS_GPU_H

#include "export_nsys.h"
#include "pass.h"

#include <stdbool.h>

/* 0 or -ENOMEM. */
int nsys_gpu_init(struct nsys *nsys);

/* False: it is none of what a GPU did, or was asked for. */
bool nsys_gpu_take(struct nsys *nsys, const struct item *item);

/* What it says of a device. */
void nsys_gpu_mark(struct nsys *nsys, const struct item *item);

/* Launches whose calls were not recorded. */
void nsys_gpu_finish(struct nsys *nsys);

#endif
