/* SPDX-License-Identifier: MIT */
/* The names of NVTX 3's C interface that programs use most, over annot: include this instead of
 * <nvtx3/nvToolsExt.h>, link libannot instead of nothing.
 *
 * What differs from NVTX:
 * - Ranges of a thread nest across domains: a pop closes the innermost, whatever its domain.
 * - Push and pop return NVTX_NO_PUSH_POP_TRACKING, as NVTX without a tool does.
 * - nvtxNameOsThreadA names the calling thread only; for another it does nothing.
 * - Of wide texts (the ...W functions, NVTX_MESSAGE_TYPE_UNICODE) and resources there is nothing.
 * - Numbers of categories beyond the first 1,024 are recorded without category.
 *
 * Recordings say of all of it that NVTX told it (annot/observers.h), so a push costs 1.3 P. */
#ifndef ANNOT_NVTX_SHIM_H
#define ANNOT_NVTX_SHIM_H

#include <annot/annot.h>
#include <annot/observers.h>

#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(__cplusplus) && !defined(__USE_MISC)
extern long syscall(long number, ...); /* <unistd.h> hides it from strict C */
#endif

#define NVTX_VERSION                  3
#define NVTX_SUCCESS                  0
#define NVTX_NO_PUSH_POP_TRACKING     (-2)
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef uint64_t nvtxRangeId_t;
typedef struct annot_nvtx_domain *nvtxDomainHandle_t; /* a domain's number; NULL: the default one */
typedef struct annot_nvtx_string *nvtxStringHandle_t; /* a name's number */

typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;

typedef enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN = 0,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE = 2,
    NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;

typedef enum nvtxPayloadType_t {
    NVTX_PAYLOAD_UNKNOWN = 0,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64 = 2,
    NVTX_PAYLOAD_TYPE_DOUBLE = 3,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
    NVTX_PAYLOAD_TYPE_INT32 = 5,
    NVTX_PAYLOAD_TYPE_FLOAT = 6
} nvtxPayloadType_t;

