/* SPDX-License-Identifier: MIT */
/* Lists of mappings, and snapshots of them for the BPF program: writes slices and counts users. A
 * slice is written before any process refers to it, so the program never sees half of one.
 * Thread-safety: one thread per object. */
#include "spaces.h"

#include "modules.h"
#include "row_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lists of mappings: sorted arrays, which never overlap ----------------------------------- */

struct mapping_list *mapping_list_create(void)
{
    struct mapping_list *list = calloc(1, sizeof(*list));
    if (list)
        list->owners = 1;
    return list;
}

struct mapping_list *mapping_list_ref(struct mapping_list *list)
{
    list->owners++;
    return list;
}

void mapping_list_unref(struct mapping_list *list)
{
    if (!list || --list->owners > 0)
        return;
    free(list->items);
    free(list);
}

/* The first mapping that ends after the address. */
static size_t find_index(const struct mapping_list *list, uint64_t address)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t address)
{
    size_t index = find_index(list, address);
    return index < list->count && list->items[index].begin <= address ? &list->items[index] : NULL;
}

/* Makes the list exclusive, with room for two more. */
static int make_own(struct mapping_list **list)
{
    struct mapping_list *old = *list;
    size_t capacity = old->count + 2 <= old->capacity ? old->capacity : old->count * 2 + 14;
    if (old->owners == 1 && capacity == old->capacity)
        return 0;
    struct mapping *items = malloc(capacity * sizeof(*items));
    struct mapping_list *own = old->owners == 1 ? old : mapping_list_create();
    if (!items || !own) {
        free(items);
        if (own != old)
            mapping_list_unref(own);
        return -ENOMEM;
    }
    if (old->count > 0)
        memcpy(items, old->items, old->count * sizeof(*items));
    if (own == old)
        free(old->items);
    else
        old->owners--;
    own->items = items;
    own->count = old->count;
    own->capacity = capacity;
    *list = own;
    return 0;
}

int mapping_list_put(struct mapping_list **list, const struct mapping *mapping)
{
    if (mapping->begin >= mapping->end)
        return 0;
    if (make_own(list) != 0)
        return -ENOMEM;
    struct mapping_list *own = *list;
    size_t first = find_index(own, mapping->begin), after = first;
    while (after < own->count && own->items[after].begin < mapping->end)
        after++;
    struct mapping put[3];
    size_t count = 0;
    if (first < after && own->items[first].begin < mapping->begin) {
        put[count] = own->items[first];
        put[count++].end = mapping->begin;
    }
    put[count++] = *mapping;
    if (first < after && own->items[after - 1].end > mapping->end) {
        put[count] = own->items[after - 1];
        put[count].offset += mapping->end - put[count].begin;
        put[count++].begin = mapping->end;
    }
    memmove(own->items + first + count, own->items + after,
            (own->count - after) * sizeof(own->items[0]));
    memcpy(own->items + first, put, count * sizeof(put[0]));
    own->count = own->count - (after - first) + count;
    return 0;
}

/* ---- Spaces ---------------------------------------------------------------------------------- */

enum { IDLE_NS = 1000000000, IDLE_STEPS = 2 };

int spaces_init(struct spaces *spaces, struct sampler_mapping *memory)
{
    *spaces = (struct spaces){.memory = memory};
    return extents_init(&spaces->extents, SAMPLER_MAPPINGS_MAX);
}

static void destroy_space(struct space *space)
{
    if (space->list->space == space)
        space->list->space = NULL;
    mapping_list_unref(space->list);
    free(space);
}

void spaces_fini(struct spaces *spaces)
{
    for (size_t i = 0; i < spaces->all.count; i++)
        destroy_space(spaces->all.items[i]);
    vec_free(&spaces->all);
    map64_free(&spaces->by_number);
    extents_fini(&spaces->extents);
}

static uint16_t kind_of(const struct module *module)
{
    static const uint16_t kinds[] = {
        [MODULE_ROWS_NONE] = SAMPLER_MAPPING_FRAME_POINTER,
        [MODULE_ROWS_LAZY] = SAMPLER_MAPPING_LAZY,
        [MODULE_ROWS_LOADED] = SAMPLER_MAPPING_TABLE,
        [MODULE_ROWS_MISSING] = SAMPLER_MAPPING_MISSING,
        [MODULE_ROWS_READING] = SAMPLER_MAPPING_LAZY,
    };
    return kinds[module ? module->rows : MODULE_ROWS_NONE];
}

/* The entries of one mapping: one for each part of its module inside it. Writes them to `to` if not
 * NULL. */
