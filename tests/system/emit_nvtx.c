/* SPDX-License-Identifier: MIT */
/* A program written for NVTX, with one include changed; test_shims.py knows what it says. */
#include <annot/nvtx_shim.h>

static void emit_domain(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("nvtx domain");
    nvtxEventAttributes_t event = {0};
    nvtxNameCategoryA(7, "seven of default");
    nvtxDomainNameCategoryA(domain, 7, "seven");
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.category = 7;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff112233;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -3;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    event.category = 8;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "ascii";
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    event.payload.fValue = 0.5f;
    nvtxDomainMarkEx(domain, &event);
    event.category = 7;
    event.payloadType = NVTX_PAYLOAD_UNKNOWN;
    nvtxMarkEx(&event);
    nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &event));
    nvtxDomainDestroy(domain);
}

/* More categories than are kept. */
static void emit_many_categories(void)
{
    nvtxEventAttributes_t event = {0};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "many";
    for (event.category = 1000; event.category < 2200; event.category++)
        nvtxMarkEx(&event);
}

int main(void)
{
    nvtxInitialize(NULL);
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "named by nvtx");
    nvtxNameOsThreadA(1, "somebody else");
    nvtxRangePushA("outer");
    nvtxRangePush("inner");
    nvtxRangePop();
    nvtxMarkA("mark");
    nvtxRangeEnd(nvtxRangeStartA("free"));
    emit_domain();
    emit_many_categories();
    return nvtxRangePop() == NVTX_NO_PUSH_POP_TRACKING ? 0 : 1;
}
