/* SPDX-License-Identifier: MIT */
/* Ends of NVTX and ITT ranges without a begin, while other ranges are open: they must not close
 * these. Also a range that a destructor pops when its thread ends, and an invalid registered
 * string. */
#include <annot/annot.h>
#include <nvtx3/nvToolsExt.h>
#ifdef HAVE_ITT
#include "itt_part.h"
#endif
#include <pthread.h>
#include <stdio.h>

static nvtxDomainHandle_t left, right;
static pthread_key_t at_end;
static int wrong;

static void push(nvtxDomainHandle_t domain, const char *name)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    nvtxDomainRangePushEx(domain, &event);
}

static void pop_strays(void)
{
    wrong += nvtxRangePop() >= 0;
    wrong += nvtxDomainRangePop(right) >= 0;
#ifdef HAVE_ITT
    __itt_task_end(__itt_domain_create("right"));
#endif
}

static void pop_at_end(void *domain)
{
    wrong += nvtxDomainRangePop(domain) != 0;
}

static void *end_with_a_pop(void *unused)
{
    (void)unused;
    pthread_setspecific(at_end, left);
    push(left, "until the end");
    return NULL;
}

int main(void)
{
    pthread_t thread;
    left = nvtxDomainCreateA("left");
    right = nvtxDomainCreateA("right");
    annot_push("outside");
    pop_strays();
    push(left, "left");
    pop_strays();
    annot_push("inside");
    annot_pop();
    wrong += nvtxDomainRangePop(left) != 0;
    annot_pop();
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = (nvtxStringHandle_t)(uintptr_t)0x123456;
    nvtxMarkEx(&event);
    pthread_key_create(&at_end,
                       pop_at_end); /* after the library's own, which therefore runs first */
    pthread_create(&thread, NULL, end_with_a_pop, NULL);
    pthread_join(thread, NULL);
    printf("wrong %d\n", wrong);
    return 0;
}
