/* SPDX-License-Identifier: MIT */
/* Sizes of types, and where entries of schemas are: see nvtx_schema.h. */
#include "nvtx_schema.h"

#include <wchar.h>

#define LAYOUT(size, class)                                                                        \
    {                                                                                              \
        (size), (size), NVTX_CLASS_##class, NULL                                                   \
    }

static const struct nvtx_layout layouts[NVTX_TYPE_COUNT] = {
    [NVTX_TYPE_CHAR] = LAYOUT(1, CHARACTER),
    [NVTX_TYPE_UCHAR] = LAYOUT(1, UNSIGNED),
    [3] = LAYOUT(sizeof(short), SIGNED),
    [4] = LAYOUT(sizeof(short), UNSIGNED),
    [5] = LAYOUT(sizeof(int), SIGNED),
    [6] = LAYOUT(sizeof(int), UNSIGNED),
    [7] = LAYOUT(sizeof(long), SIGNED),
    [8] = LAYOUT(sizeof(long), UNSIGNED),
    [9] = LAYOUT(sizeof(long long), SIGNED),
    [10] = LAYOUT(sizeof(long long), UNSIGNED),
    [11] = LAYOUT(1, SIGNED),
    [12] = LAYOUT(1, UNSIGNED),
    [13] = LAYOUT(2, SIGNED),
    [14] = LAYOUT(2, UNSIGNED),
    [15] = LAYOUT(4, SIGNED),
    [16] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_INT64] = LAYOUT(8, SIGNED),
    [NVTX_TYPE_UINT64] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_FLOAT] = LAYOUT(4, REAL),
    [NVTX_TYPE_DOUBLE] = LAYOUT(8, REAL),
    [NVTX_TYPE_LONG_DOUBLE] = LAYOUT(sizeof(long double), REAL),
    [NVTX_TYPE_SIZE] = LAYOUT(sizeof(size_t), UNSIGNED),
    [NVTX_TYPE_ADDRESS] = LAYOUT(sizeof(void *), ADDRESS),
    [NVTX_TYPE_WCHAR] = LAYOUT(sizeof(wchar_t), CHARACTER),
    [NVTX_TYPE_CHAR8] = LAYOUT(1, CHARACTER),
    [NVTX_TYPE_CHAR16] = LAYOUT(2, CHARACTER),
    [NVTX_TYPE_CHAR32] = LAYOUT(4, CHARACTER),
    [NVTX_TYPE_BYTE] = LAYOUT(1, BYTE),
    [NVTX_TYPE_INT128] = LAYOUT(16, WIDE),
    [NVTX_TYPE_UINT128] = LAYOUT(16, WIDE),
    [NVTX_TYPE_FLOAT16] = LAYOUT(2, REAL),
    [NVTX_TYPE_FLOAT32] = LAYOUT(4, REAL),
    [NVTX_TYPE_FLOAT64] = LAYOUT(8, REAL),
    [NVTX_TYPE_FLOAT128] = LAYOUT(16, REAL),
    [NVTX_TYPE_BF16] = LAYOUT(2, REAL),
    [NVTX_TYPE_TF32] = LAYOUT(4, REAL),
    [NVTX_TYPE_RANGE_ID] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_CATEGORY] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_COLOR] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_SCOPE] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_PID32] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_PID64] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_TID32] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_TID64] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_CSTRING] = LAYOUT(1, TEXT),
    [NVTX_TYPE_CSTRING_UTF8] = LAYOUT(1, TEXT),
    [NVTX_TYPE_CSTRING_UTF16] = LAYOUT(2, TEXT),
    [NVTX_TYPE_CSTRING_UTF32] = LAYOUT(4, TEXT),
    [NVTX_TYPE_STRING_HANDLE] = LAYOUT(sizeof(void *), UNSIGNED),
    /* Nobody says how wide a selector is: the low half is the same in 4 and 8 bytes. */
    [NVTX_TYPE_SELECTOR] = LAYOUT(4, UNSIGNED),
};

int nvtx_entry_is_indirect(const struct nvtx_entry *entry)
{
    const uint64_t flags =
        NVTX_ENTRY_POINTER | NVTX_ENTRY_OFFSET_FROM_BASE | NVTX_ENTRY_OFFSET_FROM_HERE;
    if (entry->flags & flags)
        return 1;
    return entry->type >= NVTX_TYPE_CSTRING && entry->type <= NVTX_TYPE_CSTRING_UTF32 &&
           !(entry->flags & NVTX_ENTRY_ARRAYS) && entry->detail == 0;
}

