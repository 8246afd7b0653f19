/* SPDX-License-Identifier: MIT */
/* Findings about GPUs. Thread-safety: none. */
#ifndef ANNOT_DOCTOR_GPU_H
#define ANNOT_DOCTOR_GPU_H

#include "doctor.h"

struct host_facts;

/* Opens the driver's library and others in children. */
void doctor_look_at_gpu(struct doctor *doctor, const struct host_facts *facts);

#endif
