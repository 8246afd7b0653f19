/* SPDX-License-Identifier: MIT */
/* The entry point of extensions: see nvtx_extension.h. */
#include "nvtx_extension.h"

#include "nvtx_api.h"
#include "nvtx_next.h"

NVTX_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

static const struct nvtx_extension_calls *const extensions[] = {
    &nvtx_payload_calls,
    &nvtx_counters_calls,
    &nvtx_mem_calls,
};

static void install(const struct nvtx_segment *segment, const struct nvtx_extension_calls *calls)
{
    for (size_t i = 0; i < segment->slot_count && i < calls->count; i++)
        if (calls->calls[i])
            segment->slots[i] = calls->calls[i];
}

/* Slots that stay empty do nothing. */
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
    if (!extension || extension->size < offsetof(struct nvtx_extension, get_function) ||
        extension->segment_count == 0 || !extension->segments)
        return 0;
    nvtx_next_offer_extension(extension);
    for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++)
        if (extensions[i]->module == extension->module)
            install(&extension->segments[0], extensions[i]);
    return 1;
}
