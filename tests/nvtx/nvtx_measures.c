/* SPDX-License-Identifier: MIT */
/* A program that calls every function of extensions COUNTERS and MEM, and writes the expected
 * contents of the recording. */
#include "nvtx_truth.h"

#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtMemCudaRt.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <stdint.h>
#include <string.h>

#define TYPE(name)   NVTX_PAYLOAD_ENTRY_TYPE_##name
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static nvtxDomainHandle_t domain;

/* ---- Counters -------------------------------------------------------------------------------- */

static nvtxSemanticsCounter_t semantics(const char *unit, uint64_t flags, uint64_t scale,
                                        uint64_t divisor)
{
    return (nvtxSemanticsCounter_t){.header = {.structSize = sizeof(nvtxSemanticsCounter_t),
                                               .semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1,
                                               .version = NVTX_COUNTER_SEMANTIC_VERSION},
                                    .flags = flags,
                                    .unit = unit,
                                    .unitScaleNumerator = scale,
                                    .unitScaleDenominator = divisor};
}

static uint64_t counter(const char *name, uint64_t schema, uint64_t scope,
                        const nvtxSemanticsCounter_t *of)
{
    const nvtxCounterAttr_t said = {.structSize = sizeof(said),
                                    .schemaId = schema,
                                    .name = name,
                                    .scopeId = scope,
                                    .semantics = of ? &of->header : NULL};
    uint64_t id = nvtxCounterRegister(domain, &said);
    EXPECT(id >= NVTX_COUNTER_ID_DYNAMIC_START && id == nvtxCounterRegister(domain, &said));
    return id;
}

static void is_counted(const char *name, const char *value)
{
    truth("\"event\": \"counter\", \"name\": \"%s\", \"value\": %s", name, value);
}

static void single_counters(void)
{
    const nvtxScopeAttr_t said = {sizeof(said), "GPU[0]/memory", NVTX_SCOPE_NONE, 0};
    const nvtxSemanticsCounter_t bytes = semantics("bytes", 0, 1, 1);
    const nvtxSemanticsCounter_t scaled = semantics("ms", 0, 1, 1000);
    const nvtxSemanticsCounter_t share = semantics(NULL, NVTX_COUNTER_FLAG_NORMALIZE, 1, 1);
    const nvtxSemanticsCounter_t steps = semantics(NULL, NVTX_COUNTER_FLAG_VALUETYPE_DELTA, 1, 1);
    uint64_t scope = nvtxScopeRegister(domain, &said);
    EXPECT(scope >= NVTX_SCOPE_ID_DYNAMIC_START);
    uint64_t used = counter("used", TYPE(INT64), scope, &bytes);
    nvtxCounterSampleInt64(domain, used, -7);
    is_counted("GPU[0]/memory/used", "-7");
    nvtxCounterSampleNoValue(domain, used, NVTX_COUNTER_SAMPLE_UNCHANGED);
    is_counted("GPU[0]/memory/used", "-7");
    nvtxCounterSampleNoValue(domain, used, NVTX_COUNTER_SAMPLE_ZERO);
    is_counted("GPU[0]/memory/used", "0");
    nvtxCounterSampleNoValue(domain, used, NVTX_COUNTER_SAMPLE_UNAVAILABLE);
    truth("\"event\": \"mark\", \"name\": \"a counter's value is not available\", "
          "\"values\": {\"name\": \"GPU[0]/memory/used\"}, \"category\": \"nvtx\"");
    uint64_t took = counter("took", TYPE(DOUBLE), NVTX_SCOPE_NONE, &scaled);
    nvtxCounterSampleFloat64(domain, took, 1500);
    is_counted("took", "1.5");
    uint64_t load = counter("load", TYPE(UINT8), NVTX_SCOPE_NONE, &share);
    nvtxCounterSample(domain, load, &(uint8_t){255}, 1);
    is_counted("load", "1");
    uint64_t steps_id = counter("steps", TYPE(INT32), NVTX_SCOPE_NONE, &steps);
    const int32_t batch[] = {5, 6, -1};
    const nvtxCounterBatch_t samples = {
        .counterId = steps_id, .counters = batch, .countersSize = sizeof(batch)};
    nvtxCounterBatchSubmit(domain, &samples);
    is_counted("steps", "5");
    is_counted("steps", "11");
    is_counted("steps", "10");
}

