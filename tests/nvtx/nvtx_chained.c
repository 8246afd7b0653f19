/* SPDX-License-Identifier: MIT */
/* Events for two chained tools: each tool is called as often as the program calls. */
#include "nvtx_ledger.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif
#include <string.h>

/* Where annot's library is loaded, it also knows the name. */
static void name_stream(void)
{
    char *at = NULL;
    nvtxNameCuStreamA((CUstream)(at + 16), "stream");
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
    EXPECT(library != NULL);
    const char *(*find)(unsigned, unsigned long) =
        (const char *(*)(unsigned, unsigned long))dlsym(library, "annot_inject_object");
    EXPECT(find && strcmp(find(3, 16), "stream") == 0);
}

/* A mark that consists only of a payload, with a schema id from the next tool. */
static void mark_payload(nvtxDomainHandle_t domain)
{
#ifdef NVTX_EXT_PAYLOAD_MODULEID
    const nvtxPayloadSchemaEntry_t entry = {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
                                            NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
                                            "message",
                                            0,
                                            8,
                                            0,
                                            NULL,
                                            NULL};
    const nvtxPayloadSchemaAttr_t schema = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
                                            .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                            .entries = &entry,
                                            .numEntries = 1};
    const nvtxPayloadData_t data = {nvtxPayloadSchemaRegister(domain, &schema), 8, "payload"};
    ledger("mark", "chained", "payload", "");
    nvtxMarkPayload(domain, &data, 1);
#else
    (void)domain;
#endif
}

int main(void)
{
    nvtxEventAttributes_t attributes;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("chained");
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    for (int i = 0; i < 100; i++) {
        ledger("pushed", "", "text", "");
        nvtxRangePushA("text");
        ledger("pushed", "chained", "registered", "");
        nvtxDomainRangePushEx(domain, &attributes);
        ledger("mark", "chained", "registered", "");
        nvtxDomainMarkEx(domain, &attributes);
        nvtxDomainRangePop(domain);
        nvtxRangePop();
        ledger("started", "", "started", "");
        nvtxRangeEnd(nvtxRangeStartA("started"));
        mark_payload(domain);
    }
    name_stream();
    return 0;
}
