/* SPDX-License-Identifier: MIT */
/* Behaves like a program of NVTX 2. This version is a library: it looks for an entry point without
 * the "2" suffix, has shorter tables, and has no version number. */
#include "nvtx_ledger.h"

#define NVTX_NO_IMPL
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

enum {
    CORE_OF_OLD = NVTX_CBID_CORE_RangePop + 1,
    CORE2_OF_OLD = NVTX_CBID_CORE2_DomainCreateA + 1
};

static NvtxFunctionPointer core[CORE_OF_OLD + 1], core2[CORE2_OF_OLD + 1];
static NvtxFunctionPointer *core_table[CORE_OF_OLD], *core2_table[CORE2_OF_OLD];

static int NVTX_API get_table(NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size)
{
    if (module != NVTX_CB_MODULE_CORE && module != NVTX_CB_MODULE_CORE2)
        return 0;
    *table = module == NVTX_CB_MODULE_CORE ? core_table : core2_table;
    *size = module == NVTX_CB_MODULE_CORE ? CORE_OF_OLD : CORE2_OF_OLD;
    return 1;
}

static const void *NVTX_API get_export(uint32_t id)
{
    static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), get_table};
    return id == NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

static void fill(void)
{
    for (int i = 1; i < CORE_OF_OLD; i++)
        core_table[i] = &core[i];
    for (int i = 1; i < CORE2_OF_OLD; i++)
        core2_table[i] = &core2[i];
}

#define CORE(id, type)  ((type)core[NVTX_CBID_CORE_##id])
#define CORE2(id, type) ((type)core2[NVTX_CBID_CORE2_##id])

int main(void)
{
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    EXPECT(library != NULL);
    int (*initialize)(NvtxGetExportTableFunc_t) =
        (int (*)(NvtxGetExportTableFunc_t))dlsym(library, "InitializeInjectionNvtx");
    fill();
    EXPECT(initialize && initialize(get_export));
    EXPECT(core[CORE_OF_OLD] == NULL && core2[CORE2_OF_OLD] == NULL);
    ledger("pushed", "", "old", "");
    EXPECT(CORE(RangePushA, int (*)(const char *))("old") == 0);
    EXPECT(CORE(RangePop, int (*)(void))() == 0);
    nvtxDomainHandle_t domain = CORE2(DomainCreateA, nvtxDomainHandle_t(*)(const char *))("of two");
    nvtxEventAttributes_t event = {.version = 2, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "old mark";
    ledger("mark", "of two", "old mark", "");
    CORE2(DomainMarkEx, void (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *))
    (domain, &event);
    return 0;
}
