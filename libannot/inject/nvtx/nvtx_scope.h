/* SPDX-License-Identifier: MIT */
/* Domains, categories and registered strings: what NVTX's handles are here.
 *
 * A handle is the number that libannot gave, so what a program passes back needs no trust: a number
 * that nobody made names nothing. Of strings beyond its table it is a place in memory that is known
 * to be there. The same name gives the same handle in every image of the process
 * and in forked children. Nothing is ever freed: names are those of the process. Threads: any, also
 * signal handlers; lock-free. */
#ifndef ANNOT_NVTX_SCOPE_H
#define ANNOT_NVTX_SCOPE_H

#include "nvtx_api.h"

#include <annot/annot.h>
#include <annot_barrier.h>

extern annot_domain nvtx_default_number __attribute__((visibility("hidden")));

annot_domain nvtx_domain_make(const char *name);
annot_domain nvtx_domain_make_default(void);

/* NULL is the default domain, "" to filters and in outputs. */
static inline annot_domain nvtx_domain_of(nvtxDomainHandle_t handle)
{
    if (handle)
        return (annot_domain)(uintptr_t)handle;
    annot_domain number = annot_load_relaxed(&nvtx_default_number);
    return __builtin_expect(number != 0, 1) ? number : nvtx_domain_make_default();
}

static inline nvtxDomainHandle_t nvtx_domain_handle(annot_domain number)
{
    return (nvtxDomainHandle_t)(uintptr_t)number;
}

/* NVTX tells categories by a number of the program. One without a name is called by its number. 0:
 * none, or there are more than 16,384. */
annot_category nvtx_category_of(annot_domain domain, uint32_t number);
void nvtx_category_name(annot_domain domain, uint32_t number, const char *name);

/* Registers a string; NULL: there is no room for it. */
nvtxStringHandle_t nvtx_string_make(const char *text);

/* Of one that has no number; "": nobody gave that. */
const char *nvtx_string_text(nvtxStringHandle_t handle);

/* The number of a registered string; 0: it has none. */
static inline annot_name nvtx_string_of(nvtxStringHandle_t handle)
{
    uintptr_t id = (uintptr_t)handle;
    return id <= UINT32_MAX ? (annot_name)id : 0;
}

#endif
