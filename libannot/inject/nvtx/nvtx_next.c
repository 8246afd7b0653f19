/* SPDX-License-Identifier: MIT */
/* The next tool's tables: see nvtx_next.h.
 *
 * A tool's initializer gets a function that gives tables, and no context: while it runs, a word of
 * the thread says whose image it is for. A tool may load libraries meanwhile that come here again.
 * No lock is held: other threads come here inside of dlopen, whose lock the tool may wait for. Then
 * it is initialised for two images at once, as NVTX itself does it, and writes the same twice. */
#include "nvtx_next.h"

#include "inject_next.h"

#include <annot_barrier.h>
#include <string.h>

#define SLOTS 24

enum { EXTENSION_SLOTS = 64, EXTENSIONS = 8 };

_Static_assert(NVTX_CBID_CORE_SIZE <= SLOTS && NVTX_CBID_CORE2_SIZE <= SLOTS &&
                   NVTX_CBID_OPENCL_SIZE <= SLOTS,
               "all callbacks fit");

static NvtxFunctionPointer slots[NVTX_CB_MODULE_SIZE][SLOTS];
static NvtxFunctionPointer *tables[NVTX_CB_MODULE_SIZE][SLOTS + 1];
static intptr_t extension_slots[EXTENSIONS][EXTENSION_SLOTS];

static const unsigned sizes[NVTX_CB_MODULE_SIZE] = {
    [NVTX_CB_MODULE_CORE] = NVTX_CBID_CORE_SIZE,
    [NVTX_CB_MODULE_CUDA] = NVTX_CBID_CUDA_SIZE,
    [NVTX_CB_MODULE_OPENCL] = NVTX_CBID_OPENCL_SIZE,
    [NVTX_CB_MODULE_CUDART] = NVTX_CBID_CUDART_SIZE,
    [NVTX_CB_MODULE_CORE2] = NVTX_CBID_CORE2_SIZE,
    [NVTX_CB_MODULE_SYNC] = NVTX_CBID_SYNC_SIZE,
};

static int is_there; /* set before any of its functions can be called */
/* Of the image that is being initialised. */
static __thread NvtxGetExportTableFunc_t image_table __attribute__((tls_model("initial-exec")));

static int NVTX_API get_table_of(NvtxCallbackModule module, NvtxFunctionTable *ret_table,
                                 unsigned *ret_size)
{
    if ((unsigned)module >= NVTX_CB_MODULE_SIZE || sizes[module] == 0)
        return 0;
    for (unsigned id = 1; id < sizes[module]; id++)
        annot_store_relaxed(&tables[module][id], &slots[module][id]); /* always the same */
    if (ret_table)
        *ret_table = tables[module];
    if (ret_size)
        *ret_size = sizes[module];
    return 1;
}

static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), get_table_of};

static const void *NVTX_API get_export(uint32_t id)
{
    return id == NVTX_ETID_CALLBACKS ? &callbacks : image_table(id);
}

void nvtx_next_offer(NvtxGetExportTableFunc_t get_table)
{
    NvtxInitializeInjectionNvtxFunc_t initialize;
    void *found = inject_next_function(INJECT_NVTX_NEXT, "InitializeInjectionNvtx2", 1);
    if (!found)
        return;
    memcpy(&initialize, &found, sizeof(initialize));
    annot_store_relaxed(&is_there, 1);
    NvtxGetExportTableFunc_t outer = image_table;
    image_table = get_table;
    (void)initialize(get_export); /* one that fails has left the tables as they were */
    image_table = outer;
}

int nvtx_next_is_there(void)
{
    return annot_load_relaxed(&is_there);
}

NvtxFunctionPointer nvtx_next_of(uint32_t module, uint32_t id)
{
    return annot_load_acquire(&slots[module][id]); /* partner: the next tool's stores */
}

/* ---- Extensions ------------------------------------------------------------------------------ */

static int offer(int (*initialize)(struct nvtx_extension *), const struct nvtx_extension *extension)
{
    const struct nvtx_segment *image = &extension->segments[0];
    intptr_t *theirs = extension_slots[extension->module];
    struct nvtx_segment segment = {image->id, image->slot_count, theirs};
    struct nvtx_extension shadow = *extension;
    if (segment.slot_count > EXTENSION_SLOTS)
        segment.slot_count = EXTENSION_SLOTS;
    shadow.segments = &segment;
    shadow.segment_count = 1;
    return initialize(&shadow);
}

/* What we have nothing for is the next tool's alone. */
void nvtx_next_offer_extension(struct nvtx_extension *extension)
{
    int (*initialize)(struct nvtx_extension *);
    void *found = inject_next_function(INJECT_NVTX_NEXT, "InitializeInjectionNvtxExtension", 0);
    if (!found || extension->module >= EXTENSIONS)
        return;
    memcpy(&initialize, &found, sizeof(initialize));
    annot_store_relaxed(&is_there, 1);
    if (offer(initialize, extension))
        for (size_t i = 0; i < extension->segments[0].slot_count && i < EXTENSION_SLOTS; i++)
            extension->segments[0].slots[i] = extension_slots[extension->module][i];
}

intptr_t nvtx_next_extension_of(uint32_t module, uint32_t slot)
{
    return extension_slots[module][slot];
}