typedef union nvtxMessageValue_t {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;

typedef struct nvtxEventAttributes_v2 {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;

    union payload_t {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;

    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;

/* ---- Inside -----------------------------------------------------------------------------------
 */

/* NVTX tells categories by a number of the program. One table for the whole program: (domain,
 * number) + 1 -> category, filled once, probed from its hash on. */
enum { ANNOT_NVTX_CATEGORIES = 1024 };

struct annot_nvtx_category {
    uint64_t key;
    uint32_t category;
};

#ifndef ANNOT_DISABLE
__attribute__((weak, visibility("default"))) struct annot_nvtx_category
    annot_nvtx_categories_v1[ANNOT_NVTX_CATEGORIES];
/* The default domain, as what NVTX told; 0: not asked for yet. */
__attribute__((weak, visibility("default"))) uint32_t annot_nvtx_default_v1;
#endif

ANNOT_UNTRACED static inline annot_domain annot_nvtx_domain(nvtxDomainHandle_t domain)
{
#ifndef ANNOT_DISABLE
    if (domain)
        return (annot_domain)(uintptr_t)domain;
    uint32_t known = __atomic_load_n(&annot_nvtx_default_v1, __ATOMIC_RELAXED);
    if (!known) { /* it comes out the same twice */
        known = annot_domain_observed("", ANNOT_OBSERVER_NVTX, 0);
        __atomic_store_n(&annot_nvtx_default_v1, known, __ATOMIC_RELAXED);
    }
    return (annot_domain)known;
#else
    return (annot_domain)(uintptr_t)domain;
#endif
}

/* A message in the default domain. */
ANNOT_UNTRACED static inline struct annot_event annot_nvtx_message(const char *message)
{
    struct annot_event event;
    __builtin_memset(&event, 0, sizeof(event));
    event.domain = annot_nvtx_domain((nvtxDomainHandle_t)0);
    event.text = message;
    return event;
}

/* The place of a category, claimed if it is new; NULL if the table is full. */
ANNOT_UNTRACED static inline struct annot_nvtx_category *annot_nvtx_place(nvtxDomainHandle_t domain,
                                                                          uint32_t number)
{
#ifndef ANNOT_DISABLE
    uint64_t key = ((uint64_t)annot_nvtx_domain(domain) << 32 | number) + 1;
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (unsigned i = 0; i < ANNOT_NVTX_CATEGORIES; i++) {
        struct annot_nvtx_category *place =
            &annot_nvtx_categories_v1[(at + i) % ANNOT_NVTX_CATEGORIES];
        uint64_t found = __atomic_load_n(&place->key, __ATOMIC_RELAXED);
        if (found == 0 && __atomic_compare_exchange_n(&place->key, &found, key, 0, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED))
            return place;
        if (found == key)
            return place;
    }
#endif
    (void)domain;
    (void)number;
    return (struct annot_nvtx_category *)0;
}

ANNOT_UNTRACED static inline void annot_nvtx_name_category(nvtxDomainHandle_t domain,
                                                           uint32_t number, const char *name)
{
    struct annot_nvtx_category *place = annot_nvtx_place(domain, number);
    if (place)
        __atomic_store_n(
            &place->category,
            annot_category_observed(annot_nvtx_domain(domain), name, ANNOT_OBSERVER_NVTX, 0),
            __ATOMIC_RELAXED);
}

/* One without a name is called by its number. */
ANNOT_UNTRACED static inline annot_category annot_nvtx_find_category(nvtxDomainHandle_t domain,
                                                                     uint32_t number)
{
    struct annot_nvtx_category *place = number ? annot_nvtx_place(domain, number) : NULL;
    char digits[11];
    char *at = digits + sizeof(digits) - 1;
    if (!place)
        return 0;
    if (!__atomic_load_n(&place->category, __ATOMIC_RELAXED)) {
        *at = '\0';
        for (uint32_t rest = number; rest; rest /= 10)
            *--at = (char)('0' + rest % 10);
        annot_nvtx_name_category(domain, number, at);
    }
    return (annot_category)__atomic_load_n(&place->category, __ATOMIC_RELAXED);
}

ANNOT_UNTRACED static inline void annot_nvtx_payload(struct annot_event *event,
                                                     const nvtxEventAttributes_t *from)
{
    event->payload_kind = ANNOT_PAYLOAD_INT64;
    switch (from->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        event->payload_kind = ANNOT_PAYLOAD_UINT64;
        event->payload.uint64 = from->payload.ullValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT64:
        event->payload.int64 = from->payload.llValue;
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        event->payload.int64 = from->payload.uiValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT32:
        event->payload.int64 = from->payload.iValue;
        break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
    case NVTX_PAYLOAD_TYPE_FLOAT:
        event->payload_kind = ANNOT_PAYLOAD_DOUBLE;
        event->payload.float64 = from->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE
                                     ? from->payload.dValue
                                     : (double)from->payload.fValue;
        break;
    default:
        event->payload_kind = ANNOT_PAYLOAD_NONE;
    }
}

ANNOT_UNTRACED static inline struct annot_event annot_nvtx_event(nvtxDomainHandle_t domain,
                                                                 const nvtxEventAttributes_t *from)
{
    struct annot_event event;
    __builtin_memset(&event, 0, sizeof(event));
    event.domain = annot_nvtx_domain(domain);
    if (!from)
        return event;
    if (from->messageType == NVTX_MESSAGE_TYPE_ASCII)
        event.text = from->message.ascii;
    else if (from->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
        event.name = (annot_name)(uintptr_t)from->message.registered;
    else
        event.text = "";
    event.category = annot_nvtx_find_category(domain, from->category);
    event.color = from->colorType == NVTX_COLOR_ARGB ? from->color : 0;
    annot_nvtx_payload(&event, from);
    return event;
}

/* ---- Domains ----------------------------------------------------------------------------------
 */

ANNOT_UNTRACED static inline void nvtxInitialize(const void *reserved)
{
    (void)reserved;
}

ANNOT_UNTRACED static inline nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
    return (nvtxDomainHandle_t)(uintptr_t)annot_domain_observed(name, ANNOT_OBSERVER_NVTX, 0);
}

ANNOT_UNTRACED static inline void nvtxDomainDestroy(nvtxDomainHandle_t domain)
{
    (void)domain;
}

ANNOT_UNTRACED static inline nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain,
                                                                          const char *text)
{
    (void)domain;
    return (nvtxStringHandle_t)(uintptr_t)annot_name_intern(text);
}

ANNOT_UNTRACED static inline void nvtxDomainNameCategoryA(nvtxDomainHandle_t domain,
                                                          uint32_t category, const char *name)
{
    annot_nvtx_name_category(domain, category, name);
}

ANNOT_UNTRACED static inline int nvtxDomainRangePushEx(nvtxDomainHandle_t domain,
                                                       const nvtxEventAttributes_t *attributes)
{
    if (ANNOT_UNLIKELY(annot_enabled())) {
        struct annot_event event = annot_nvtx_event(domain, attributes);
        annot_emit_push_event(&event);
    }
    return NVTX_NO_PUSH_POP_TRACKING;
}

ANNOT_UNTRACED static inline int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
    (void)domain;
    annot_pop();
    return NVTX_NO_PUSH_POP_TRACKING;
}

ANNOT_UNTRACED static inline nvtxRangeId_t
nvtxDomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    if (ANNOT_UNLIKELY(annot_enabled())) {
        struct annot_event event = annot_nvtx_event(domain, attributes);
        return annot_emit_start_event(&event);
    }
    return 0;
}