static uint32_t write_mapping(const struct mapping *mapping, struct sampler_mapping *to)
{
    const struct module *module = mapping->module;
    struct sampler_mapping entry = {
        .begin = mapping->begin, .end = mapping->end, .kind = kind_of(module)};
    if (entry.kind != SAMPLER_MAPPING_TABLE) {
        if (to)
            *to = entry;
        return 1;
    }
    uint32_t count = 0;
    uint64_t own = module_address(module, mapping->begin, mapping->begin, mapping->offset);
    uint64_t bias = mapping->begin - own;
    for (uint32_t i = 0; i < module->part_count; i++) {
        const struct module_part *part = &module->parts[i];
        uint64_t begin = i == 0 ? mapping->begin : part->begin + bias;
        uint64_t end = i + 1 == module->part_count ? mapping->end : part->end + bias;
        entry.begin = begin > mapping->begin ? begin : mapping->begin;
        entry.end = end < mapping->end ? end : mapping->end;
        entry.bias = bias + part->table.base;
        entry.segment = part->slice.segment;
        entry.row_first = part->slice.first;
        entry.row_count = part->slice.count;
        if (entry.begin >= entry.end)
            continue;
        if (to)
            to[count] = entry;
        count++;
    }
    return count;
}

static uint32_t write_list(const struct mapping_list *list, struct sampler_mapping *to)
{
    uint32_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += write_mapping(&list->items[i], to ? to + count : NULL);
    return count;
}

/* The number of its mappings of that kind. */
static uint32_t count_kind(const struct mapping_list *list, uint16_t kind)
{
    uint32_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += kind_of(list->items[i].module) == kind;
    return count;
}

int spaces_add(struct spaces *spaces, struct mapping_list *list, struct space **ret_space)
{
    uint32_t count = write_list(list, NULL);
    struct space *space = calloc(1, sizeof(*space));
    if (!space || vec_reserve(&spaces->all, 1) != 0 ||
        map64_put(&spaces->by_number, spaces->last_number + 1, (uintptr_t)space) != 0) {
        free(space);
        return -ENOMEM;
    }
    int64_t first = count ? extents_take(&spaces->extents, count) : 0;
    if (first < 0) {
        uint64_t gone;
        map64_take(&spaces->by_number, spaces->last_number + 1, &gone);
        free(space);
        spaces->refused++;
        return -ENOSPC;
    }
    *space = (struct space){.number = ++spaces->last_number,
                            .first = (uint32_t)first,
                            .count = count,
                            .users = 1,
                            .lazy = count_kind(list, SAMPLER_MAPPING_LAZY) > 0,
                            .missing = count_kind(list, SAMPLER_MAPPING_MISSING),
                            .list = mapping_list_ref(list)};
    spaces->all.items[spaces->all.count++] = space;
    write_list(list, spaces->memory + first);
    *ret_space = space;
    return 0;
}

struct space *spaces_find(const struct spaces *spaces, uint32_t number)
{
    const uint64_t *found = number ? map64_find(&spaces->by_number, number) : NULL;
    return found ? (struct space *)(uintptr_t)*found : NULL;
}

bool space_is_outdated(const struct space *space)
{
    return space->missing > 0 && count_kind(space->list, SAMPLER_MAPPING_MISSING) != space->missing;
}

struct space *space_use(struct space *space)
{
    if (space)
        space->users++;
    return space;
}

void space_leave(struct space *space, uint64_t now_ns, uint64_t step)
{
    if (!space || --space->users > 0)
        return;
    space->idle_since_ns = now_ns;
    space->idle_step = step;
}

void spaces_sweep(struct spaces *spaces, uint64_t now_ns, uint64_t step)
{
    for (size_t i = 0; i < spaces->all.count;) {
        struct space *space = spaces->all.items[i];
        if (space->users > 0 || step - space->idle_step < IDLE_STEPS ||
            now_ns - space->idle_since_ns < IDLE_NS ||
            extents_give(&spaces->extents, space->first, space->count) != 0) {
            i++;
            continue;
        }
        uint64_t gone;
        map64_take(&spaces->by_number, space->number, &gone);
        destroy_space(space);
        spaces->all.items[i] = spaces->all.items[--spaces->all.count];
    }
}

/* Loads the rows of the list's mapping that an entry of the slice belongs to. */
static int load_entry(const struct space *space, const struct sampler_mapping *entry,
                      struct modules *modules)
{
    const struct mapping *mapping = mapping_list_find(space->list, entry->begin);
    if (!mapping || !mapping->module)
        return 1;
    int error = modules_load_rows(modules, mapping->module);
    bool waits =
        mapping->module->rows == MODULE_ROWS_LAZY || mapping->module->rows == MODULE_ROWS_READING;
    return error ? error : !waits;
}

int space_load_wanted(struct spaces *spaces, const struct space *space, struct modules *modules)
{
    int loaded = 0;
    for (uint32_t i = 0; space->lazy && i < space->count; i++) {
        const struct sampler_mapping *entry = &spaces->memory[space->first + i];
        if (entry->kind != SAMPLER_MAPPING_LAZY ||
            !__atomic_load_n(&entry->wanted, __ATOMIC_RELAXED))
            continue;
        int error = load_entry(space, entry, modules);
        if (error < 0)
            return error;
        loaded |= error;
    }
    return loaded;
}
