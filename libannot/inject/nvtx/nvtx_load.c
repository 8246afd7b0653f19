/* SPDX-License-Identifier: MIT */
/* Entry points of NVTX, called by each image of a program that was compiled with NVTX: the
 * executable and every library has separate pointers, so this is called once for each of them and
 * never reports "already done".
 *
 * Threads: any, also in a constructor, inside of dlopen, with locks of the program held. */

#include "nvtx.h"
#include "nvtx_extension.h"
#include "nvtx_next.h"

NVTX_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
/* That of NVTX 2, a separate library. */
NVTX_EXPORT int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_table)
    __attribute__((alias("InitializeInjectionNvtx2")));

/* Callbacks by id; id 0 is unused. */
struct nvtx_module {
    NvtxCallbackModule id;
    unsigned count;
    const NvtxFunctionPointer *calls;
};

static const struct nvtx_module modules[] = {
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_SIZE, nvtx_core_calls},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_SIZE, nvtx_core2_calls},
    {NVTX_CB_MODULE_SYNC, NVTX_CBID_SYNC_SIZE, nvtx_sync_calls},
    {NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_SIZE, nvtx_cuda_calls},
    {NVTX_CB_MODULE_CUDART, NVTX_CBID_CUDART_SIZE, nvtx_cudart_calls},
    {NVTX_CB_MODULE_OPENCL, NVTX_CBID_OPENCL_SIZE, nvtx_opencl_calls},
};

static void install(const struct nvtx_module *module, const NvtxFunctionTable table, unsigned size)
{
    for (unsigned id = 1; id < size && id < module->count; id++) {
        NvtxFunctionPointer call = module->calls[id];
        if (nvtx_next_of(module->id, id))
            call = nvtx_next_call(module->id, id);
        if (call && table[id])
            *table[id] = call;
    }
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table ? get_table(NVTX_ETID_CALLBACKS) : NULL;
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) ||
        !callbacks->GetModuleFunctionTable)
        return 0;
    nvtx_next_offer(get_table);
    const NvtxExportTableVersionInfo *version = get_table(NVTX_ETID_VERSIONINFO);
    if (version && version->struct_size >= sizeof(*version) && version->SetInjectionNvtxVersion)
        version->SetInjectionNvtxVersion(NVTX_VERSION);
    for (unsigned i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
        NvtxFunctionTable table = NULL;
        unsigned size = 0;
        if (callbacks->GetModuleFunctionTable(modules[i].id, &table, &size) && table)
            install(&modules[i], table, size);
    }
    return 1;
}

/* ---- Extensions ------------------------------------------------------------------------------ */

NVTX_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

static const struct nvtx_extension_calls *const extensions[] = {
    &nvtx_payload_calls,
    &nvtx_counters_calls,
    &nvtx_mem_calls,
};

static void install_extension(const struct nvtx_segment *segment,
                              const struct nvtx_extension_calls *calls)
{
    for (size_t i = 0; i < segment->slot_count && i < calls->count; i++)
        if (calls->calls[i])
            segment->slots[i] = calls->calls[i];
}

/* Empty slots are not called. */
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
    if (!extension || extension->size < offsetof(struct nvtx_extension, get_function) ||
        extension->segment_count == 0 || !extension->segments)
        return 0;
    nvtx_next_offer_extension(extension);
    for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++)
        if (extensions[i]->module == extension->module)
            install_extension(&extension->segments[0], extensions[i]);
    return 1;
}

/* ---- Pointers -------------------------------------------------------------------------------- */

/* Read by programs with a built-in tool. */
NVTX_EXPORT extern const NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
const NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;

NVTX_EXPORT extern int (*const InitializeInjectionNvtxExtension_fnptr)(struct nvtx_extension *);
int (*const InitializeInjectionNvtxExtension_fnptr)(struct nvtx_extension *) =
    InitializeInjectionNvtxExtension;
