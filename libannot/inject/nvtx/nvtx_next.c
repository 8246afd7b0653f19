/* SPDX-License-Identifier: MIT */
/* The next tool's tables: see nvtx_next.h.
 *
 * A tool's initializer gets a function that returns tables, without a context argument: during the
 * call, a thread-local word holds the current image. A tool may load libraries meanwhile that call
 * this again. No lock is held: other threads call this inside of dlopen, and the tool may wait for
 * its lock. Then it is initialised for two images at once, as NVTX itself does it, and writes the
 * same twice. */
#include "nvtx_next.h"

#include "inject_next.h"
#include "nvtx_calls.h"

#include <annot_barrier.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS 24

enum { EXTENSION_SLOTS = 64, EXTENSIONS = 8 };

_Static_assert(NVTX_CBID_CORE_SIZE <= SLOTS && NVTX_CBID_CORE2_SIZE <= SLOTS &&
                   NVTX_CBID_OPENCL_SIZE <= SLOTS,
               "all callbacks fit");

static NvtxFunctionPointer slots[NVTX_CB_MODULE_SIZE][SLOTS];
static NvtxFunctionPointer *tables[NVTX_CB_MODULE_SIZE][SLOTS + 1];
static intptr_t extension_slots[EXTENSIONS][EXTENSION_SLOTS];

static const unsigned sizes[NVTX_CB_MODULE_SIZE] = {
    [NVTX_CB_MODULE_CORE] = NVTX_CBID_CORE_SIZE,
    [NVTX_CB_MODULE_CUDA] = NVTX_CBID_CUDA_SIZE,
    [NVTX_CB_MODULE_OPENCL] = NVTX_CBID_OPENCL_SIZE,
    [NVTX_CB_MODULE_CUDART] = NVTX_CBID_CUDART_SIZE,
    [NVTX_CB_MODULE_CORE2] = NVTX_CBID_CORE2_SIZE,
    [NVTX_CB_MODULE_SYNC] = NVTX_CBID_SYNC_SIZE,
};

static int is_there; /* set before any of its functions can be called */
/* The image that is being initialised. */
static __thread NvtxGetExportTableFunc_t image_table __attribute__((tls_model("initial-exec")));

static int NVTX_API get_table_of(NvtxCallbackModule module, NvtxFunctionTable *ret_table,
                                 unsigned *ret_size)
{
    if ((unsigned)module >= NVTX_CB_MODULE_SIZE || sizes[module] == 0)
        return 0;
    for (unsigned id = 1; id < sizes[module]; id++)
        annot_store_relaxed(&tables[module][id], &slots[module][id]); /* always the same */
    if (ret_table)
        *ret_table = tables[module];
    if (ret_size)
        *ret_size = sizes[module];
    return 1;
}

static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), get_table_of};

static const void *NVTX_API get_export(uint32_t id)
{
    return id == NVTX_ETID_CALLBACKS ? &callbacks : image_table(id);
}

void nvtx_next_offer(NvtxGetExportTableFunc_t get_table)
{
    NvtxInitializeInjectionNvtxFunc_t initialize;
    void *found = inject_next_function(INJECT_NVTX_NEXT, "InitializeInjectionNvtx2", 1);
    if (!found)
        return;
    memcpy(&initialize, &found, sizeof(initialize));
    annot_store_relaxed(&is_there, 1);
    NvtxGetExportTableFunc_t outer = image_table;
    image_table = get_table;
    (void)initialize(get_export); /* if it fails, the tables are unchanged */
    image_table = outer;
}

int nvtx_next_is_there(void)
{
    return annot_load_relaxed(&is_there);
}

NvtxFunctionPointer nvtx_next_of(uint32_t module, uint32_t id)
{
    return annot_load_acquire(&slots[module][id]); /* partner: the next tool's stores */
}

/* ---- Extensions ------------------------------------------------------------------------------ */

static int offer(int (*initialize)(struct nvtx_extension *), const struct nvtx_extension *extension)
{
    const struct nvtx_segment *image = &extension->segments[0];
    intptr_t *theirs = extension_slots[extension->module];
    struct nvtx_segment segment = {image->id, image->slot_count, theirs};
    struct nvtx_extension shadow = *extension;
    if (segment.slot_count > EXTENSION_SLOTS)
        segment.slot_count = EXTENSION_SLOTS;
    shadow.segments = &segment;
    shadow.segment_count = 1;
    return initialize(&shadow);
}