static void group_of_counters(void)
{
    const nvtxSemanticsCounter_t celsius = semantics("C", 0, 1, 10);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, TYPE(UINT32), "clock", NULL, 0, 0, NULL, NULL},
        {0, TYPE(UINT16), "heat", NULL, 0, 0, &celsius.header, NULL}};
    const nvtxPayloadSchemaAttr_t said = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS,
                                          .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                          .flags = NVTX_PAYLOAD_SCHEMA_FLAG_COUNTER_GROUP,
                                          .entries = entries,
                                          .numEntries = COUNT(entries)};

    const struct {
        uint32_t clock;
        uint16_t heat;
    } value = {1400, 615};

    uint64_t group =
        counter("device", nvtxPayloadSchemaRegister(domain, &said), NVTX_SCOPE_NONE, NULL);
    nvtxCounterSample(domain, group, &value, sizeof(value));
    is_counted("device/clock", "1400");
    is_counted("device/heat [C]", "61.5");
}

/* Values with their own times, on a timeline. */
static void batch_with_times(void)
{
    uint64_t id = counter("later", TYPE(INT64), NVTX_SCOPE_NONE, NULL);
    const int64_t values[] = {3, 4};
    const int64_t times[] = {nvtxTimestampGet(), nvtxTimestampGet()};
    const nvtxCounterBatch_t samples = {.counterId = id,
                                        .counters = values,
                                        .countersSize = sizeof(values),
                                        .timestamps = times,
                                        .timestampsSize = sizeof(times)};
    nvtxCounterBatchSubmit(domain, &samples);
    truth("\"event\": \"range\", \"name\": \"later\", \"values\": {\"payload\": 3}, "
          "\"duration_ns\": 0");
    truth("\"event\": \"range\", \"name\": \"later\", \"values\": {\"payload\": 4}, "
          "\"duration_ns\": 0");
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void region_is(const char *what, unsigned address, unsigned size)
{
    truth("\"event\": \"mark\", \"name\": \"region %s\", \"category\": \"memory\", \"values\": "
          "{\"address\": \"0x%016x\", \"size\": %u, \"heap\": \"pool\"}",
          what, address, size);
}

static nvtxMemHeapHandle_t make_heap(void)
{
    const nvtxMemVirtualRangeDesc_t range = {4096, (const void *)0x10000};
    const nvtxMemHeapDesc_t said = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                    .structSize = sizeof(said),
                                    .usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
                                    .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                    .typeSpecificDescSize = sizeof(range),
                                    .typeSpecificDesc = &range,
                                    .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                    .message = {.ascii = "pool"}};
    nvtxMemHeapHandle_t heap = nvtxMemHeapRegister(domain, &said);
    EXPECT(heap && heap != NVTX_MEM_HEAP_HANDLE_NO_TOOL);
    truth("\"event\": \"begin\", \"name\": \"pool\", \"category\": \"heap\", \"values\": "
          "{\"usage\": \"allocator\", \"address\": 65536, \"size\": 4096}");
    return heap;
}

static void regions(nvtxMemHeapHandle_t heap)
{
    const nvtxMemVirtualRangeDesc_t two[] = {{100, (const void *)0x10000},
                                             {50, (const void *)0x10100}};
    nvtxMemRegionHandle_t handles[2] = {NULL, NULL};
    const nvtxMemRegionsRegisterBatch_t added = {NVTX_EXT_COMPATID_MEM,
                                                 sizeof(added),
                                                 NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                                 heap,
                                                 2,
                                                 sizeof(two[0]),
                                                 two,
                                                 handles};
    nvtxMemRegionsRegister(domain, &added);
    EXPECT(handles[0] && handles[1] && handles[0] != handles[1]);
    region_is("registered", 0x10000, 100);
    is_counted("memory of pool", "100");
    region_is("registered", 0x10100, 50);
    is_counted("memory of pool", "150");
    const nvtxMemVirtualRangeDesc_t more = {80, (const void *)0x10100};
    const nvtxMemRegionsResizeBatch_t resized = {NVTX_EXT_COMPATID_MEM,
                                                 sizeof(resized),
                                                 NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                                 1,
                                                 sizeof(more),
                                                 &more};
    nvtxMemRegionsResize(domain, &resized);
    region_is("resized", 0x10100, 80);
    is_counted("memory of pool", "180");
    const nvtxMemRegionNameDesc_t name = {NVTX_MEM_REGION_REF_TYPE_HANDLE,
                                          NVTX_MESSAGE_TYPE_ASCII,
                                          {.handle = handles[0]},
                                          {.ascii = "weights"},
                                          0,
                                          0};
    const nvtxMemRegionsNameBatch_t named = {NVTX_EXT_COMPATID_MEM, sizeof(named), 0, 1,
                                             sizeof(name),          &name,         0};
    nvtxMemRegionsName(domain, &named);
    truth("\"event\": \"mark\", \"name\": \"region named\", \"category\": \"memory\", \"values\": "
          "{\"address\": \"0x0000000000010000\", \"name\": \"weights\"}");
    const nvtxMemRegionRef_t gone = {.pointer = (const void *)0x10000};
    const nvtxMemRegionsUnregisterBatch_t removed = {NVTX_EXT_COMPATID_MEM,
                                                     sizeof(removed),
                                                     NVTX_MEM_REGION_REF_TYPE_POINTER,
                                                     1,
                                                     sizeof(gone),
                                                     &gone};
    nvtxMemRegionsUnregister(domain, &removed);
    region_is("unregistered", 0x10000, 100);
    is_counted("memory of pool", "80");
}

