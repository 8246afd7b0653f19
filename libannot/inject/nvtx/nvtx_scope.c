/* SPDX-License-Identifier: MIT */
/* Domains and categories: see nvtx_scope.h. */
#include "nvtx_scope.h"

#include <annot/observers.h>

enum { CATEGORIES = 16384, PROBES = 256 };

annot_domain nvtx_default_number;

/* ---- Domains --------------------------------------------------------------------------------- */

annot_domain nvtx_domain_make(const char *name)
{
    return annot_domain_observed(name, ANNOT_OBSERVER_NVTX, 0);
}

/* It comes out the same twice. */
annot_domain nvtx_domain_make_default(void)
{
    annot_domain number = nvtx_domain_make("");
    annot_store_relaxed(&nvtx_default_number, number);
    return number;
}

/* ---- Categories ------------------------------------------------------------------------------ */

struct category {
    uint64_t key; /* (domain << 32 | number) + 1; 0 = empty; W: swapped in once */
    uint32_t category;
};

static struct category categories[CATEGORIES];

/* The place of a category, claimed if it is new; NULL: all near its place are taken. */
static struct category *place_of(annot_domain domain, uint32_t number)
{
    uint64_t key = ((uint64_t)domain << 32 | number) + 1;
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct category *place = &categories[(at + i) % CATEGORIES];
        uint64_t found = annot_load_relaxed(&place->key);
        /* Partner: itself. */
        if (found == 0 && annot_cas_acq_rel(&place->key, &found, key))
            return place;
        if (found == key)
            return place;
    }
    return NULL;
}

void nvtx_category_name(annot_domain domain, uint32_t number, const char *name)
{
    struct category *place = number ? place_of(domain, number) : NULL;
    if (place)
        annot_store_relaxed(&place->category, (uint32_t)annot_category_observed(
                                                  domain, name, ANNOT_OBSERVER_NVTX, 0));
}

annot_category nvtx_category_of(annot_domain domain, uint32_t number)
{
    struct category *place = number ? place_of(domain, number) : NULL;
    char digits[11], *at = digits + sizeof(digits) - 1;
    if (!place)
        return 0;
    uint32_t category = annot_load_relaxed(&place->category);
    if (__builtin_expect(category != 0, 1))
        return (annot_category)category;
    *at = 0;
    for (uint32_t rest = number; rest; rest /= 10)
        *--at = (char)('0' + rest % 10);
    nvtx_category_name(domain, number, at);
    return (annot_category)annot_load_relaxed(&place->category);
}
