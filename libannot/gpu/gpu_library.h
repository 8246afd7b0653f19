/* SPDX-License-Identifier: MIT */
/* The functions of the process's libcupti, and facts of devices from the driver.
 *
 * Threads: gpu_library_find() runs in InitializeInjection, then in the thread of gpu_thread.c;
 * `cupti` is constant once it has returned 0. */
#ifndef ANNOT_GPU_LIBRARY_H
#define ANNOT_GPU_LIBRARY_H

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CUpti_SubscriberParams; older headers lack it or its last field. */
struct gpu_subscriber_params {
    size_t struct_size;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t shares, padding[7];
};

typedef void(CUPTIAPI *gpu_requested_v2)(uint8_t **, size_t *, size_t *, void *);
typedef void(CUPTIAPI *gpu_completed_v2)(uint8_t *, size_t, size_t, void *);

/* Functions that this version lacks are NULL. */
struct cupti {
    __typeof__(cuptiGetVersion) *get_version;
    __typeof__(cuptiGetResultString) *get_result_string;
    __typeof__(cuptiSubscribe) *subscribe;
    CUptiResult (*subscribe_v2)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *,
                                struct gpu_subscriber_params *);
    __typeof__(cuptiUnsubscribe) *unsubscribe;
    __typeof__(cuptiEnableCallback) *enable_callback;
    __typeof__(cuptiGetCallbackName) *get_callback_name;
    __typeof__(cuptiActivityEnable) *activity_enable;
    __typeof__(cuptiActivityDisable) *activity_disable;
    __typeof__(cuptiActivityRegisterCallbacks) *register_callbacks;
    __typeof__(cuptiActivityRegisterTimestampCallback) *register_clock;
    __typeof__(cuptiActivityFlushAll) *flush_all;
    __typeof__(cuptiActivityGetNextRecord) *get_next_record;
    __typeof__(cuptiActivityGetNumDroppedRecords) *get_dropped;
    __typeof__(cuptiSetThreadIdType) *set_thread_id_type;
    __typeof__(cuptiGetGraphNodeId) *get_graph_node_id;
    __typeof__(cuptiGetStreamIdEx) *get_stream_id;
    __typeof__(cuptiGetTimestamp) *get_timestamp;
    CUptiResult (*enable_runtime_api)(CUpti_CallbackId, uint8_t); /* older headers lack it */
    __typeof__(cuptiActivityConfigureUnifiedMemoryCounter) *configure_unified;
    __typeof__(cuptiPCSamplingEnable) *pc_enable;
    __typeof__(cuptiPCSamplingDisable) *pc_disable;
    __typeof__(cuptiPCSamplingGetData) *pc_get_data;
    __typeof__(cuptiPCSamplingSetConfigurationAttribute) *pc_configure;
    __typeof__(cuptiPCSamplingGetNumStallReasons) *pc_count_reasons;
    __typeof__(cuptiPCSamplingGetStallReasons) *pc_get_reasons;
    /* For a subscriber that shares CUPTI; in headers since CUDA 13.3. */
    CUptiResult (*activity_enable_v2)(CUpti_SubscriberHandle, CUpti_ActivityKind, void *);
    CUptiResult (*activity_disable_v2)(CUpti_SubscriberHandle, CUpti_ActivityKind, void *);
    CUptiResult (*register_callbacks_v2)(CUpti_SubscriberHandle, gpu_requested_v2,
                                         gpu_completed_v2);
    CUptiResult (*get_next_record_v2)(CUpti_SubscriberHandle, uint8_t *, size_t, CUpti_Activity **);
    CUptiResult (*get_dropped_v2)(CUpti_SubscriberHandle, CUcontext, uint32_t, size_t *);
    CUptiResult (*get_timestamp_v2)(CUpti_SubscriberHandle, uint64_t *);
    CUptiResult (*set_attribute_v2)(CUpti_SubscriberHandle, int, size_t *, void *);
    CUptiResult (*get_attribute_v2)(CUpti_SubscriberHandle, int, size_t *, void *);
    CUptiResult (*enable_runtime_api_v2)(CUpti_SubscriberHandle, CUpti_CallbackId, uint8_t);
    uint32_t version; /* CUPTI's own: 18 is CUDA 11.8's, 130000 is 13.0's */
    int driver;       /* 13000 is 13.0; 0: unknown */
    bool is_found;
    char path[PATH_MAX];
};

extern struct cupti cupti;

/* Finds the process's libcupti: the mapped one, else the one beside its libcudart, else by its name
 * in the loader's path; never loads a second one. 0, or -errno with a line in `text`; a later call
 * tries again, as the program may have loaded one. */
int gpu_library_find(char *text, size_t size);

/* Writes the failed function and its result as a line. */
void gpu_library_say(char *text, size_t size, const char *what, CUptiResult result);

/* Returns the name of another tool in this process that uses CUPTI, by its library; or NULL. */
const char *gpu_library_of_tool(void);

/* ---- Devices, by the driver ---- */

enum { GPU_NAME_SIZE = 256 };

/* Identity of a device, independent of its number. */
struct gpu_identity {
    bool is_known;
    bool is_instance; /* of MIG: the UUID is the instance's, `card` that of the whole device */
    uint8_t uuid[16], card[16];
};

/* By the device's number; "" or 0: unknown to the driver. */
void gpu_library_device(uint32_t device, char *text, size_t size);
void gpu_library_place(uint32_t device, char *text, size_t size); /* on the PCI bus */
int gpu_library_attribute(uint32_t device, CUdevice_attribute attribute);
uint64_t gpu_library_memory(uint32_t device); /* bytes */

/* Returns false if the driver has no device of that number. */
bool gpu_library_identity(uint32_t device, struct gpu_identity *ret_identity);

#endif
