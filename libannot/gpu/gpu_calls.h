/* SPDX-License-Identifier: MIT */
/* Calls of the CUDA driver and runtime: the callback that notes launches and waits, and names of
 * calls.
 *
 * Threads: launching threads run gpu_calls_on(), which takes no lock. The thread of gpu_thread.c
 * names calls. The holder of the window's lock runs the rest. */
#ifndef ANNOT_GPU_CALLS_H
#define ANNOT_GPU_CALLS_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

/* The callback of CUPTI's subscriber. */
void CUPTIAPI gpu_calls_on(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                           const void *data);

/* Looks up the numbers of the calls to follow in this version of CUPTI; once. */
void gpu_calls_find(void);
/* Switches callbacks of these calls on or off. */
void gpu_calls_follow(bool on);

/* Switches callbacks of cudaProfilerStart and cudaProfilerStop on, until the session shuts. */
void gpu_calls_follow_profiler(void);

/* The call's interned name, without the suffixes of its version ("_v2", "_ptsz"). Threads: one. */
uint32_t gpu_api_name(bool is_driver, uint32_t call);

/* Excludes frequent calls without effect, such as cudaGetDevice, from the runtime's records. */
void gpu_api_leave_out(void);

#endif
