/* SPDX-License-Identifier: MIT */
/* See nvtx_schema.h. */
#include "nvtx_schema.h"

#include <string.h>

enum { SEMANTICS_MAX = 16, SIZE_AT_MOST = 1 << 30 };

const void *nvtx_semantics_of(const struct nvtx_semantics *list, enum nvtx_semantics_id id)
{
    for (uint32_t i = 0; list && i < SEMANTICS_MAX; i++, list = list->next)
        if (list->id == id &&
            list->size >= (id == NVTX_SEMANTICS_COUNTER ? sizeof(struct nvtx_semantics_counter)
                                                        : sizeof(struct nvtx_semantics_number)))
            return list;
    return NULL;
}

static uint64_t number_of(const struct nvtx_semantics *list, enum nvtx_semantics_id id)
{
    const struct nvtx_semantics_number *found = nvtx_semantics_of(list, id);
    return found ? found->number : 0;
}

/* ---- Schemas --------------------------------------------------------------------------------- */

static int is_schema(const struct nvtx_schema_said *said)
{
    const uint64_t needed = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT;
    return said && (said->fields & needed) == needed && said->type >= NVTX_SCHEMA_STATIC &&
           said->type <= NVTX_SCHEMA_UNION_INTERNAL && said->entries && said->count > 0 &&
           said->count <= NVTX_ENTRIES_MAX;
}

static const char *name_of(const struct nvtx_schema_said *said)
{
    return said->fields & NVTX_SCHEMA_HAS_NAME ? said->name : NULL;
}

static uint64_t hash_entry(uint64_t hash, const struct nvtx_entry_said *entry)
{
    const struct nvtx_semantics_counter *counter =
        nvtx_semantics_of(entry->semantics, NVTX_SEMANTICS_COUNTER);
    hash = nvtx_hash(nvtx_hash(hash, entry->flags), entry->type);
    hash = nvtx_hash(nvtx_hash(hash, entry->detail), entry->offset);
    hash = nvtx_hash(hash, number_of(entry->semantics, NVTX_SEMANTICS_TIME));
    hash = nvtx_hash(hash, number_of(entry->semantics, NVTX_SEMANTICS_SCOPE));
    if (counter) {
        hash = nvtx_hash(nvtx_hash(hash, counter->flags), counter->scale);
        hash = nvtx_hash_text(nvtx_hash(hash, counter->divisor), counter->unit);
    }
    return nvtx_hash_text(hash, entry->name);
}

static uint64_t hash_schema(const struct nvtx_schema_said *said)
{
    uint64_t hash = nvtx_hash_text(said->type, name_of(said));
    if (said->fields & NVTX_SCHEMA_HAS_FLAGS)
        hash = nvtx_hash(hash, said->flags);
    if (said->fields & NVTX_SCHEMA_HAS_SIZE)
        hash = nvtx_hash(hash, said->size);
    if (said->fields & NVTX_SCHEMA_HAS_ALIGNMENT)
        hash = nvtx_hash(hash, said->alignment);
    for (size_t i = 0; i < said->count; i++)
        hash = hash_entry(hash, &said->entries[i]);
    return hash;
}

/* Counters of a group have their unit in their name. */
static void name_entry(struct nvtx_entry *entry, const struct nvtx_entry_said *said)
{
    const struct nvtx_semantics_counter *counter =
        nvtx_semantics_of(said->semantics, NVTX_SEMANTICS_COUNTER);
    const char *unit = counter ? counter->unit : NULL;
    char name[256];
    size_t length = said->name ? strnlen(said->name, 200) : 0;
    memcpy(name, said->name ? said->name : "", length);
    name[length] = 0;
    if (unit && *unit) {
        size_t more = strnlen(unit, 50);
        memcpy(name + length, " [", 2);
        memcpy(name + length + 2, unit, more);
        memcpy(name + length + 2 + more, "]", 2);
    }
    entry->name = nvtx_registry_text(name);
    if (*entry->name)
        entry->key = annot_name_intern(entry->name);
    if (!counter)
        return;
    entry->counter_flags = counter->flags;
    entry->scale = counter->scale;
    entry->divisor = counter->divisor;
}

static void fill_entry(struct nvtx_entry *entry, const struct nvtx_entry_said *said)
{
    const struct nvtx_semantics_number *time =
        nvtx_semantics_of(said->semantics, NVTX_SEMANTICS_TIME);
    entry->flags = said->flags;
    entry->type = said->type;
    entry->detail = said->detail;
    entry->offset = said->offset;
    entry->has_time = time != NULL;
    entry->time = time ? time->number : 0;
    entry->scope = number_of(said->semantics, NVTX_SEMANTICS_SCOPE);
    name_entry(entry, said);
}

/* Whether another entry says how long an entry is, or which member of a union; by its index. */
static int refers(const struct nvtx_schema *schema, const struct nvtx_entry *entry)
{
    const struct nvtx_type *type;
    if ((entry->flags & NVTX_ENTRY_ARRAYS) == NVTX_ENTRY_ARRAY_LENGTH_ENTRY)
        return 1;
    if (entry->flags & NVTX_ENTRY_ARRAYS || entry->type < NVTX_ID_STATIC)
        return 0;
    type = nvtx_registry_find(NVTX_OBJECT_TYPE, schema->type.object.domain, entry->type);
    return type ? type->type == NVTX_SCHEMA_UNION : entry->detail > 0;
}

