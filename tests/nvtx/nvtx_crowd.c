/* SPDX-License-Identifier: MIT */
/* Many threads and a forked child push payloads at the same time: each range has its thread and its
 * number, both as numbers and as text. */
#include "nvtx_truth.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, RANGES = 500 };

struct mine {
    int32_t number;
    char text[16];
    uint64_t squares[3];
    const char *far;
};

static nvtxDomainHandle_t domain;
static uint64_t schema;

/* Every thread registers the schema. All get the same id. */
static void register_schema(void)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "number", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", NULL, 16, 0, NULL, NULL},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "squares", NULL,
         3, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "far", NULL, 0, 0, NULL, NULL}};
    const nvtxPayloadSchemaAttr_t said = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
                                          .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                          .entries = entries,
                                          .numEntries = 4};
    uint64_t id = nvtxPayloadSchemaRegister(domain, &said), none = 0;
    EXPECT(id != 0);
    if (!__atomic_compare_exchange_n(&schema, &none, id, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        EXPECT(none == id);
}

static void *push_some(void *context)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "mine";
    register_schema();
    for (int i = 0; i < RANGES; i++) {
        uint64_t n = (uint64_t)i;
        char far[16];
        struct mine mine = {.number = i, .squares = {n, n * n, n * n * n}, .far = far};
        snprintf(mine.text, sizeof(mine.text), "text %d", i);
        snprintf(far, sizeof(far), "far %d", i);
        nvtxPayloadRangePush(domain, &event, schema, &mine, sizeof(mine));
        nvtxDomainRangePop(domain);
    }
    return context;
}

static void push_crowd(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, push_some, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Forks while the threads are running. */
static void fork_some(void)
{
    pthread_t thread;
    int status;
    EXPECT(pthread_create(&thread, NULL, push_some, NULL) == 0);
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            push_some(NULL);
            _exit(0);
        }
        EXPECT(waitpid(child, &status, 0) == child && status == 0);
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    domain = nvtxDomainCreateA("crowd");
    push_crowd();
    fork_some();
    truth("\"threads\": %d, \"ranges\": %d", THREADS + 1 + 4, RANGES);
    return 0;
}
