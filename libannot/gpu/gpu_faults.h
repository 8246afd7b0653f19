/* SPDX-License-Identifier: MIT */
/* Known faults of CUPTI's versions: flags for libannot-gpu, and texts for people. */
#ifndef ANNOT_GPU_FAULTS_H
#define ANNOT_GPU_FAULTS_H

#include <stdint.h>

enum gpu_fault {
    GPU_FAULT_TOO_OLD = 1,      /* the version is not used */
    GPU_FAULT_KEEP_BUFFERS = 2, /* a request for a buffer must not be refused */
    GPU_FAULT_NO_GRAPHS = 4,    /* no records of whole graphs */
    GPU_FAULT_ALONE = 8,        /* only one tool can use CUPTI */
    GPU_FAULT_CLOCK = 16,       /* a tool that shares CUPTI cannot set its own clock */
    GPU_FAULT_FINALIZE = 32,    /* cuptiFinalize is not safe: only reported, never called */
};

/* Returns the faults of a version: a set of enum gpu_fault. */
uint32_t gpu_faults(uint32_t version);
/* Returns the explanation for people; NULL: unknown fault. */
const char *gpu_fault_text(enum gpu_fault fault);
/* Returns the CUDA release of a version, such as "12.2"; "" for an unknown one. */
const char *gpu_fault_version(uint32_t version, char text[32]);

#endif
