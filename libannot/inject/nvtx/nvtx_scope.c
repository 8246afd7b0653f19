/* SPDX-License-Identifier: MIT */
/* Domains and categories: see nvtx_scope.h. */
#include "nvtx_scope.h"

#include <annot/observers.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { CATEGORIES = 16384, PROBES = 256 };

annot_domain nvtx_default_number;

/* ---- Domains --------------------------------------------------------------------------------- */

annot_domain nvtx_domain_make(const char *name)
{
    return annot_domain_observed(name, ANNOT_OBSERVER_NVTX, 0);
}

/* A concurrent call gets the same number. */
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

/* Returns the entry of a category, claimed if it is new; NULL: all near it are taken. */
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

/* ---- Registered strings ---------------------------------------------------------------------- */

/* libannot's table of names holds some ten thousands, and some programs register a new string for
 * each step. Strings beyond the table are stored here; their handle is their address. */

enum {
    ROOM = 64 << 20,     /* of addresses; memory is allocated on use */
    TEXT_MAX = 1024 + 4, /* longer than a name may be, to detect cut names */
};

static char *room;   /* W: swapped once */
static size_t taken; /* W: all, atomic; may exceed the size */
static int is_full;  /* libannot's table; W: any thread, once */

/* Returns NULL if out of memory, or at an address below 4 GiB, which would be a number. */
static char *room_made(void)
{
    char *known = annot_load_acquire(&room); /* partner: the swap */
    if (known)
        return known;
    int error = errno;
    char *made = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = error;
    if (made == MAP_FAILED)
        return NULL;
    if ((uintptr_t)made > UINT32_MAX && annot_cas_acq_rel(&room, &known, made)) /* partner: above */
        return made;
    munmap(made, ROOM);
    errno = error;
    return known;
}

/* Zeros follow it. */
static nvtxStringHandle_t keep(const char *text)
{
    size_t length = strnlen(text, TEXT_MAX);
    char *memory = annot_load_relaxed(&taken) < ROOM - TEXT_MAX ? room_made() : NULL;
    size_t at = memory ? annot_fetch_add_relaxed(&taken, length + 1) : ROOM;
    if (at >= ROOM - TEXT_MAX)
        return NULL;
    memcpy(memory + at, text, length);
    return (nvtxStringHandle_t)(void *)(memory + at);
}

/* A full table is not tried again, because it counts the names that it drops. */
nvtxStringHandle_t nvtx_string_make(const char *text)
{
    annot_name name = annot_load_relaxed(&is_full) ? 0 : annot_name_intern(text);
    if (name)
        return (nvtxStringHandle_t)(uintptr_t)name;
    annot_store_relaxed(&is_full, 1); /* any order will do */
    return keep(text ? text : "(null)");
}

const char *nvtx_string_text(nvtxStringHandle_t handle)
{
    const char *memory = annot_load_acquire(&room); /* partner: room_made */
    uintptr_t at = (uintptr_t)handle - (uintptr_t)memory;
    return memory && at < ROOM - TEXT_MAX ? memory + at : "";
}
