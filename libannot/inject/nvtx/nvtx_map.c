/* SPDX-License-Identifier: MIT */
/* See nvtx_map.h. A handle is stored within PROBES entries from its hash on, with gaps after
 * removals; or, if these were all taken, in the next table, which is four times as large. */
#include "nvtx_map.h"

#include <annot_barrier.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

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
            uint64_t none = 0;
            /* Partner: itself, and the store in take. */
            if (annot_cas_acq_rel(&place->theirs, &none, theirs))
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
