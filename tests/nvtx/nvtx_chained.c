/* SPDX-License-Identifier: MIT */
/* Events for two tools, one behind the other: each is called as often as the program calls. */
#include "nvtx_ledger.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <string.h>

/* Where annot's library is loaded, it knows the name as well. */
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
    }
    name_stream();
    return 0;
}
