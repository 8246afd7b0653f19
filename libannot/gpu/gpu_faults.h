/* SPDX-License-Identifier: MIT */
/* What is known of versions of CUPTI: what libannot-gpu does about it, and what people are told. */
#ifndef ANNOT_GPU_FAULTS_H
#define ANNOT_GPU_FAULTS_H

#include <stdint.h>

enum gpu_fault {
    GPU_FAULT_TOO_OLD = 1,      /* not used at all */
    GPU_FAULT_KEEP_BUFFERS = 2, /* a request for a buffer must not be refused */
    GPU_FAULT_NO_GRAPHS = 4,    /* no records of whole graphs */
    GPU_FAULT_ALONE = 8,        /* one tool at a time */
    GPU_FAULT_CLOCK = 16,       /* who shares it has no clock of his own */
    GPU_FAULT_FINALIZE = 32,    /* cuptiFinalize is not safe: told alone, as it is never called */
};

/* Of this version: a set of enum gpu_fault. */
uint32_t gpu_faults(uint32_t version);
/* Why, for people; NULL: no such fault. */
const char *gpu_fault_text(enum gpu_fault fault);
/* What a version is called, such as "12.2"; "" where it is none that is known. */
const char *gpu_fault_version(uint32_t version, char text[32]);

#endif
