/* SPDX-License-Identifier: MIT */
/* Choice of libcupti, and the table of its functions.
 *
 * A second libcupti in a process breaks both, so one that is mapped already is used. Threads: that
 * of InitializeInjection, then that of gpu_thread.c. */
#include "gpu_library.h"

#include "gpu_faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cupti cupti;

#define CUPTI_NAME "libcupti.so"

enum { CUDA_MAJOR_MIN = 12 };

struct function {
    const char *name;
    size_t at;
    bool optional;
};

#define AT(member) offsetof(struct cupti, member)

static const struct function functions[] = {
    {"cuptiGetVersion", AT(get_version), false},
    {"cuptiGetResultString", AT(get_result_string), false},
    {"cuptiSubscribe", AT(subscribe), false},
    {"cuptiSubscribe_v2", AT(subscribe_v2), true},
    {"cuptiUnsubscribe", AT(unsubscribe), false},
    {"cuptiEnableCallback", AT(enable_callback), false},
    {"cuptiGetCallbackName", AT(get_callback_name), false},
    {"cuptiActivityEnable", AT(activity_enable), false},
    {"cuptiActivityDisable", AT(activity_disable), false},
    {"cuptiActivityRegisterCallbacks", AT(register_callbacks), false},
    {"cuptiActivityRegisterTimestampCallback", AT(register_clock), false},
    {"cuptiActivityFlushAll", AT(flush_all), false},
    {"cuptiActivityGetNextRecord", AT(get_next_record), false},
    {"cuptiActivityGetNumDroppedRecords", AT(get_dropped), false},
    {"cuptiSetThreadIdType", AT(set_thread_id_type), false},
    {"cuptiGetGraphNodeId", AT(get_graph_node_id), true},
    {"cuptiActivityEnable_v2", AT(activity_enable_v2), true},
    {"cuptiActivityDisable_v2", AT(activity_disable_v2), true},
    {"cuptiActivityRegisterCallbacks_v2", AT(register_callbacks_v2), true},
    {"cuptiActivityGetNextRecord_v2", AT(get_next_record_v2), true},
    {"cuptiActivityGetNumDroppedRecords_v2", AT(get_dropped_v2), true},
    {"cuptiGetTimestamp_v2", AT(get_timestamp_v2), true},
    {"cuptiActivitySetAttribute_v2", AT(set_attribute_v2), true},
    {"cuptiActivityGetAttribute_v2", AT(get_attribute_v2), true},
    {"cuptiActivityEnableRuntimeApi_v2", AT(enable_runtime_api_v2), true},
    {"cuptiGetStreamIdEx", AT(get_stream_id), true},
    {"cuptiGetTimestamp", AT(get_timestamp), true},
    {"cuptiActivityEnableRuntimeApi", AT(enable_runtime_api), true},
    {"cuptiActivityConfigureUnifiedMemoryCounter", AT(configure_unified), true},
    {"cuptiPCSamplingEnable", AT(pc_enable), true},
    {"cuptiPCSamplingDisable", AT(pc_disable), true},
    {"cuptiPCSamplingGetData", AT(pc_get_data), true},
    {"cuptiPCSamplingSetConfigurationAttribute", AT(pc_configure), true},
    {"cuptiPCSamplingGetNumStallReasons", AT(pc_count_reasons), true},
    {"cuptiPCSamplingGetStallReasons", AT(pc_get_reasons), true},
};

/* ---- Mapped libraries ------------------------------------------------------------------------ */

struct wanted {
    const char *name; /* prefix of the file's name */
    char path[PATH_MAX];
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct wanted *wanted = context;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!slash || strncmp(slash + 1, wanted->name, strlen(wanted->name)) != 0 ||
        strlen(info->dlpi_name) >= sizeof(wanted->path))
        return 0;
    memcpy(wanted->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
    return 1;
}

/* Finds the path of a mapped library whose file's name has this prefix; "": not found. */
static void find_mapped(struct wanted *wanted, const char *name)
{
    *wanted = (struct wanted){.name = name};
    dl_iterate_phdr(look_at, wanted);
}

const char *gpu_library_of_tool(void)
{
    static const struct {
        const char *library, *tool;
    } tools[] = {
        {"libToolsInjection", "Nsight Systems"}, {"libInterceptorInjection", "Nsight Compute"},
        {"libcuda-injection", "Nsight Compute"}, {"libsanitizer-collection", "compute-sanitizer"},
        {"libtorch_cpu", "torch.profiler"},
    };
    struct wanted wanted;
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        find_mapped(&wanted, tools[i].library);
        if (wanted.path[0] != 0)
            return tools[i].tool;
    }
    return NULL;
}

/* ---- Search paths ---------------------------------------------------------------------------- */

static void *open_in(const char *folder, const char *place, int major)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s%s/" CUPTI_NAME ".%d", folder, place, major);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* A toolkit has both in one folder, or CUPTI among its extras; wheels have a folder each. */
static void *open_beside(const char *library, int major)
{
    static const char *const places[] = {"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib"};
    char folder[PATH_MAX];
    void *handle = NULL;
    snprintf(folder, sizeof(folder), "%s", library);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !handle; i++)
        handle = open_in(folder, places[i], major);
    return handle;
}

static void *open_somewhere(int major)
{
    static const char *const folders[] = {"/usr/local/cuda/lib64",
                                          "/usr/local/cuda/extras/CUPTI/lib64"};
    char name[32];
    snprintf(name, sizeof(name), CUPTI_NAME ".%d", major);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !handle; i++)
        handle = open_in(folders[i], "", major);
    return handle;
}

/* The driver is mapped: it has loaded this library. */
static void *driver_function(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return dlsym(driver ? driver : RTLD_DEFAULT, name);
}

