/* SPDX-License-Identifier: MIT */
/* The entry point of extensions: see nvtx_extension.h. */
#include "nvtx_extension.h"

#include "nvtx_api.h"
#include "nvtx_map.h"
#include "nvtx_next.h"
#include "nvtx_scope.h"

NVTX_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

enum { PAYLOAD_DOMAIN_IS_ENABLED = 7 };

/* Programs ask once and then leave out what a domain has to say, for good. So only a filter that
 * holds the domain back says no; while nobody records, anybody may later. */
static uint8_t domain_is_enabled(nvtxDomainHandle_t domain)
{
    uint64_t ours = nvtx_map_get(NVTX_MAP_DOMAIN, (uintptr_t)domain);
    const struct annot_event event = {
        .domain = nvtx_domain_of(ours ? (nvtxDomainHandle_t)(uintptr_t)ours : domain)};
    uint8_t (*next)(nvtxDomainHandle_t) = (uint8_t(*)(nvtxDomainHandle_t))nvtx_next_extension_of(
        NVTX_EXTENSION_PAYLOAD, PAYLOAD_DOMAIN_IS_ENABLED);
    if (!annot_enabled() || annot_emit_wants(&event))
        return 1;
    return (uintptr_t)next > 1 ? next(domain) : 0;
}

static const intptr_t payload_calls[] = {
    [PAYLOAD_DOMAIN_IS_ENABLED] = (intptr_t)domain_is_enabled,
};

static const struct nvtx_extension_calls extensions[] = {
    {NVTX_EXTENSION_PAYLOAD, sizeof(payload_calls) / sizeof(*payload_calls), payload_calls},
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
        if (extensions[i].module == extension->module)
            install(&extension->segments[0], &extensions[i]);
    return 1;
}