ANNOT_UNTRACED static inline void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    (void)domain;
    annot_end(range);
}

ANNOT_UNTRACED static inline void nvtxDomainMarkEx(nvtxDomainHandle_t domain,
                                                   const nvtxEventAttributes_t *attributes)
{
    if (ANNOT_UNLIKELY(annot_enabled())) {
        struct annot_event event = annot_nvtx_event(domain, attributes);
        annot_emit_mark_event(&event);
    }
}

/* ---- The default domain -----------------------------------------------------------------------
 */

ANNOT_UNTRACED static inline int nvtxRangePushA(const char *message)
{
    if (ANNOT_UNLIKELY(annot_enabled())) {
        struct annot_event event = annot_nvtx_message(message);
        annot_emit_push_event(&event);
    }
    return NVTX_NO_PUSH_POP_TRACKING;
}

ANNOT_UNTRACED static inline int nvtxRangePushEx(const nvtxEventAttributes_t *attributes)
{
    return nvtxDomainRangePushEx(NULL, attributes);
}

ANNOT_UNTRACED static inline int nvtxRangePop(void)
{
    return nvtxDomainRangePop(NULL);
}

ANNOT_UNTRACED static inline nvtxRangeId_t nvtxRangeStartA(const char *message)
{
    if (ANNOT_UNLIKELY(annot_enabled())) {
        struct annot_event event = annot_nvtx_message(message);
        return annot_emit_start_event(&event);
    }
    return 0;
}

ANNOT_UNTRACED static inline nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *attributes)
{
    return nvtxDomainRangeStartEx(NULL, attributes);
}

ANNOT_UNTRACED static inline void nvtxRangeEnd(nvtxRangeId_t range)
{
    annot_end(range);
}

ANNOT_UNTRACED static inline void nvtxMarkA(const char *message)
{
    if (ANNOT_UNLIKELY(annot_enabled())) {
        struct annot_event event = annot_nvtx_message(message);
        annot_emit_mark_event(&event);
    }
}

ANNOT_UNTRACED static inline void nvtxMarkEx(const nvtxEventAttributes_t *attributes)
{
    nvtxDomainMarkEx(NULL, attributes);
}

ANNOT_UNTRACED static inline void nvtxNameCategoryA(uint32_t category, const char *name)
{
    annot_nvtx_name_category(NULL, category, name);
}

ANNOT_UNTRACED static inline void nvtxNameOsThreadA(uint32_t thread, const char *name)
{
#ifndef ANNOT_DISABLE
    if (thread == (uint32_t)syscall(SYS_gettid))
        annot_name_thread(name);
#else
    (void)thread;
    (void)name;
#endif
}

#define nvtxDomainCreate         nvtxDomainCreateA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA
#define nvtxDomainNameCategory   nvtxDomainNameCategoryA
#define nvtxRangePush            nvtxRangePushA
#define nvtxRangeStart           nvtxRangeStartA
#define nvtxMark                 nvtxMarkA
#define nvtxNameCategory         nvtxNameCategoryA
#define nvtxNameOsThread         nvtxNameOsThreadA

#ifdef __cplusplus
}
#endif

#endif
