/* SPDX-License-Identifier: MIT */
/* Names of objects: see inject_objects.h.
 *
 * An entry is taken by one swap of its kind, then gets its value; a thread that finds it in between
 * uses the next, so an object may, rarely, have two entries: the first that is found counts. */
#include "inject_objects.h"

#include <annot_barrier.h>

enum { PLACES = 16384, PROBES = 128, NAME_SIZE = 64 };

#define KIND_BUSY UINT32_MAX

struct place {
    uint64_t value;
    uint32_t kind; /* 0 = free; W: swapped, then stored */
    char name[NAME_SIZE];
};

static struct place places[PLACES];

static int is_same(const struct place *place, uint32_t kind, uint64_t value)
{
    return annot_load_acquire(&place->kind) == kind && place->value == value; /* partner: take */
}

static int take(struct place *place, uint32_t kind, uint64_t value)
{
    uint32_t free_kind = 0;
    if (!annot_cas_acq_rel(&place->kind, &free_kind, KIND_BUSY)) /* partner: itself */
        return 0;
    place->value = value;
    annot_store_release(&place->kind, kind); /* partner: is_same */
    return 1;
}

static struct place *find(uint32_t kind, uint64_t value, int may_take)
{
    uint64_t at = (value ^ (uint64_t)kind << 40) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct place *place = &places[(at + i) % PLACES];
        if (is_same(place, kind, value))
            return place;
        if (annot_load_relaxed(&place->kind) == 0 && (!may_take || take(place, kind, value)))
            return may_take ? place : NULL;
    }
    return NULL;
}

/* One character at a time: a reader may find half of the old name and half of the new one, but no
 * other bytes. */
static void write_name(struct place *place, const char *name)
{
    uint32_t i = 0;
    for (; i < NAME_SIZE - 1 && name[i]; i++)
        annot_store_relaxed(&place->name[i], name[i]);
    annot_store_release(&place->name[i], (char)0); /* partner: annot_inject_object */
}

uint32_t inject_object_name(uint32_t kind, uint64_t value, const char *name)
{
    struct place *place = find(kind, value, 1);
    if (!place)
        return 0;
    write_name(place, name ? name : "(null)");
    return (uint32_t)(place - places) + 1;
}

void inject_object_forget(uint32_t place)
{
    if (place > 0 && place <= PLACES)
        write_name(&places[place - 1], "");
}

const char *annot_inject_object(uint32_t kind, uint64_t value)
{
    const struct place *place = find(kind, value, 0);
    return place && annot_load_acquire(&place->name[0]) ? place->name : NULL; /* partner: above */
}
