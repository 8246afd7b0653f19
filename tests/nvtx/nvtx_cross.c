/* SPDX-License-Identifier: MIT */
/* Ranges of two domains that cross on a thread, and pops of what was never pushed. */
#include "nvtx_ledger.h"

#include <nvtx3/nvToolsExt.h>
#include <string.h>

static nvtxDomainHandle_t left, right;

static int push(nvtxDomainHandle_t domain, const char *name)
{
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    return nvtxDomainRangePushEx(domain, &attributes);
}

/* The first crossing: left ends late, by `right inside`. From then on right is recorded apart. */
static void cross(const char *kind)
{
    ledger("pushed", "left", "left outside", "");
    EXPECT(push(left, "left outside") == 0);
    ledger(kind, "right", "right inside", "");
    EXPECT(push(right, "right inside") == 0);
    EXPECT(nvtxDomainRangePop(left) == 0);
    usleep(1000);
    EXPECT(nvtxDomainRangePop(right) == 0);
}

int main(void)
{
    left = nvtxDomainCreateA("left");
    right = nvtxDomainCreateA("right");
    EXPECT(nvtxRangePop() < 0 && nvtxDomainRangePop(left) < 0);
    cross("pushed");
    cross("started");
    ledger("pushed", "left", "deep", "");
    push(left, "deep");
    for (int i = 0; i < 2000; i++) {
        ledger("pushed", "", "level", "");
        EXPECT(nvtxRangePushA("level") == i);
    }
    for (int i = 2000; i-- > 0;)
        EXPECT(nvtxRangePop() == i);
    EXPECT(nvtxDomainRangePop(left) == 0);
    return 0;
}
