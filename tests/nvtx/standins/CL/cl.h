/* SPDX-License-Identifier: MIT */
/* Types that NVTX's naming calls need, instead of OpenCL's header. Only their kind matters. */
#ifndef ANNOT_STANDIN_CL_H
#define ANNOT_STANDIN_CL_H

typedef struct cl_device *cl_device_id;
typedef struct cl_context_ *cl_context;
typedef struct cl_queue *cl_command_queue;
typedef struct cl_memory *cl_mem;
typedef struct cl_sampler_ *cl_sampler;
typedef struct cl_program_ *cl_program;
typedef struct cl_event_ *cl_event;

#endif
