/* SPDX-License-Identifier: MIT */
/* Names that programs give to foreign objects: devices, contexts, streams and events of CUDA and
 * OpenCL, locks, pointers. Stored for code that meets the object later, such as the GPU part.
 *
 * A table of the process: 16,384 entries, filled lock-free and inherited by forked children. The
 * last name of an object wins. Threads: any, also signal handlers. */
#ifndef ANNOT_INJECT_OBJECTS_H
#define ANNOT_INJECT_OBJECTS_H

#include <annot/annot.h>

/* The kind of object that a value identifies. Append-only: other libraries use the numbers. */
enum inject_object {
    INJECT_CU_DEVICE = 1, /* CUdevice: the driver's number */
    INJECT_CU_CONTEXT = 2,
    INJECT_CU_STREAM = 3,
    INJECT_CU_EVENT = 4,
    INJECT_CUDA_DEVICE = 5, /* the runtime's number */
    INJECT_CUDA_STREAM = 6,
    INJECT_CUDA_EVENT = 7,
    INJECT_CL_DEVICE = 8,
    INJECT_CL_CONTEXT = 9,
    INJECT_CL_QUEUE = 10,
    INJECT_CL_MEMORY = 11,
    INJECT_CL_SAMPLER = 12,
    INJECT_CL_PROGRAM = 13,
    INJECT_CL_EVENT = 14,
    INJECT_OBJECT_RESOURCE = 0x10000, /* and the type of a resource of NVTX */
};

/* Returns the entry's number, from 1 on; 0: all near it are taken, the name is dropped. */
uint32_t inject_object_name(uint32_t kind, uint64_t value, const char *name);

/* The object was destroyed: clears its name. */
void inject_object_forget(uint32_t place);

/* Returns the name, or NULL without one. Exported, for libraries that find this one loaded. The
 * text stays valid, up to 63 bytes; renaming the object overwrites it. */
ANNOT_API const char *annot_inject_object(uint32_t kind, uint64_t value);

#endif