uint64_t nvtx_entry_offset(const struct nvtx_schema *schema, uint32_t index, uint64_t cursor,
                           uint64_t alignment)
{
    const struct nvtx_entry *entry = &schema->entries[index];
    if (index == 0 || entry->offset || schema->type.type >= NVTX_SCHEMA_UNION)
        return entry->offset;
    if (schema->alignment && alignment > schema->alignment)
        alignment = schema->alignment;
    if (alignment > 1 && cursor < UINT64_MAX - alignment)
        cursor = (cursor + alignment - 1) / alignment * alignment;
    return cursor;
}

/* ---- Of schemas: what follows goes only so deep ---------------------------------------------- */

struct measure {
    uint32_t steps; /* what is left of them */
    annot_domain domain;
};

static struct nvtx_layout measure_type(struct measure *measure, uint64_t type, uint32_t level);

static uint64_t elements_of(const struct nvtx_entry *entry, enum nvtx_class class)
{
    uint64_t array = entry->flags & NVTX_ENTRY_ARRAYS;
    if (array == NVTX_ENTRY_ARRAY_FIXED || (!array && class == NVTX_CLASS_TEXT))
        return entry->detail;
    return array ? 0 : 1; /* 0: as long as it says itself */
}

/* Size 0: not always the same. */
static struct nvtx_layout measure_entry(struct measure *measure, const struct nvtx_entry *entry,
                                        uint32_t level)
{
    struct nvtx_layout layout = measure_type(measure, entry->type, level);
    if (nvtx_entry_is_indirect(entry)) {
        layout.size = layout.alignment = NVTX_POINTER_SIZE;
        return layout;
    }
    uint64_t count = elements_of(entry, layout.class);
    if (__builtin_mul_overflow(layout.size, count, &layout.size))
        layout.size = 0;
    return layout;
}

static struct nvtx_layout measure_schema(struct measure *measure, const struct nvtx_schema *schema,
                                         uint32_t level)
{
    struct nvtx_layout whole = {0, 1, NVTX_CLASS_SAID, &schema->type};
    uint64_t cursor = 0, end = 0;
    int is_fixed = schema->type.type != NVTX_SCHEMA_DYNAMIC;
    for (uint32_t i = 0; i < schema->type.count; i++) {
        struct nvtx_layout layout = measure_entry(measure, &schema->entries[i], level);
        uint64_t at = nvtx_entry_offset(schema, i, cursor, layout.alignment);
        if (layout.size == 0 || __builtin_add_overflow(at, layout.size, &cursor))
            is_fixed = 0;
        if (cursor > end)
            end = cursor;
        if (layout.alignment > whole.alignment)
            whole.alignment = layout.alignment;
    }
    if (schema->alignment && whole.alignment > schema->alignment)
        whole.alignment = schema->alignment;
    if (is_fixed && end < UINT64_MAX - whole.alignment)
        whole.size = (end + whole.alignment - 1) / whole.alignment * whole.alignment;
    if (schema->size && schema->type.type != NVTX_SCHEMA_DYNAMIC)
        whole.size = schema->size;
    return whole;
}

static struct nvtx_layout measure_type(struct measure *measure, uint64_t type, uint32_t level)
{
    const struct nvtx_layout unknown = {0, 1, NVTX_CLASS_NONE, NULL};
    if (type < NVTX_TYPE_COUNT)
        return layouts[type].class ? layouts[type] : unknown;
    const struct nvtx_type *found = nvtx_registry_find(NVTX_OBJECT_TYPE, measure->domain, type);
    if (!found || level >= NVTX_LEVELS || measure->steps == 0)
        return unknown;
    measure->steps--;
    if (found->type)
        return measure_schema(measure, (const struct nvtx_schema *)found, level + 1);
    uint64_t size = ((const struct nvtx_enum *)found)->size;
    return (struct nvtx_layout){size, size, NVTX_CLASS_SAID, found};
}

struct nvtx_layout nvtx_layout_of(annot_domain domain, uint64_t type)
{
    struct measure measure = {64, domain};
    return measure_type(&measure, type, 0);
}
