/* SPDX-License-Identifier: MIT */
/* Domains, categories and registered strings: annot's numbers as NVTX's handles.
 *
 * A handle is the number that libannot issued, so handles from programs need no trust: an unknown
 * number has no name. For strings beyond its table it is an address in a known memory area. The
 * same name gives the same handle in every image of the process and in forked children. Names are
 * never freed: they belong to the process. Threads: any, also signal handlers; lock-free. */
#ifndef ANNOT_NVTX_SCOPE_H
#define ANNOT_NVTX_SCOPE_H

#include "nvtx.h"

#include <annot/annot.h>
#include <annot_barrier.h>

extern annot_domain nvtx_default_number __attribute__((visibility("hidden")));

annot_domain nvtx_domain_make(const char *name);
annot_domain nvtx_domain_make_default(void);

/* NULL is the default domain, "" in filters and outputs. */
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

/* Returns the category of the program's number. A category without a name is named by its number.
 * 0: no category, or there are more than 16,384. */
annot_category nvtx_category_of(annot_domain domain, uint32_t number);
void nvtx_category_name(annot_domain domain, uint32_t number, const char *name);

/* Registers a string; NULL: no room for it. */
nvtxStringHandle_t nvtx_string_make(const char *text);

/* Returns the text of a handle that is an address; "" for an unknown one. */
const char *nvtx_string_text(nvtxStringHandle_t handle);

/* Returns the number of a registered string; 0: it is an address. */
static inline annot_name nvtx_string_of(nvtxStringHandle_t handle)
{
    uintptr_t id = (uintptr_t)handle;
    return id <= UINT32_MAX ? (annot_name)id : 0;
}

#endif