/* Slots without a function of ours go to the next tool alone. */
void nvtx_next_offer_extension(struct nvtx_extension *extension)
{
    int (*initialize)(struct nvtx_extension *);
    void *found = inject_next_function(INJECT_NVTX_NEXT, "InitializeInjectionNvtxExtension", 0);
    if (!found || extension->module >= EXTENSIONS)
        return;
    memcpy(&initialize, &found, sizeof(initialize));
    annot_store_relaxed(&is_there, 1);
    if (offer(initialize, extension))
        for (size_t i = 0; i < extension->segments[0].slot_count && i < EXTENSION_SLOTS; i++)
            extension->segments[0].slots[i] = extension_slots[extension->module][i];
}

intptr_t nvtx_next_extension_of(uint32_t module, uint32_t slot)
{
    return extension_slots[module][slot];
}

/* ---- Their handles and ours -------------------------------------------------------------------
 */

/* A handle is stored within PROBES entries from its hash on, with gaps after removals; or, if these
 * were all taken, in the next table, which is four times as large. */

enum { PLACES = 32768, PROBES = 64, TABLES = 4 };

struct place {
    uint64_t theirs; /* 0 = free; W: swapped */
    uint64_t ours;
};

static struct place first[NVTX_MAP_COUNT][PLACES];
static struct place *more[NVTX_MAP_COUNT][TABLES - 1]; /* W: swapped once */

static size_t size_of(uint32_t table)
{
    return (size_t)PLACES << 2 * table;
}

/* Returns NULL if it has not been made. */
static struct place *table_of(enum nvtx_map map, uint32_t table)
{
    return table == 0 ? first[map] : annot_load_acquire(&more[map][table - 1]); /* partner: made */
}

/* Returns NULL if out of memory. */
static struct place *table_made(enum nvtx_map map, uint32_t table)
{
    struct place *known = table_of(map, table);
    size_t size = size_of(table) * sizeof(*known);
    if (known)
        return known;
    int error = errno;
    struct place *made = mmap(NULL, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made != MAP_FAILED && annot_cas_acq_rel(&more[map][table - 1], &known, made))
        known = made; /* partner: table_of */
    else if (made != MAP_FAILED)
        munmap(made, size);
    errno = error;
    return known;
}