/* A schema of more lengths than there are slots keeps the first of them. */
static void connect_entries(struct nvtx_schema *schema)
{
    uint8_t slots = 0;
    for (uint32_t i = 0; i < schema->type.count; i++) {
        struct nvtx_entry *entry = &schema->entries[i];
        if (entry->detail >= schema->type.count || !refers(schema, entry))
            continue;
        struct nvtx_entry *from = &schema->entries[entry->detail];
        if (!from->keeps && slots < NVTX_SLOTS)
            from->keeps = ++slots;
        entry->takes = from->keeps;
    }
}

static int is_plain(const struct nvtx_entry *entry)
{
    int is_number =
        entry->plain.class >= NVTX_CLASS_SIGNED && entry->plain.class <= NVTX_CLASS_REAL;
    int is_attribute = entry->type >= NVTX_TYPE_RANGE_ID && entry->type <= NVTX_TYPE_SCOPE;
    return is_number && !is_attribute && entry->type < NVTX_TYPE_STRING_HANDLE && !entry->flags &&
           entry->key && !entry->keeps;
}

/* Where the entries are, if that is the same in all payloads and there is nothing else to them. */
static void find_plain(struct nvtx_schema *schema)
{
    uint64_t cursor = 0, end = 0;
    for (uint32_t i = 0; i < schema->type.count; i++) {
        struct nvtx_entry *entry = &schema->entries[i];
        if (entry->type < NVTX_TYPE_COUNT)
            entry->plain = nvtx_layout_of(0, entry->type);
        entry->plain_offset = nvtx_entry_offset(schema, i, cursor, entry->plain.alignment);
        cursor = entry->plain_offset + entry->plain.size;
        if (!is_plain(entry) || entry->plain_offset > SIZE_AT_MOST)
            return;
        if (cursor > end)
            end = cursor;
    }
    if (schema->type.type == NVTX_SCHEMA_STATIC && (!schema->size || end <= schema->size))
        schema->plain_size = end;
}

uint64_t nvtx_schema_register(annot_domain domain, const struct nvtx_schema_said *said,
                              uint64_t theirs)
{
    struct nvtx_object head = {.kind = NVTX_OBJECT_TYPE, .domain = domain};
    if (!is_schema(said)) {
        if (said && annot_enabled())
            nvtx_tell(domain, name_of(said), "a schema that makes no sense");
        return 0;
    }
    head.hash = hash_schema(said);
    uint64_t own = said->fields & NVTX_SCHEMA_HAS_ID ? said->id : 0;
    int is_new = nvtx_registry_begin(&head, theirs, own);
    if (is_new != 1)
        return is_new ? head.id : 0;
    struct nvtx_schema *schema =
        nvtx_registry_memory(sizeof(*schema) + said->count * sizeof(schema->entries[0]));
    if (!schema)
        return 0;
    schema->type.object = head;
    schema->type.name = nvtx_registry_text(name_of(said));
    schema->type.type = (uint32_t)said->type;
    schema->type.count = (uint32_t)said->count;
    if (said->fields & NVTX_SCHEMA_HAS_FLAGS)
        schema->role = said->flags & NVTX_SCHEMA_ROLES;
    if (said->fields & NVTX_SCHEMA_HAS_SIZE && said->size <= SIZE_AT_MOST)
        schema->size = said->size;
    if (said->fields & NVTX_SCHEMA_HAS_ALIGNMENT)
        schema->alignment = said->alignment;
    for (size_t i = 0; i < said->count; i++)
        fill_entry(&schema->entries[i], &said->entries[i]);
    connect_entries(schema);
    find_plain(schema);
    return nvtx_registry_enter(&schema->type.object);
}

/* ---- Enums ----------------------------------------------------------------------------------- */

static int is_enum(const struct nvtx_enum_said *said)
{
    const uint64_t needed = NVTX_ENUM_HAS_ENTRIES | NVTX_ENUM_HAS_COUNT | NVTX_ENUM_HAS_SIZE;
    return said && (said->fields & needed) == needed && said->values && said->count > 0 &&
           said->count <= NVTX_ENUM_VALUES_MAX &&
           (said->size == 1 || said->size == 2 || said->size == 4 || said->size == 8);
}

static uint64_t hash_enum(const struct nvtx_enum_said *said)
{
    uint64_t hash = nvtx_hash(0, said->size);
    for (size_t i = 0; i < said->count; i++) {
        hash = nvtx_hash_text(hash, said->values[i].name);
        hash = nvtx_hash(nvtx_hash(hash, said->values[i].value), said->values[i].is_flag != 0);
    }
    return hash;
}

uint64_t nvtx_enum_register(annot_domain domain, const struct nvtx_enum_said *said, uint64_t theirs)
{
    struct nvtx_object head = {.kind = NVTX_OBJECT_TYPE, .domain = domain};
    if (!is_enum(said)) {
        if (said && annot_enabled())
            nvtx_tell(domain, said->fields & NVTX_ENUM_HAS_NAME ? said->name : NULL,
                      "an enum that makes no sense");
        return 0;
    }
    head.hash = hash_enum(said);
    uint64_t own = said->fields & NVTX_ENUM_HAS_ID ? said->id : 0;
    int is_new = nvtx_registry_begin(&head, theirs, own);
    if (is_new != 1)
        return is_new ? head.id : 0;
    struct nvtx_enum *made =
        nvtx_registry_memory(sizeof(*made) + said->count * sizeof(made->values[0]));
    if (!made)
        return 0;
    made->type.object = head;
    made->type.name = "";
    made->type.count = (uint32_t)said->count;
    made->size = (uint32_t)said->size;
    for (size_t i = 0; i < said->count; i++)
        made->values[i] =
            (struct nvtx_enum_value){nvtx_registry_text(said->values[i].name),
                                     said->values[i].value, said->values[i].is_flag != 0};
    return nvtx_registry_enter(&made->type.object);
}
