/* SPDX-License-Identifier: MIT */
/* The format's own types and sets, and those of one recording by number. Thread-safety: none. */
#include "sample_set.h"

#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct value_types {
    VEC(struct value_type) items; /* by number */
};

static const struct {
    const char *name, *unit;
} fixed_types[VALUE_TYPE_FIXED] = {
    [VALUE_TYPE_CPU] = {"cpu", "ns"},
    [VALUE_TYPE_RUNNABLE] = {"runnable", "ns"},
    [VALUE_TYPE_BLOCKED] = {"blocked", "ns"},
    [VALUE_TYPE_WALL] = {"wall", "ns"},
    [VALUE_TYPE_GPU] = {"gpu", "ns"},
    [VALUE_TYPE_SAMPLES] = {"samples", ""},
    [VALUE_TYPE_CALLS] = {"calls", ""},
    [VALUE_TYPE_ALLOC_BYTES] = {"alloc-bytes", "bytes"},
    [VALUE_TYPE_ALLOC_OBJECTS] = {"alloc-objects", ""},
    [VALUE_TYPE_FREE_BYTES] = {"free-bytes", "bytes"},
    [VALUE_TYPE_FREE_OBJECTS] = {"free-objects", ""},
    [VALUE_TYPE_CYCLES] = {"cycles", ""},
    [VALUE_TYPE_INSTRUCTIONS] = {"instructions", ""},
    [VALUE_TYPE_CACHE_MISSES] = {"cache-misses", ""},
    [VALUE_TYPE_BRANCH_MISSES] = {"branch-misses", ""},
    [VALUE_TYPE_FLOPS] = {"flops", ""},
    [VALUE_TYPE_DRAM_BYTES] = {"dram-bytes", "bytes"},
    [VALUE_TYPE_ENERGY] = {"energy", "uJ"},
};

const struct sample_set sample_sets_fixed[SAMPLE_SET_FIXED] = {
    [SAMPLE_SET_CPU] = {.count = 1, .role = SAMPLE_ROLE_CPU, .types = {VALUE_TYPE_CPU}},
    [SAMPLE_SET_OFF_CPU] = {.flags = SAMPLE_SET_STRETCH,
                            .count = 2,
                            .role = SAMPLE_ROLE_OFF_CPU,
                            .types = {VALUE_TYPE_BLOCKED, VALUE_TYPE_RUNNABLE}},
};

static const char *const set_names[SAMPLE_SET_FIXED] = {
    [SAMPLE_SET_NONE] = "", [SAMPLE_SET_CPU] = "cpu", [SAMPLE_SET_OFF_CPU] = "off-cpu"};

struct sample_sets *sample_sets_create(void)
{
    struct sample_sets *sets = calloc(1, sizeof(*sets));
    if (sets)
        sets->types = calloc(1, sizeof(*sets->types));
    if (sets && sets->types)
        return sets;
    sample_sets_destroy(sets);
    return NULL;
}

void sample_sets_destroy(struct sample_sets *sets)
{
    if (!sets)
        return;
    if (sets->types)
        vec_free(&sets->types->items);
    free(sets->types);
    free(sets->sets);
    free(sets);
}

const struct value_type *value_type_get(const struct sample_sets *sets, unsigned number)
{
    static const struct value_type none, adds = {.sum = VALUE_SUM_ADDS};
    if (number < VALUE_TYPE_FIXED)
        return number ? &adds : &none;
    return sets && number < sets->types->items.count ? &sets->types->items.items[number] : &none;
}

unsigned sample_sets_count(const struct sample_sets *sets)
{
    return sets->count ? sets->count : SAMPLE_SET_FIXED;
}

unsigned value_types_count(const struct sample_sets *sets)
{
    return sets->types->items.count ? (unsigned)sets->types->items.count : VALUE_TYPE_FIXED;
}

const char *sample_set_fixed_name(unsigned number)
{
    return number < SAMPLE_SET_FIXED ? set_names[number] : NULL;
}

