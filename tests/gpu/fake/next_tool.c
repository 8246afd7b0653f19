/* SPDX-License-Identifier: MIT */
/* A tool that was in CUDA_INJECTION64_PATH before annot. With NEXT_TOOL_HOLDS it subscribes to
 * CUPTI. */
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

static void CUPTIAPI ignore(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *data)
{
    (void)context;
    (void)domain;
    (void)id;
    (void)data;
}

int InitializeInjection(void)
{
    static CUpti_SubscriberHandle subscriber;
    __typeof__(cuptiSubscribe) *subscribe;
    fprintf(stderr, "next_tool\n");
    if (!getenv("NEXT_TOOL_HOLDS"))
        return 0;
    *(void **)&subscribe = dlsym(dlopen(getenv("ANNOT_CUPTI"), RTLD_NOW), "cuptiSubscribe");
    return subscribe(&subscriber, ignore, NULL) == CUPTI_SUCCESS;
}