static int driver_version(void)
{
    __typeof__(cuDriverGetVersion) *get;
    int version = 0;
    *(void **)&get = driver_function("cuDriverGetVersion");
    return get && get(&version) == CUDA_SUCCESS ? version : 0;
}

/* ---- Devices, by the driver ------------------------------------------------------------------ */

void gpu_library_device(uint32_t device, char *text, size_t size)
{
    __typeof__(cuDeviceGetName) *get;
    *(void **)&get = driver_function("cuDeviceGetName");
    if (!get || get(text, (int)size, (CUdevice)device) != CUDA_SUCCESS)
        text[0] = 0;
}

int gpu_library_attribute(uint32_t device, CUdevice_attribute attribute)
{
    __typeof__(cuDeviceGetAttribute) *get;
    int value = 0;
    *(void **)&get = driver_function("cuDeviceGetAttribute");
    return get && get(&value, attribute, (CUdevice)device) == CUDA_SUCCESS ? value : 0;
}

uint64_t gpu_library_memory(uint32_t device)
{
    CUresult (*get)(size_t *, CUdevice);
    size_t bytes = 0;
    *(void **)&get = driver_function("cuDeviceTotalMem_v2");
    return get && get(&bytes, (CUdevice)device) == CUDA_SUCCESS ? bytes : 0;
}

void gpu_library_place(uint32_t device, char *text, size_t size)
{
    __typeof__(cuDeviceGetPCIBusId) *get;
    *(void **)&get = driver_function("cuDeviceGetPCIBusId");
    if (!get || get(text, (int)size, (CUdevice)device) != CUDA_SUCCESS)
        text[0] = 0;
}

/* The older function returns the UUID of the whole device, the newer one that of an instance. */
bool gpu_library_identity(uint32_t device, struct gpu_identity *ret_identity)
{
    CUresult (*get)(CUuuid *, CUdevice);
    CUuuid uuid, card;
    char name[GPU_NAME_SIZE];
    *ret_identity = (struct gpu_identity){0};
    *(void **)&get = driver_function("cuDeviceGetUuid_v2");
    if (!get || get(&uuid, (CUdevice)device) != CUDA_SUCCESS)
        return false;
    *(void **)&get = driver_function("cuDeviceGetUuid");
    bool has_card = get && get(&card, (CUdevice)device) == CUDA_SUCCESS &&
                    memcmp(card.bytes, uuid.bytes, sizeof(uuid.bytes)) != 0;
    gpu_library_device(device, name, sizeof(name));
    ret_identity->is_known = true;
    ret_identity->is_instance = has_card || strstr(name, "MIG") != NULL;
    memcpy(ret_identity->uuid, uuid.bytes, sizeof(uuid.bytes));
    if (has_card)
        memcpy(ret_identity->card, card.bytes, sizeof(card.bytes));
    return true;
}

/* The major number of a mapped libcudart; else the driver's, which works with older libraries as
 * well. */
static int runtime_major(const char *runtime)
{
    const char *number = strstr(runtime, ".so.");
    int major = number ? atoi(number + 4) : 0;
    return major > 0 ? major : cupti.driver / 1000;
}

static void *open_library(void)
{
    const char *given = getenv("ANNOT_CUPTI");
    struct wanted found;
    void *handle = NULL;
    find_mapped(&found, CUPTI_NAME);
    if (found.path[0] != 0)
        return dlopen(found.path, RTLD_NOW | RTLD_NOLOAD);
    if (given && *given)
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    find_mapped(&found, "libcudart.so");
    int major = runtime_major(found.path);
    if (found.path[0] != 0)
        handle = open_beside(found.path, major);
    for (; !handle && major >= CUDA_MAJOR_MIN; major--)
        handle = open_somewhere(major);
    return handle;
}

/* ---- Its functions --------------------------------------------------------------------------- */

static const char *take_functions(void *handle)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function && !functions[i].optional)
            return functions[i].name;
        memcpy((char *)&cupti + functions[i].at, &function, sizeof(function));
    }
    return NULL;
}

static void note_path(void)
{
    Dl_info info;
    void *function;
    memcpy(&function, &cupti.get_version, sizeof(function));
    if (dladdr(function, &info) && info.dli_fname)
        snprintf(cupti.path, sizeof(cupti.path), "%s", info.dli_fname);
}

void gpu_library_say(char *text, size_t size, const char *what, CUptiResult result)
{
    const char *reason = NULL;
    if (cupti.get_result_string(result, &reason) != CUPTI_SUCCESS || !reason)
        reason = "unknown error";
    snprintf(text, size, "%s: %s (%d)", what, reason, (int)result);
}

static int find(char *text, size_t size)
{
    cupti.driver = driver_version();
    void *handle = open_library();
    if (!handle) {
        snprintf(text, size, "no libcupti found for CUDA %d.%d", cupti.driver / 1000,
                 cupti.driver % 1000 / 10);
        return -ENOENT;
    }
    const char *missing = take_functions(handle);
    note_path();
    if (missing) {
        snprintf(text, size, "libcupti has no %s", missing);
        return -ENOSYS;
    }
    CUptiResult result = cupti.get_version(&cupti.version);
    if (result != CUPTI_SUCCESS) {
        gpu_library_say(text, size, "cuptiGetVersion", result);
        return -EIO;
    }
    if (gpu_faults(cupti.version) & GPU_FAULT_TOO_OLD) {
        snprintf(text, size, "libcupti of version %u: %s", cupti.version,
                 gpu_fault_text(GPU_FAULT_TOO_OLD));
        return -ENOTSUP;
    }
    return 0;
}

int gpu_library_find(char *text, size_t size)
{
    int error = cupti.is_found ? 0 : find(text, size);
    cupti.is_found = error == 0;
    return error;
}
