/* SPDX-License-Identifier: MIT */
/* A tool that is chained after annot. It counts its calls, by its own handles, and writes the
 * counts to the file in NVTX_NEXT_COUNTS when the program ends. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DOMAIN_BASE = 0x1000, STRING_BASE = 0x2000, RANGE_BASE = 0x3000 };

static unsigned payloads, images, pushes, pops, starts, ends, marks, names, domains, strings, wrong;
static uint64_t ranges = RANGE_BASE;

static int push_a(const char *text)
{
    wrong += text == NULL;
    return (int)pushes++;
}

static int pop(void)
{
    pops++;
    return 0;
}

static nvtxDomainHandle_t create(const char *name)
{
    (void)name;
    return (nvtxDomainHandle_t)(uintptr_t)(DOMAIN_BASE + 16 * ++domains);
}

static nvtxStringHandle_t register_a(nvtxDomainHandle_t domain, const char *text)
{
    (void)text;
    wrong += (uintptr_t)domain < DOMAIN_BASE;
    return (nvtxStringHandle_t)(uintptr_t)(STRING_BASE + 16 * ++strings);
}

static void check(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    wrong += (uintptr_t)domain < DOMAIN_BASE;
    if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
        wrong += (uintptr_t)attributes->message.registered < STRING_BASE;
}

static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    check(domain, attributes);
    return (int)pushes++;
}

static int domain_pop(nvtxDomainHandle_t domain)
{
    wrong += (uintptr_t)domain < DOMAIN_BASE;
    return (int)pops++;
}

static void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    check(domain, attributes);
    marks++;
}

static nvtxRangeId_t start_a(const char *text)
{
    (void)text;
    starts++;
    return ++ranges;
}

static void end(nvtxRangeId_t range)
{
    wrong += range <= RANGE_BASE || range > ranges;
    ends++;
}

static void name_stream(void *stream, const char *name)
{
    wrong += stream == NULL || name == NULL;
    names++;
}

static void install(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module,
                    unsigned id, NvtxFunctionPointer function)
{
    NvtxFunctionTable table;
    unsigned size;
    if (callbacks->GetModuleFunctionTable(module, &table, &size) && id < size)
        *table[id] = function;
    else
        wrong++;
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("NVTX_NEXT_COUNTS");
    FILE *file = path && images ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%d %u %u %u %u %u %u %u %u %u\n", (int)getpid(), images, pushes, pops, starts,
            ends, marks, names, wrong, payloads);
    fclose(file);
}

#define CALL(function) ((NvtxFunctionPointer)(function))

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    images++;
    install(callbacks, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, CALL(push_a));
    install(callbacks, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, CALL(pop));
    install(callbacks, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartA, CALL(start_a));
    install(callbacks, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeEnd, CALL(end));
    install(callbacks, NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_NameCuStreamA, CALL(name_stream));
    install(callbacks, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA, CALL(create));
    install(callbacks, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA,
            CALL(register_a));
    install(callbacks, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, CALL(domain_push));
    install(callbacks, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, CALL(domain_pop));
    install(callbacks, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainMarkEx, CALL(domain_mark));
    return 1;
}

/* ---- Extensions ------------------------------------------------------------------------------ */

#ifdef NVTX_EXT_PAYLOAD_MODULEID
static uint64_t schema_register(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t *schema)
{
    wrong += (uintptr_t)domain < DOMAIN_BASE || schema == NULL;
    return NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 7;
}

static void mark_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data, size_t count)
{
    wrong += (uintptr_t)domain < DOMAIN_BASE || count != 1 ||
             data->schemaId != NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 7;
    payloads++;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    intptr_t *slots = module->segments[0].functionSlots;
    if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID)
        return 0;
    slots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = (intptr_t)schema_register;
    slots[NVTX3EXT_CBID_nvtxMarkPayload] = (intptr_t)mark_payload;
    return 1;
}
#endif