static struct place *place_at(struct place *places, uint32_t table, uint64_t theirs, uint32_t probe)
{
    uint64_t at = (theirs * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
    return &places[(at + probe) % size_of(table)];
}

static struct place *find(enum nvtx_map map, uint64_t theirs)
{
    struct place *places;
    for (uint32_t table = 0; theirs && table < TABLES && (places = table_of(map, table)); table++)
        for (uint32_t i = 0; i < PROBES; i++) {
            struct place *place = place_at(places, table, theirs, i);
            if (annot_load_acquire(&place->theirs) == theirs) /* partner: claim */
                return place;
        }
    return NULL;
}

static struct place *claim(enum nvtx_map map, uint64_t theirs)
{
    struct place *places;
    for (uint32_t table = 0; theirs && table < TABLES && (places = table_made(map, table)); table++)
        for (uint32_t i = 0; i < PROBES; i++) {
            struct place *place = place_at(places, table, theirs, i);
            uint64_t unused = 0;
            /* Partner: itself, and the store in take. */
            if (annot_cas_acq_rel(&place->theirs, &unused, theirs))
                return place;
        }
    return NULL;
}

void nvtx_map_put(enum nvtx_map map, uint64_t theirs, uint64_t ours)
{
    struct place *place = find(map, theirs);
    if (!place)
        place = claim(map, theirs);
    if (place)
        annot_store_release(&place->ours, ours); /* partner: get */
}

uint64_t nvtx_map_get(enum nvtx_map map, uint64_t theirs)
{
    const struct place *place = find(map, theirs);
    return place ? annot_load_acquire(&place->ours) : 0; /* partner: put */
}

uint64_t nvtx_map_take(enum nvtx_map map, uint64_t theirs)
{
    struct place *place = find(map, theirs);
    uint64_t ours = place ? annot_load_acquire(&place->ours) : 0; /* partner: put */
    if (place)
        annot_store_release(&place->theirs, UINT64_C(0)); /* partner: claim */
    return ours;
}

/* ---- Callbacks that name objects ------------------------------------------------------------- */

/* They carry no handle of NVTX. */

#define NAME_BOTH(module, calls, id, type, character)                                              \
    static void next_##id(type value, const character *name)                                       \
    {                                                                                              \
        typedef void (*call)(type, const character *);                                             \
        ((call)nvtx_next_of(NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id))(value, name);     \
        ((call)(calls)[NVTX_CBID_##module##_##id])(value, name);                                   \
    }
#define NAME_CUDA(module, id, type, object)                                                        \
    NAME_BOTH(module, nvtx_cuda_calls, id##A, type, char)                                          \
    NAME_BOTH(module, nvtx_cuda_calls, id##W, type, wchar_t)
#define NAME_CUDART(module, id, type, object)                                                      \
    NAME_BOTH(module, nvtx_cudart_calls, id##A, type, char)                                        \
    NAME_BOTH(module, nvtx_cudart_calls, id##W, type, wchar_t)
#define NAME_OPENCL(module, id, type, object)                                                      \
    NAME_BOTH(module, nvtx_opencl_calls, id##A, type, char)                                        \
    NAME_BOTH(module, nvtx_opencl_calls, id##W, type, wchar_t)
#define NAME_ROWS(module, id, type, object) NVTX_NAME_ROWS(next, module, id)

NVTX_CUDA_NAMES(NAME_CUDA)
NVTX_CUDART_NAMES(NAME_CUDART)
NVTX_OPENCL_NAMES(NAME_OPENCL)

static const NvtxFunctionPointer cuda_calls[NVTX_CBID_CUDA_SIZE] = {NVTX_CUDA_NAMES(NAME_ROWS)};
static const NvtxFunctionPointer cudart_calls[NVTX_CBID_CUDART_SIZE] = {
    NVTX_CUDART_NAMES(NAME_ROWS)};
static const NvtxFunctionPointer opencl_calls[NVTX_CBID_OPENCL_SIZE] = {
    NVTX_OPENCL_NAMES(NAME_ROWS)};

static NvtxFunctionPointer nvtx_next_name(uint32_t module, uint32_t id)
{
    if (module == NVTX_CB_MODULE_CUDA)
        return cuda_calls[id];
    if (module == NVTX_CB_MODULE_CUDART)
        return cudart_calls[id];
    return module == NVTX_CB_MODULE_OPENCL ? opencl_calls[id] : NULL;
}

/* ---- Callbacks of events and domains --------------------------------------------------------- */

/* The next tool's begin first and end last. Each is used only if the next tool has one for its
 * id. */

/* A callback by module and name, with the type that NVTX gives it. */
#define NEXT(module, id, type)                                                                     \
    ((type)nvtx_next_of(NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id))
#define NEXT1(id)             NEXT(CORE, id, nvtx##id##_impl_fntype)
#define NEXT2(id)             NEXT(CORE2, id, nvtx##id##_impl_fntype)
#define NEXTS(id)             NEXT(SYNC, id, nvtx##id##_fakeimpl_fntype)
#define OURS(calls, id, type) ((type)(calls)[id])
#define OURS1(id)             OURS(nvtx_core_calls, NVTX_CBID_CORE_##id, nvtx##id##_impl_fntype)
#define OURS2(id)             OURS(nvtx_core2_calls, NVTX_CBID_CORE2_##id, nvtx##id##_impl_fntype)
#define OURSS(id)             OURS(nvtx_sync_calls, NVTX_CBID_SYNC_##id, nvtx##id##_fakeimpl_fntype)

/* ---- Handles --------------------------------------------------------------------------------- */

static uint64_t ours_of(enum nvtx_map map, const void *theirs)
{
    uint64_t ours = nvtx_map_get(map, (uintptr_t)theirs);
    return ours ? ours : (uintptr_t)theirs;
}

/* A handle unknown to both tools is the default domain. */
static nvtxDomainHandle_t domain_of(nvtxDomainHandle_t theirs)
{
    uint64_t ours = ours_of(NVTX_MAP_DOMAIN, theirs);
    return (nvtxDomainHandle_t)(uintptr_t)(ours <= UINT16_MAX ? ours : 0);
}

/* Returns the next tool's handle for the program, or ours if that is 0. */
static void *both(enum nvtx_map map, void *theirs, const void *ours)
{
    if (!theirs)
        return (void *)(uintptr_t)ours;
    nvtx_map_put(map, (uintptr_t)theirs, (uintptr_t)ours);
    return theirs;
}

static nvtxRangeId_t both_ranges(nvtxRangeId_t theirs, nvtxRangeId_t ours)
{
    if (theirs == 0)
        return ours;
    nvtx_map_put(NVTX_MAP_RANGE, theirs, ours);
    return theirs;
}

static nvtxRangeId_t take_range(nvtxRangeId_t theirs)
{
    uint64_t ours = nvtx_map_take(NVTX_MAP_RANGE, theirs);
    return ours ? ours : theirs;
}

/* Returns the attributes with our registered string. */
static const nvtxEventAttributes_t *attributes_of(const nvtxEventAttributes_t *theirs,
                                                  nvtxEventAttributes_t *copy)
{
    if (!theirs || theirs->size < sizeof(*theirs) ||
        theirs->messageType != NVTX_MESSAGE_TYPE_REGISTERED)
        return theirs;
    *copy = *theirs;
    copy->message.registered =
        (nvtxStringHandle_t)(uintptr_t)ours_of(NVTX_MAP_STRING, theirs->message.registered);
    return copy;
}

/* Outside of recordings, the next tool's number is used. */
static int level_of(int theirs, int ours)
{
    return ours >= 0 ? ours : theirs;
}

/* ---- CORE ------------------------------------------------------------------------------------ */

#define CORE_TEXT(id, character)                                                                   \
    static void next_##id(const character *text)                                                   \
    {                                                                                              \
        NEXT1(id)(text);                                                                           \
        OURS1(id)(text);                                                                           \
    }
#define CORE_PUSH(id, type)                                                                        \
    static int next_##id(const type *what)                                                         \
    {                                                                                              \
        int theirs = NEXT1(id)(what);                                                              \
        return level_of(theirs, OURS1(id)(what));                                                  \
    }
#define CORE_START(id, type)                                                                       \
    static nvtxRangeId_t next_##id(const type *what)                                               \
    {                                                                                              \
        nvtxRangeId_t theirs = NEXT1(id)(what);                                                    \
        return both_ranges(theirs, OURS1(id)(what));                                               \
    }
#define CORE_NAME(id, character)                                                                   \
    static void next_##id(uint32_t number, const character *name)                                  \
    {                                                                                              \
        NEXT1(id)(number, name);                                                                   \
        OURS1(id)(number, name);                                                                   \
    }

CORE_TEXT(MarkA, char)
CORE_TEXT(MarkW, wchar_t)
CORE_PUSH(RangePushA, char)
CORE_PUSH(RangePushW, wchar_t)
CORE_START(RangeStartA, char)
CORE_START(RangeStartW, wchar_t)
CORE_NAME(NameCategoryA, char)
CORE_NAME(NameCategoryW, wchar_t)
CORE_NAME(NameOsThreadA, char)
CORE_NAME(NameOsThreadW, wchar_t)

static void next_MarkEx(const nvtxEventAttributes_t *attributes)
{
    nvtxEventAttributes_t copy;
    NEXT1(MarkEx)(attributes);
    nvtx_mark(NULL, attributes_of(attributes, &copy));
}

static int next_RangePushEx(const nvtxEventAttributes_t *attributes)
{
    nvtxEventAttributes_t copy;
    int theirs = NEXT1(RangePushEx)(attributes);
    return level_of(theirs, nvtx_push(NULL, attributes_of(attributes, &copy)));
}

static nvtxRangeId_t next_RangeStartEx(const nvtxEventAttributes_t *attributes)
{
    nvtxEventAttributes_t copy;
    nvtxRangeId_t theirs = NEXT1(RangeStartEx)(attributes);
    return both_ranges(theirs, nvtx_start(NULL, attributes_of(attributes, &copy)));
}

static void next_RangeEnd(nvtxRangeId_t range)
{
    nvtx_end(take_range(range));
    NEXT1(RangeEnd)(range);
}

static int next_RangePop(void)
{
    int ours = nvtx_pop(NULL);
    return level_of(NEXT1(RangePop)(), ours);
}

/* ---- CORE2 ----------------------------------------------------------------------------------- */

static void next_DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    nvtxEventAttributes_t copy;
    NEXT2(DomainMarkEx)(domain, attributes);
    nvtx_mark(domain_of(domain), attributes_of(attributes, &copy));
}

static int next_DomainRangePushEx(nvtxDomainHandle_t domain,
                                  const nvtxEventAttributes_t *attributes)
{
    nvtxEventAttributes_t copy;
    int theirs = NEXT2(DomainRangePushEx)(domain, attributes);
    return level_of(theirs, nvtx_push(domain_of(domain), attributes_of(attributes, &copy)));
}

static nvtxRangeId_t next_DomainRangeStartEx(nvtxDomainHandle_t domain,
                                             const nvtxEventAttributes_t *attributes)
{
    nvtxEventAttributes_t copy;
    nvtxRangeId_t theirs = NEXT2(DomainRangeStartEx)(domain, attributes);
    return both_ranges(theirs, nvtx_start(domain_of(domain), attributes_of(attributes, &copy)));
}

static void next_DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    nvtx_end(take_range(range));
    NEXT2(DomainRangeEnd)(domain, range);
}

static int next_DomainRangePop(nvtxDomainHandle_t domain)
{
    int ours = nvtx_pop(domain_of(domain));
    return level_of(NEXT2(DomainRangePop)(domain), ours);
}

static nvtxResourceHandle_t next_DomainResourceCreate(nvtxDomainHandle_t domain,
                                                      nvtxResourceAttributes_t *attributes)
{
    nvtxResourceHandle_t theirs = NEXT2(DomainResourceCreate)(domain, attributes);
    nvtxResourceAttributes_t copy;
    if (attributes && attributes->size >= sizeof(copy) &&
        attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
        copy = *attributes;
        copy.message.registered =
            (nvtxStringHandle_t)(uintptr_t)ours_of(NVTX_MAP_STRING, copy.message.registered);
        attributes = &copy;
    }
    return both(NVTX_MAP_RESOURCE, theirs,
                OURS2(DomainResourceCreate)(domain_of(domain), attributes));
}

static void next_DomainResourceDestroy(nvtxResourceHandle_t resource)
{
    uint64_t ours = nvtx_map_take(NVTX_MAP_RESOURCE, (uintptr_t)resource);
    OURS2(DomainResourceDestroy)((nvtxResourceHandle_t)(uintptr_t)ours);
    NEXT2(DomainResourceDestroy)(resource);
}

#define DOMAIN_CALLS(letter, character)                                                            \
    static void next_DomainNameCategory##letter(nvtxDomainHandle_t domain, uint32_t number,        \
                                                const character *name)                             \
    {                                                                                              \
        NEXT2(DomainNameCategory##letter)(domain, number, name);                                   \
        OURS2(DomainNameCategory##letter)(domain_of(domain), number, name);                        \
    }                                                                                              \
    static nvtxStringHandle_t next_DomainRegisterString##letter(nvtxDomainHandle_t domain,         \
                                                                const character *text)             \
    {                                                                                              \
        void *theirs = NEXT2(DomainRegisterString##letter)(domain, text);                          \
        return both(NVTX_MAP_STRING, theirs,                                                       \
                    OURS2(DomainRegisterString##letter)(domain_of(domain), text));                 \
    }                                                                                              \
    static nvtxDomainHandle_t next_DomainCreate##letter(const character *name)                     \
    {                                                                                              \
        void *theirs = NEXT2(DomainCreate##letter)(name);                                          \
        return both(NVTX_MAP_DOMAIN, theirs, OURS2(DomainCreate##letter)(name));                   \
    }

DOMAIN_CALLS(A, char)
DOMAIN_CALLS(W, wchar_t)

/* The handle may be reused for another domain. */
static void next_DomainDestroy(nvtxDomainHandle_t domain)
{
    (void)nvtx_map_take(NVTX_MAP_DOMAIN, (uintptr_t)domain);
    NEXT2(DomainDestroy)(domain);
}

static void next_Initialize(const void *reserved)
{
    NEXT2(Initialize)(reserved);
}

/* ---- SYNC ------------------------------------------------------------------------------------ */

static nvtx_nvtxSyncUser_t next_DomainSyncUserCreate(nvtxDomainHandle_t domain,
                                                     const nvtx_nvtxSyncUserAttributes_t *what)
{
    void *theirs = NEXTS(DomainSyncUserCreate)(domain, what);
    const nvtxSyncUserAttributes_t *attributes = what;
    nvtxSyncUserAttributes_t copy;
    if (attributes && attributes->size >= sizeof(copy) &&
        attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
        copy = *attributes;
        copy.message.registered =
            (nvtxStringHandle_t)(uintptr_t)ours_of(NVTX_MAP_STRING, copy.message.registered);
        what = &copy;
    }
    return both(NVTX_MAP_SYNC, theirs, OURSS(DomainSyncUserCreate)(domain_of(domain), what));
}

static void next_DomainSyncUserDestroy(nvtx_nvtxSyncUser_t handle)
{
    uint64_t ours = nvtx_map_take(NVTX_MAP_SYNC, (uintptr_t)handle);
    OURSS(DomainSyncUserDestroy)((nvtx_nvtxSyncUser_t)(uintptr_t)ours);
    NEXTS(DomainSyncUserDestroy)(handle);
}

#define SYNC_CALL(id)                                                                              \
    static void next_##id(nvtx_nvtxSyncUser_t handle)                                              \
    {                                                                                              \
        NEXTS(id)(handle);                                                                         \
        OURSS(id)((nvtx_nvtxSyncUser_t)(uintptr_t)ours_of(NVTX_MAP_SYNC, handle));                 \
    }

SYNC_CALL(DomainSyncUserAcquireStart)
SYNC_CALL(DomainSyncUserAcquireFailed)
SYNC_CALL(DomainSyncUserAcquireSuccess)
SYNC_CALL(DomainSyncUserReleasing)

/* ---- Tables ---------------------------------------------------------------------------------- */

#define CORE_ROW(id)  [NVTX_CBID_CORE_##id] = NVTX_CALL(next_##id)
#define CORE2_ROW(id) [NVTX_CBID_CORE2_##id] = NVTX_CALL(next_##id)
#define SYNC_ROW(id)  [NVTX_CBID_SYNC_##id] = NVTX_CALL(next_##id)

static const NvtxFunctionPointer core_calls[NVTX_CBID_CORE_SIZE] = {
    CORE_ROW(MarkEx),        CORE_ROW(MarkA),         CORE_ROW(MarkW),
    CORE_ROW(RangeStartEx),  CORE_ROW(RangeStartA),   CORE_ROW(RangeStartW),
    CORE_ROW(RangeEnd),      CORE_ROW(RangePushEx),   CORE_ROW(RangePushA),
    CORE_ROW(RangePushW),    CORE_ROW(RangePop),      CORE_ROW(NameCategoryA),
    CORE_ROW(NameCategoryW), CORE_ROW(NameOsThreadA), CORE_ROW(NameOsThreadW),
};

static const NvtxFunctionPointer core2_calls[NVTX_CBID_CORE2_SIZE] = {
    CORE2_ROW(DomainMarkEx),
    CORE2_ROW(DomainRangeStartEx),
    CORE2_ROW(DomainRangeEnd),
    CORE2_ROW(DomainRangePushEx),
    CORE2_ROW(DomainRangePop),
    CORE2_ROW(DomainResourceCreate),
    CORE2_ROW(DomainResourceDestroy),
    CORE2_ROW(DomainNameCategoryA),
    CORE2_ROW(DomainNameCategoryW),
    CORE2_ROW(DomainRegisterStringA),
    CORE2_ROW(DomainRegisterStringW),
    CORE2_ROW(DomainCreateA),
    CORE2_ROW(DomainCreateW),
    CORE2_ROW(DomainDestroy),
    CORE2_ROW(Initialize),
};

static const NvtxFunctionPointer sync_calls[NVTX_CBID_SYNC_SIZE] = {
    SYNC_ROW(DomainSyncUserCreate),         SYNC_ROW(DomainSyncUserDestroy),
    SYNC_ROW(DomainSyncUserAcquireStart),   SYNC_ROW(DomainSyncUserAcquireFailed),
    SYNC_ROW(DomainSyncUserAcquireSuccess), SYNC_ROW(DomainSyncUserReleasing),
};

NvtxFunctionPointer nvtx_next_call(uint32_t module, uint32_t id)
{
    if (module == NVTX_CB_MODULE_CORE)
        return core_calls[id];
    if (module == NVTX_CB_MODULE_CORE2)
        return core2_calls[id];
    if (module == NVTX_CB_MODULE_SYNC)
        return sync_calls[id];
    return nvtx_next_name(module, id);
}
