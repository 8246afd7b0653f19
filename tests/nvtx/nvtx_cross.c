/* SPDX-License-Identifier: MIT */
/* Ranges of two domains that cross on a thread, and pops without a push. */
#include "nvtx_ledger.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtSync.h>
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

/* At the first crossing, left ends late, at `right inside`. From then on right is recorded
 * separately. */
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

/* Acquires the lock while a range that began during the wait is still open. */
static void acquire_early(void)
{
    const nvtxSyncUserAttributes_t attributes = {.version = NVTX_VERSION,
                                                 .size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE,
                                                 .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                                 .message = {.ascii = "lock"}};
    nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(right, &attributes);
    ledger("pushed", "right", "lock", "wait");
    nvtxDomainSyncUserAcquireStart(lock);
    ledger("pushed", "left", "meanwhile", "");
    push(left, "meanwhile");
    ledger("started", "right", "lock", "held");
    nvtxDomainSyncUserAcquireSuccess(lock);
    EXPECT(nvtxDomainRangePop(left) == 0);
    nvtxDomainSyncUserReleasing(lock);
    nvtxDomainSyncUserDestroy(lock);
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
    acquire_early();
    return 0;
}
