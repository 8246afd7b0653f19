/* SPDX-License-Identifier: MIT */
/* Rules about GPUs: idle, small pieces of work, blocking copies. Thread-safety: one thread per
 * report. */
#ifndef ANNOT_FINDINGS_GPU_H
#define ANNOT_FINDINGS_GPU_H

#include "findings.h"

/* Adds findings about GPUs, if the report has any. */
void find_gpu(struct findings *findings);

#endif
