/* SPDX-License-Identifier: MIT */
/* More registered strings than libannot's name table can hold: each names a mark, and every
 * hundredth also names a range in a category. */
#include "nvtx_ledger.h"

#include <nvtx3/nvToolsExt.h>

enum { STRINGS = 40000 };

int main(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("many");
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    for (int i = 0; i < STRINGS; i++) {
        char name[200];
        snprintf(name, sizeof(name), "string %0180d", i);
        event.message.registered = nvtxDomainRegisterStringA(domain, name);
        event.category = 0;
        ledger("mark", "many", name, "");
        nvtxDomainMarkEx(domain, &event);
        if (i % 100)
            continue;
        event.category = 5;
        ledger("pushed", "many", name, "5");
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    }
    return 0;
}
