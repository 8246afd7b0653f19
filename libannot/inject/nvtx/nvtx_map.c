/* SPDX-License-Identifier: MIT */
/* See nvtx_map.h. A handle stands within some places from its hash on, with gaps where others were
 * taken out. */
#include "nvtx_map.h"

#include <annot_barrier.h>
#include <stddef.h>

enum { PLACES = 32768, PROBES = 64 };

struct place {
    uint64_t theirs; /* 0 = free; W: swapped */
    uint64_t ours;
};

static struct place maps[NVTX_MAP_COUNT][PLACES];

static struct place *place_at(enum nvtx_map map, uint64_t theirs, uint32_t probe)
{
    uint64_t at = (theirs * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
    return &maps[map][(at + probe) % PLACES];
}

static struct place *find(enum nvtx_map map, uint64_t theirs)
{
    for (uint32_t i = 0; theirs && i < PROBES; i++)
        if (annot_load_acquire(&place_at(map, theirs, i)->theirs) == theirs) /* partner: put */
            return place_at(map, theirs, i);
    return NULL;
}

void nvtx_map_put(enum nvtx_map map, uint64_t theirs, uint64_t ours)
{
    struct place *place = find(map, theirs);
    for (uint32_t i = 0; theirs && !place && i < PROBES; i++) {
        uint64_t none = 0;
        /* Partner: itself, and the store in take. */
        if (annot_cas_acq_rel(&place_at(map, theirs, i)->theirs, &none, theirs))
            place = place_at(map, theirs, i);
    }
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
        annot_store_release(&place->theirs, UINT64_C(0)); /* partner: put */
    return ours;
}
