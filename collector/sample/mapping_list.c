/* SPDX-License-Identifier: MIT */
/* A sorted array; mappings never overlap. Thread-safety: none. */
#include "mapping_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* The first mapping that ends behind the address. */
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

/* A list of one's own with room for two more. */
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
    size_t first = find_index(own, mapping->begin), behind = first;
    while (behind < own->count && own->items[behind].begin < mapping->end)
        behind++;
    struct mapping put[3];
    size_t count = 0;
    if (first < behind && own->items[first].begin < mapping->begin) {
        put[count] = own->items[first];
        put[count++].end = mapping->begin;
    }
    put[count++] = *mapping;
    if (first < behind && own->items[behind - 1].end > mapping->end) {
        put[count] = own->items[behind - 1];
        put[count].offset += mapping->end - put[count].begin;
        put[count++].begin = mapping->end;
    }
    memmove(own->items + first + count, own->items + behind,
            (own->count - behind) * sizeof(own->items[0]));
    memcpy(own->items + first, put, count * sizeof(put[0]));
    own->count = own->count - (behind - first) + count;
    return 0;
}