const char *value_type_fixed_name(unsigned number)
{
    return number < VALUE_TYPE_FIXED ? (number ? fixed_types[number].name : "") : NULL;
}

const char *value_type_fixed_unit(unsigned number)
{
    return number < VALUE_TYPE_FIXED ? (number ? fixed_types[number].unit : "") : NULL;
}

/* A set with a flag that nobody knows may mean anything. */
static uint8_t role_of(const struct sample_set *set)
{
    if (set->flags & ~(unsigned)SAMPLE_SET_FLAGS_KNOWN)
        return SAMPLE_ROLE_OTHER;
    if (set->flags & SAMPLE_SET_STRETCH)
        return sample_set_index(set, VALUE_TYPE_BLOCKED) >= 0 ||
                       sample_set_index(set, VALUE_TYPE_RUNNABLE) >= 0
                   ? SAMPLE_ROLE_OFF_CPU
                   : SAMPLE_ROLE_OTHER;
    bool instant = !(set->flags & SAMPLE_SET_INTERVAL);
    return instant && sample_set_index(set, VALUE_TYPE_CPU) >= 0 ? SAMPLE_ROLE_CPU
                                                                 : SAMPLE_ROLE_OTHER;
}

static bool same_set(const struct sample_set *a, const struct sample_set *b)
{
    return a->name == b->name && a->period == b->period && a->flags == b->flags &&
           a->count == b->count && memcmp(a->types, b->types, a->count * sizeof(a->types[0])) == 0;
}

/* What is empty has no name and no values. */
static bool is_empty(const struct sample_set *set)
{
    return set->name == 0 && set->count == 0 && set->flags == 0;
}

int sample_sets_define(struct sample_sets *sets, unsigned number, const struct sample_set *set)
{
    if (number == 0 || number >= SAMPLE_SET_MAX || set->count > SAMPLE_VALUES_MAX)
        return -EBADMSG;
    if (number < SAMPLE_SET_FIXED)
        return 0;
    size_t capacity = sets->capacity;
    if (vec_grow((void **)&sets->sets, &capacity, number + 1u, sizeof(*sets->sets)) != 0)
        return -ENOMEM;
    sets->capacity = (uint32_t)capacity;
    while (sets->count <= number)
        sets->sets[sets->count++] = sample_sets_fixed[0];
    struct sample_set *entry = &sets->sets[number];
    if (!is_empty(entry))
        return same_set(entry, set) ? 0 : -EBADMSG;
    *entry = *set;
    entry->role = role_of(set);
    return 0;
}

int value_types_define(struct sample_sets *sets, unsigned number, const struct value_type *type)
{
    static const struct value_type none;
    if (number == 0 || number >= VALUE_TYPE_MAX)
        return -EBADMSG;
    if (number < VALUE_TYPE_FIXED)
        return 0;
    while (sets->types->items.count <= number)
        if (vec_push(&sets->types->items, none) != 0)
            return -ENOMEM;
    struct value_type *entry = &sets->types->items.items[number];
    bool known = entry->name != 0 || entry->unit != 0 || entry->sum != 0;
    if (known &&
        (entry->name != type->name || entry->unit != type->unit || entry->sum != type->sum))
        return -EBADMSG;
    *entry = *type;
    return 0;
}

int64_t sample_sets_add(struct sample_sets *sets, const struct sample_set *set)
{
    unsigned number = sample_sets_count(sets);
    if (number < SAMPLE_SET_OWN)
        number = SAMPLE_SET_OWN;
    if (number >= SAMPLE_SET_MAX)
        return -ENOSPC;
    int error = sample_sets_define(sets, number, set);
    return error ? error : (int64_t)number;
}

int64_t value_types_add(struct sample_sets *sets, const struct value_type *type)
{
    unsigned number = value_types_count(sets);
    if (number < VALUE_TYPE_OWN)
        number = VALUE_TYPE_OWN;
    if (number >= VALUE_TYPE_MAX)
        return -ENOSPC;
    int error = value_types_define(sets, number, type);
    return error ? error : (int64_t)number;
}