static void permission(const char *what, const char *more)
{
    truth("\"event\": \"mark\", \"name\": \"permissions %s\", \"category\": \"memory\", "
          "\"values\": {%s}",
          what, more);
}

static void permissions(void)
{
    nvtxMemPermissionsHandle_t made =
        nvtxMemPermissionsCreate(domain, NVTX_MEM_PERMISSIONS_CREATE_FLAGS_NONE);
    EXPECT(made == (nvtxMemPermissionsHandle_t)1);
    const nvtxMemPermissionsAssignRegionDesc_t read_only = {NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ,
                                                            NVTX_MEM_REGION_REF_TYPE_POINTER,
                                                            {.pointer = (const void *)0x10100}};
    const nvtxMemPermissionsAssignBatch_t assigned = {
        NVTX_EXT_COMPATID_MEM, sizeof(assigned), 0, made, 1, sizeof(read_only), &read_only, 0};
    nvtxMemPermissionsAssign(domain, &assigned);
    permission("assigned", "\"address\": \"0x0000000000010100\", \"access\": \"read\", "
                           "\"permissions\": 1");
    nvtxMemPermissionsBind(domain, made, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD,
                           NVTX_MEM_PERMISSIONS_BIND_FLAGS_NONE);
    permission("bound", "\"permissions\": 1, \"scope\": \"thread\"");
    nvtxMemPermissionsUnbind(domain, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD);
    permission("unbound", "\"scope\": \"thread\"");
    nvtxMemPermissionsReset(domain, made);
    permission("reset", "\"permissions\": 1");
    nvtxMemPermissionsDestroy(domain, made);
    permission("destroyed", "\"permissions\": 1");
}

static void memory_of_cuda(void)
{
    nvtxMemPermissionsHandle_t process = nvtxMemCudaGetProcessWidePermissions(domain);
    nvtxMemPermissionsHandle_t device = nvtxMemCudaGetDeviceWidePermissions(domain, 2);
    EXPECT(process && device && process != device);
    nvtxMemCudaSetPeerAccess(domain, device, 3, NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ);
    truth("\"event\": \"mark\", \"name\": \"peer access set\", \"category\": \"memory\", "
          "\"values\": {\"permissions\": %lu, \"device\": 3}",
          (unsigned long)(uintptr_t)device);
    const nvtxMemVirtualRangeDesc_t range = {64, (const void *)0x10100};
    const nvtxMemMarkInitializedBatch_t written = {
        NVTX_EXT_COMPATID_MEM, sizeof(written), NVTX_MEM_TYPE_VIRTUAL_ADDRESS, 1,
        sizeof(range),         &range};
    nvtxMemCudaMarkInitialized(domain, NULL, 0, &written);
    truth("\"event\": \"mark\", \"name\": \"region initialized\", \"category\": \"memory\", "
          "\"values\": {\"address\": \"0x0000000000010100\", \"size\": 64}");
}

int main(void)
{
    domain = nvtxDomainCreateA("measures");
    single_counters();
    group_of_counters();
    batch_with_times();
    nvtxMemHeapHandle_t heap = make_heap();
    regions(heap);
    permissions();
    memory_of_cuda();
    nvtxMemHeapReset(domain, heap);
    is_counted("memory of pool", "0");
    truth("\"event\": \"mark\", \"name\": \"heap reset\", \"category\": \"memory\", \"values\": "
          "{\"heap\": \"pool\"}");
    nvtxMemHeapUnregister(domain, heap);
    truth("\"event\": \"end\", \"name\": \"pool\"");
    return 0;
}
